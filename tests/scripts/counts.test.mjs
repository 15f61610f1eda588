// The ladder's counts are read from what test runners print.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { count_ctest, count_output } from '../../scripts/test-counts.mjs';

test("node's test runner", () => {
  const log =
    '✔ a (1ms)\nℹ tests 6\nℹ suites 0\nℹ pass 3\nℹ fail 1\nℹ cancelled 1\nℹ skipped 1\nℹ todo 0\n';
  assert.deepEqual(count_output(log), { passed: 3, failed: 2, skipped: 1 });
});

test('Vitest, its files not counted', () => {
  const log =
    ' Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 7 passed | 2 skipped (10)\n';
  assert.deepEqual(count_output(log), { passed: 7, failed: 1, skipped: 2 });
});

test('Playwright; flaky is failed', () => {
  const log =
    '  1 failed\n    [a] › b.spec.ts\n  1 flaky\n  2 skipped\n  3 did not run\n  40 passed (1.2m)\n';
  assert.deepEqual(count_output(log), { passed: 40, failed: 5, skipped: 2 });
});

test("this project's own line, through colours", () => {
  assert.deepEqual(count_output('\x1b[32m8 passed, 1 failed, 2 skipped\x1b[0m\n'), {
    passed: 8,
    failed: 1,
    skipped: 2,
  });
  assert.deepEqual(count_output('3 passed, 0 failed\n'), { passed: 3, failed: 0, skipped: 0 });
});

test('what merely looks like a count is none', () => {
  const log = '12 passed the gate\nread 3 failed blocks\n    5 passed\n';
  assert.deepEqual(count_output(log), { passed: 0, failed: 0, skipped: 0 });
});

test("ctest's report, and its absence", (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-counts-'));
  t.after(() => fs.rmSync(dir, { recursive: true }));
  const file = path.join(dir, 'report.xml');
  fs.writeFileSync(
    file,
    '<?xml version="1.0"?>\n<testsuite name="x"\n\ttests="10"\n\tfailures="2"\n\tdisabled="1"\n\tskipped="3"\n\ttime="1">',
  );
  assert.deepEqual(count_ctest(file), { passed: 4, failed: 2, skipped: 4 });
  assert.deepEqual(count_ctest(path.join(dir, 'absent')), { passed: 0, failed: 0, skipped: 0 });
});
