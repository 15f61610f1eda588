// Tests what the ladder prints of a step that failed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../scripts/lib.mjs';
import { describe_failure, name_failures } from '../../scripts/test-failures.mjs';

const failed = (name, said = '') => ({ name, state: 'failed', said });
const passed = (name) => ({ name, state: 'passed', said: '' });

test('the failed tests are named, or the step', () => {
  assert.deepEqual(name_failures('lint', [passed('types'), failed('prettier')]), [
    'FAILED lint: prettier',
  ]);
  assert.deepEqual(name_failures('build', []), ['FAILED build']);
  assert.deepEqual(describe_failure([], 'ninja: error\n'), ['ninja: error']);
});

test('what was said of a test, without colours and empty lines', () => {
  const said = '\x1b[31mexpected\x1b[39m 1\n\n  to be 2\n';
  assert.deepEqual(describe_failure([failed('a', said)], 'the end\n'), [
    ...['a', 'expected 1', '  to be 2'],
    ...["(the log's end)", 'the end'],
  ]);
});

test('12 lines of a test, 40 of all, 60 with the end of the log', () => {
  const tests = Array.from({ length: 9 }, (_, i) => failed(`t${i}`, 'said\n'.repeat(30)));
  const lines = describe_failure(tests, 'logged\n'.repeat(90));
  const named = lines.flatMap((line, i) => (/^t\d$/.test(line) ? [[i, line]] : []));
  assert.deepEqual(named, [
    [0, 't0'],
    [12, 't1'],
    [24, 't2'],
    [36, 't3'],
  ]);
  assert.deepEqual(lines.slice(39, 43), ['said', '(5 more)', "(the log's end)", 'logged']);
  assert.equal(lines.length, 60);
});

test('a ladder with a failed step ends with the names', (t) => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-ladder-'));
  t.after(() => fs.rmSync(root, { recursive: true }));
  for (const name of ['scripts', 'wasm/flavours.json', 'CMakeLists.txt', 'CMakePresets.json'])
    fs.cpSync(path.join(ROOT, name), path.join(root, name), { recursive: true });
  fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(root, 'node_modules'));
  fs.mkdirSync(path.join(root, 'tests/scripts'), { recursive: true });
  fs.writeFileSync(
    path.join(root, 'tests/scripts/a.test.mjs'),
    "import { test } from 'node:test';\ntest('good', () => {});\n" +
      "test('bad', () => {\n  throw new Error('why');\n});\n",
  );
  // With this variable the inner runner would report to the one that runs this test.
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
  const args = [path.join(root, 'scripts/test.mjs'), '--only', 'scripts'];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
  assert.equal(status, 1);
  const name = 'tests/scripts/a.test.mjs:3:1 › bad';
  assert.match(
    stdout,
    new RegExp(`^FAILED scripts .* 1 passed, 1 FAILED\n +\\| ${name}\n.*Error: why`),
  );
  assert.ok(stdout.endsWith(`\n1 passed, 1 failed, 0 skipped\nFAILED scripts: ${name}\n`), stdout);
});
