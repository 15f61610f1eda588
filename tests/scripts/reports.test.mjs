// Tests how the ladder reads the reports of the test runners.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../../scripts/lib.mjs';
import {
  REPORTS,
  count,
  node_reporters,
  read_ctest,
  read_reports,
  read_said,
} from '../../scripts/reports.mjs';

/** A folder that goes when the test ends. */
function folder_of(t) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-reports-'));
  t.after(() => fs.rmSync(dir, { recursive: true }));
  return dir;
}

/** Names and states alone. */
const states = (tests) => tests.map(({ name, state }) => [name, state]);

test("node's own runner, run on all that a test may do", async (t) => {
  const dir = folder_of(t);
  const file = path.join(dir, 'a.test.mjs');
  fs.writeFileSync(
    file,
    `import { describe, test } from 'node:test';
     test('good', () => {});
     test('bad <&" \\x1b[31m', () => { throw new Error('why <this>'); });
     test('left out', { skip: true }, () => {});
     test('to do', { todo: true }, () => {});
     describe('group', () => { test('inner', () => {}); });
     test('with tests', async (t) => { await t.test('deep', () => {}); });
     describe('broken', () => { test('first', () => {}); throw new Error('no group'); });
     test('cut off', { timeout: 20 }, () => new Promise((end) => setTimeout(end, 600)));`,
  );
  // With this variable the inner runner would report to the one that runs this test.
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
  const args = ['--test', ...node_reporters(path.join(dir, 'node.json')), file];
  assert.equal(spawnSync(process.execPath, args, { env }).status, 1);
  const tests = await read_reports(dir);
  const named = new Map(
    tests.map((one) => [one.name.replace(/^.*a\.test\.mjs:\d+:\d+ › /, ''), one]),
  );
  const state = (name) => named.get(name)?.state;
  assert.equal(tests.length, named.size);
  assert.match(tests[0].name, /a\.test\.mjs:2:6 › good$/);
  for (const name of ['good', 'group › inner', 'with tests › deep'])
    assert.equal(state(name), 'passed', name);
  for (const name of ['left out', 'to do']) assert.equal(state(name), 'skipped', name);
  for (const name of ['cut off', 'broken']) assert.equal(state(name), 'failed', name);
  const bad = named.get('bad <&" \x1b[31m');
  assert.equal(bad?.state, 'failed');
  assert.match(bad.said, /why <this>/);
});

test('Playwright: the project, the file, the title', async (t) => {
  const dir = folder_of(t);
  fs.writeFileSync(
    path.join(dir, 'p.xml'),
    `<testsuites id="" name="" tests="3" failures="1" skipped="1" errors="0" time="1">
<testsuite name="b.spec.ts" timestamp="x" hostname="isolated" tests="3" failures="1" skipped="1" time="1" errors="0">
<testcase name="group › good" classname="b.spec.ts" time="1"></testcase>
<testcase name="bad" classname="b.spec.ts" time="1">
<failure message="b.spec.ts:2:1 bad" type="FAILURE"><![CDATA[  [isolated] › b.spec.ts:2:1 › bad
    Error: expect(1).toBe(2)
]]></failure>
</testcase>
<testcase name="left out" classname="b.spec.ts" time="0"><skipped></skipped></testcase>
</testsuite>
</testsuites>`,
  );
  const tests = await read_reports(dir);
  assert.deepEqual(states(tests), [
    ['[isolated] › b.spec.ts › group › good', 'passed'],
    ['[isolated] › b.spec.ts › bad', 'failed'],
    ['[isolated] › b.spec.ts › left out', 'skipped'],
  ]);
  assert.match(tests[1].said, /b\.spec\.ts:2:1[\s\S]*Error: expect\(1\)\.toBe\(2\)/);
});

test('Vitest: the file, the groups, the title', async (t) => {
  const dir = folder_of(t);
  fs.writeFileSync(
    path.join(dir, 'v.xml'),
    `<?xml version="1.0" encoding="UTF-8" ?>
<testsuites name="vitest tests" tests="2" failures="1" errors="0" time="1">
    <testsuite name="test/a.test.ts" tests="2" failures="1" errors="0" skipped="0" time="0.002">
        <testcase classname="test/a.test.ts" name="group &gt; good" time="0.001"></testcase>
        <testcase classname="test/a.test.ts" name="bad" time="0.001">
            <failure message="expected 1 to be 2" type="AssertionError">
AssertionError: expected 1 to be 2
            </failure>
        </testcase>
    </testsuite>
</testsuites>`,
  );
  assert.deepEqual(states(await read_reports(dir)), [
    ['test/a.test.ts › group > good', 'passed'],
    ['test/a.test.ts › bad', 'failed'],
  ]);
});

test("this project's own programs, and what they say", async (t) => {
  const dir = folder_of(t);
  const script = `
    import { say, write_report } from ${JSON.stringify(pathToFileURL(path.join(ROOT, 'scripts/reports.mjs')).href)};
    write_report([{ name: 'a', state: 'passed', said: '' }]);
    write_report([{ name: 'b', state: 'failed', said: 'why' }]);
    say('mean: 3');
  `;
  const run = (env) =>
    spawnSync(process.execPath, ['--input-type=module', '-e', script], { env, encoding: 'utf8' });
  const { stdout, status } = run({ ...process.env, [REPORTS]: dir });
  assert.equal(status, 0);
  assert.equal(stdout, 'mean: 3\n');
  assert.deepEqual(states(await read_reports(dir)), [
    ['a', 'passed'],
    ['b', 'failed'],
  ]);
  assert.deepEqual(read_said(dir), ['mean: 3']);
  // Where nobody wants a report, none is written.
  assert.equal(run({ ...process.env, [REPORTS]: undefined }).status, 0);
  assert.equal(fs.readdirSync(dir).length, 3);
});

test('no report is no test, and one that breaks off is an error', async (t) => {
  const dir = folder_of(t);
  assert.deepEqual(await read_reports(path.join(dir, 'absent')), []);
  assert.deepEqual(await read_reports(dir), []);
  assert.deepEqual(await read_ctest(path.join(dir, 'absent.xml'), dir), []);
  fs.writeFileSync(path.join(dir, 'cut.xml'), '<testsuites><testsuite name="a"><testcase name="b"');
  await assert.rejects(read_reports(dir));
});

test("ctest's report: tests, and programs of many tests", async (t) => {
  const dir = folder_of(t);
  const programs = path.join(dir, 'programs');
  fs.mkdirSync(programs);
  const file = path.join(dir, 'report.xml');
  /** Reads ctest's tests, each [name, status, GoogleTest's if it is a program that wrote a report]. */
  const read = async (...tests) => {
    const cases = tests.map(([name, status, inside]) => {
      const own = path.join(programs, `${name}.xml`);
      fs.rmSync(own, { force: true });
      if (inside !== undefined) {
        const body = inside.map(([test, what]) => `<testcase name="${test}" ${what}</testcase>`);
        fs.writeFileSync(
          own,
          `<?xml version="1.0"?>\n<testsuites tests="${inside.length}" name="AllTests">\n` +
            `<testsuite name="A" tests="${inside.length}">${body.join('\n')}</testsuite></testsuites>`,
        );
      }
      return `<testcase name="${name}" classname="${name}" time="1" status="${status}"><system-out>it said</system-out></testcase>`;
    });
    fs.writeFileSync(
      file,
      `<testsuite name="x" tests="9" time="1">${cases.join('\n')}</testsuite>`,
    );
    return read_ctest(file, programs);
  };
  const good = ['Good', 'status="run" result="completed" classname="A">'];
  const skipped = [
    'Skip',
    'status="run" result="skipped" classname="A"><skipped message="no"></skipped>',
  ];
  const off = ['Off', 'status="notrun" result="suppressed" classname="A">'];
  const bad = [
    'Bad',
    'status="run" result="completed" classname="A"><failure message="a.cc:4"></failure>',
  ];
  const plain = await read(['a', 'run'], ['b', 'fail'], ['c', 'notrun'], ['d', 'disabled']);
  assert.deepEqual(count(plain), { passed: 1, failed: 1, skipped: 2 });
  assert.match(plain[1].said, /it said/);
  const many = await read(['a', 'run'], ['p', 'fail', [good, bad, skipped, off]]);
  assert.deepEqual(states(many), [
    ['a', 'passed'],
    ['p › A › Good', 'passed'],
    ['p › A › Bad', 'failed'],
    ['p › A › Skip', 'skipped'],
    ['p › A › Off', 'skipped'],
  ]);
  assert.match(many[2].said, /a\.cc:4/);
  // One that crashed at its end, one whose filter matches no test, and one that crashed before it wrote a report.
  assert.deepEqual(states(await read(['p', 'fail', [good]])), [
    ['p › A › Good', 'passed'],
    ['p', 'failed'],
  ]);
  assert.deepEqual(states(await read(['p', 'run', []])), [['p', 'failed']]);
  assert.deepEqual(states(await read(['p', 'fail'])), [['p', 'failed']]);
});
