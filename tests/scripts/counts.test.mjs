// Tests how the ladder counts tests from the output of the test runners.
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

test("ctest's report: tests, and programs of many tests", (t) => {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-counts-'));
  t.after(() => fs.rmSync(dir, { recursive: true }));
  const reports = path.join(dir, 'reports');
  fs.mkdirSync(reports);
  const file = path.join(dir, 'report.xml');
  /** Counts ctest's tests, each [name, status, GoogleTest's counts if it is a program that wrote a report]. */
  const count = (...tests) => {
    const cases = tests.map(([name, status, inside]) => {
      const own = path.join(reports, `${name}.xml`);
      fs.rmSync(own, { force: true });
      if (inside !== undefined) {
        const [all, failures, disabled, errors, skipped] = inside;
        const kinds = `failures="${failures}" disabled="${disabled}" errors="${errors}"`;
        fs.writeFileSync(
          own,
          `<?xml version="1.0"?>\n<testsuites tests="${all}" ${kinds} time="1" name="AllTests">\n` +
            `  <testsuite name="A" tests="${all - 1}" ${kinds} skipped="${skipped}">\n` +
            '    <testcase name="b" status="run" result="completed" classname="A" />\n' +
            '  </testsuite>\n  <testsuite name="C" tests="1" failures="0" skipped="0">\n',
        );
      }
      return `\t<testcase name="${name}" classname="${name}" time="1" status="${status}">\n\t\t<system-out>x</system-out>\n`;
    });
    fs.writeFileSync(file, `<testsuite name="x"\n\ttests="9"\n\ttime="1">\n${cases.join('')}`);
    return count_ctest(file, reports);
  };
  assert.deepEqual(count(['a', 'run'], ['b', 'fail'], ['c', 'notrun'], ['d', 'disabled']), {
    passed: 1,
    failed: 1,
    skipped: 2,
  });
  const program = (status, ...inside) => count(['a', 'run'], ['p', status, inside]);
  assert.deepEqual(program('run', 10, 0, 1, 0, 2), { passed: 8, failed: 0, skipped: 3 });
  assert.deepEqual(program('fail', 10, 2, 0, 1, 0), { passed: 8, failed: 3, skipped: 0 });
  // One that crashed at its end, one whose filter matches no test, and one that crashed before it wrote a report.
  assert.deepEqual(program('fail', 10, 0, 0, 0, 0), { passed: 11, failed: 1, skipped: 0 });
  assert.deepEqual(program('run', 0, 0, 0, 0, 0), { passed: 1, failed: 1, skipped: 0 });
  assert.deepEqual(count(['p', 'fail']), { passed: 0, failed: 1, skipped: 0 });
  const absent = path.join(dir, 'absent');
  assert.deepEqual(count_ctest(absent, reports), { passed: 0, failed: 0, skipped: 0 });
});
