// Tests how the ladder finds failed tests in the output of the test runners, and what it prints of them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../scripts/lib.mjs';
import { describe_failure, failed_tests, name_failures } from '../../scripts/test-failures.mjs';

const RULE = '─'.repeat(20);

test('Playwright', () => {
  const log = `  ✓  1 [a] › b.spec.ts:1:1 › good (2ms)
  ✘  2 [a] › b.spec.ts:2:1 › bad (20ms)


  1) [a] › b.spec.ts:2:1 › bad ${RULE}

    Error: expect(received).toBe(expected)

    Expected: 1
      at b.spec.ts:3:1

  2) [a] › c.spec.ts:9:1 › a title that goes up to the edge

    Test timeout of 60000ms exceeded.

  2 failed
    [a] › b.spec.ts:2:1 › bad ${RULE}
  137 passed (3.5m)
`;
  assert.deepEqual(failed_tests(log), [
    {
      name: '[a] › b.spec.ts:2:1 › bad',
      lines: [
        '    Error: expect(received).toBe(expected)',
        '    Expected: 1',
        '      at b.spec.ts:3:1',
      ],
    },
    {
      name: '[a] › c.spec.ts:9:1 › a title that goes up to the edge',
      lines: ['    Test timeout of 60000ms exceeded.'],
    },
  ]);
});

test('Vitest, through colours', () => {
  const log = `   \x1b[31m× bad\x1b[39m 11ms
 FAIL  test/a.test.ts > bad
AssertionError: expected 1 to be 2

 ❯ test/a.test.ts:3:38

⎯⎯⎯⎯[1/2]⎯

\x1b[41m FAIL \x1b[49m test/a.test.ts > group > worse
Error: two
⎯⎯⎯⎯[2/2]⎯

      Tests  2 failed | 1 passed (3)
`;
  assert.deepEqual(failed_tests(log), [
    {
      name: 'test/a.test.ts > bad',
      lines: ['AssertionError: expected 1 to be 2', ' ❯ test/a.test.ts:3:38'],
    },
    { name: 'test/a.test.ts > group > worse', lines: ['Error: two'] },
  ]);
});

test('ctest: programs of many tests, of one, and one that ends badly', () => {
  const running = 'Running main() from gtest_main.cc\n[----------] 3 tests from A\n';
  const good = '[ RUN      ] A.Good\n[       OK ] A.Good (0 ms)\n';
  const log = `    Start 1: good
1/7 Test #1: good .............................   Passed    0.06 sec
    Start 2: script
2/7 Test #2: script ...........................***Failed    0.05 sec
what it said

    Start 3: many
3/7 Test #3: many .............................***Failed    0.02 sec
${running}${good}[ RUN      ] A.Bad
a.cc:4: Failure
  1
[  FAILED  ] A.Bad (0 ms)
[ RUN      ] A.Skip
[  SKIPPED ] A.Skip (0 ms)
[  FAILED  ] 1 test, listed below:
[  FAILED  ] A.Bad

    Start 4: crash
4/7 Test #4: crash ............................***Exception: SegFault  0.05 sec
${running}${good}[ RUN      ] C.Crash

    Start 5: leak
5/7 Test #5: leak .............................***Failed    0.06 sec
${running}${good}[  PASSED  ] 1 test.
ERROR: LeakSanitizer

    Start 6: off
6/7 Test #6: off ..............................***Not Run (Disabled)   0.00 sec
    Start 7: slow
7/7 Test #7: slow .............................***Timeout   1.03 sec

25% tests passed, 5 tests failed out of 7
`;
  assert.deepEqual(failed_tests(log), [
    { name: 'script', lines: ['what it said'] },
    { name: 'many › A.Bad', lines: ['a.cc:4: Failure', '  1'] },
    { name: 'crash › C.Crash', lines: [] },
    { name: 'leak', lines: ['ERROR: LeakSanitizer'] },
    { name: 'slow', lines: [] },
  ]);
});

test("this project's checks, and a log that names no test", () => {
  const log = 'a.ts: Missing semicolon\nnot ok  prettier\nok      types\n1 passed, 1 failed\n';
  assert.deepEqual(name_failures('lint', log), ['FAILED lint: prettier']);
  assert.deepEqual(name_failures('build', 'ninja: error\n'), ['FAILED build']);
  assert.deepEqual(describe_failure('ninja: error\n'), ['ninja: error']);
});

test('12 lines of a test, 40 of all, 60 with the end of the log', () => {
  const log = Array.from({ length: 9 }, (_, i) => `  ${i}) t${i}\n${'    said\n'.repeat(30)}`);
  const lines = describe_failure(log.join(''));
  const named = lines.flatMap((line, i) => (/^t\d$/.test(line) ? [[i, line]] : []));
  assert.deepEqual(named, [
    [0, 't0'],
    [12, 't1'],
    [24, 't2'],
    [36, 't3'],
  ]);
  assert.deepEqual(lines.slice(39, 43), ['    said', '(5 more)', "(the log's end)", '    said']);
  assert.equal(lines.length, 60);
});

test('a ladder with a failed step ends with the names', (t) => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-ladder-'));
  t.after(() => fs.rmSync(root, { recursive: true }));
  for (const name of ['scripts', 'wasm/flavours.json', 'CMakeLists.txt', 'CMakePresets.json'])
    fs.cpSync(path.join(ROOT, name), path.join(root, name), { recursive: true });
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
