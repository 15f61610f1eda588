// Tests of a run of steps: what it counts and remembers where a step ends badly.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, it } from 'node:test';
import { ROOT } from '../../scripts/lib.mjs';
import { record } from '../../scripts/passed.mjs';
import { LOGS } from '../../scripts/steps.mjs';

const names = ['one', 'two'].map((name) => `tests-of-ladder-${name}`);
const forget = () => {
  for (const name of names) record({ name }, null, { passed: 0, failed: 1 });
};
forget();
after(() => {
  forget();
  for (const name of names) {
    fs.rmSync(path.join(LOGS, `${name}.log`), { force: true });
    fs.rmSync(path.join(LOGS, name), { recursive: true, force: true });
  }
});

/** Runs steps, given as source text, in a process of its own; `heard` is called with what it has printed so far. */
function ladder(steps, heard = () => {}) {
  const script = `
    import fs from 'node:fs';
    import { run_ladder } from './scripts/ladder.mjs';
    import { LOGS } from './scripts/steps.mjs';
    fs.mkdirSync(LOGS, { recursive: true });
    const { totals } = await run_ladder(${steps}, { again: false });
    console.log(JSON.stringify(totals));
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: ROOT });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes) => heard((said += bytes), child));
  return new Promise((resolve) => child.on('close', () => resolve(said)));
}

it('a step that a signal ends has not passed, although its command says so', async () => {
  const log = path.join(LOGS, `${names[0]}.log`);
  const line = 'trap "echo 1 passed, 0 failed; exit 0" TERM; echo ready; sleep 600 & wait';
  const steps = `[{
    name: '${names[0]}', needs: [], inputs: [], commands: [['sh', '-c', ${JSON.stringify(line)}]],
    tests: () => [{ name: 'a', state: 'passed', said: '' }],
  }]`;
  fs.rmSync(log, { force: true });
  let child = null;
  const watch = setInterval(() => {
    if (fs.existsSync(log) && /^ready$/m.test(fs.readFileSync(log, 'utf8'))) child?.kill('SIGTERM');
  }, 20);
  const ended = ladder(`(console.log('begun'), ${steps})`, (_, it) => (child = it));
  const said = await ended.finally(() => clearInterval(watch));
  assert.match(said, /^FAILED tests-of-ladder-one/m);
  assert.ok(!fs.existsSync(path.join(ROOT, `build/stamps/steps/${names[0]}.json`)));
});

it('a step whose report can not be read fails, and the others run', async () => {
  const steps = `[
    { name: '${names[0]}', needs: [], inputs: [], commands: [['true']], tests: () => JSON.parse('{') },
    { name: '${names[1]}', needs: [], inputs: [], commands: [['true']] },
  ]`;
  const said = await ladder(steps);
  assert.match(said, /^FAILED tests-of-ladder-one/m);
  assert.match(said, /^ok +tests-of-ladder-two/m);
  assert.match(said, /\{"passed":1,"failed":1,"skipped":0\}/);
  // Only the one that passed is known again.
  assert.match(await ladder(steps), /^same +tests-of-ladder-two .*1 not run$/m);
});
