// Tests of how the scripts run commands, and end those that hang.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ROOT, run, with_lock } from '../../scripts/lib.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-run-'));
after(() => fs.rmSync(dir, { recursive: true }));
const skip = !fs.existsSync('/proc');
const KILLED = 128 + os.constants.signals.SIGKILL;

/** Whether a process runs; one that has ended may stay as a zombie. */
function runs(pid) {
  try {
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

const soon = () => new Promise((resolve) => setTimeout(resolve, 10));

async function gone(pid) {
  assert.match(pid, /^\d+$/);
  while (runs(pid)) await soon();
}

/** Starts a process in a group of its own, as ninja does, and prints its number. */
const OWN_GROUP = 'setsid sleep 600 & echo $!';

describe('run', () => {
  it('resolves with the exit status, and writes the log', async () => {
    const log = path.join(dir, 'status.log');
    assert.equal(await run('sh', ['-c', 'echo said; exit 3'], { log, silent_ms: 60_000 }), 3);
    assert.equal(fs.readFileSync(log, 'utf8'), 'said\n');
  });

  it('ends a command that says nothing, and what it started', { skip }, async () => {
    const log = path.join(dir, 'hangs.log');
    const line = 'sleep 600 & echo $!; wait';
    assert.equal(await run('sh', ['-c', line], { log, silent_ms: 300 }), KILLED);
    const [, pid, said] = /^(\d+)\n\n(.+)\n$/.exec(fs.readFileSync(log, 'utf8'));
    assert.equal(said, 'ended, because it said nothing for 0.3 s: it hangs');
    await gone(pid);
  });

  it(
    'ends also what has a process group of its own and has lost its parent',
    { skip },
    async () => {
      const log = path.join(dir, 'orphan.log');
      const line = `sh -c '${OWN_GROUP}'; sleep 600`;
      assert.equal(await run('sh', ['-c', line], { log, silent_ms: 300 }), KILLED);
      await gone(fs.readFileSync(log, 'utf8').split('\n', 1)[0]);
    },
  );

  it('does not end one that takes long and says so', async () => {
    const log = path.join(dir, 'long.log');
    const line = 'for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.3; done';
    assert.equal(await run('sh', ['-c', line], { log, silent_ms: 2000 }), 0);
    assert.match(fs.readFileSync(log, 'utf8'), /10\n$/);
  });

  it('ends one that writes without end, and keeps the beginning of what it wrote', async () => {
    const log = path.join(dir, 'endless.log');
    const limits = { log, silent_ms: 400, most_bytes: 100_000 };
    assert.equal(await run('sh', ['-c', 'while :; do echo said; done'], limits), KILLED);
    const text = fs.readFileSync(log, 'utf8');
    assert.ok(text.startsWith('said\nsaid\n'));
    assert.ok(text.endsWith('\nended, because it wrote more than 100000 bytes: it has no end\n'));
    assert.ok(text.length < 100_100, `${text.length} bytes`);
  });

  it('says which command could not be started', async () => {
    const log = path.join(dir, 'none.log');
    await assert.rejects(run('no-such-program', [], { log, silent_ms: 60_000 }), {
      message: /^no-such-program could not be started: /,
    });
  });

  it(
    'ends the command with the process that runs it, whose output nobody reads',
    { skip },
    async () => {
      const log = path.join(dir, 'unread.log');
      const lib = pathToFileURL(path.join(ROOT, 'scripts/lib.mjs')).href;
      const script = `
      import { run } from ${JSON.stringify(lib)};
      const line = ${JSON.stringify(`${OWN_GROUP}; echo $$; sleep 600`)};
      setInterval(() => console.log('it goes on'), 10);
      await run('sh', ['-c', line], { log: ${JSON.stringify(log)}, silent_ms: 600_000 });
    `;
      const runner = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const ended = new Promise((resolve) => runner.on('close', resolve));
      const pids = () =>
        fs.existsSync(log) ? fs.readFileSync(log, 'utf8').trim().split('\n') : [];
      while (pids().length < 2) await soon();
      runner.stdout.destroy();
      await ended;
      for (const pid of pids()) await gone(pid);
    },
  );

  it('a signal ends the command, and what it would leave behind', { skip }, async () => {
    const log = path.join(dir, 'signal.log');
    const lib = pathToFileURL(path.join(ROOT, 'scripts/lib.mjs')).href;
    const script = `
      import { run } from ${JSON.stringify(lib)};
      const line = ${JSON.stringify(`${OWN_GROUP}; sleep 600`)};
      await run('sh', ['-c', line], { log: ${JSON.stringify(log)}, silent_ms: 600_000 });
    `;
    const runner = spawn(process.execPath, ['--input-type=module', '-e', script]);
    const ended = new Promise((resolve) => runner.on('close', resolve));
    const said = () => (fs.existsSync(log) ? fs.readFileSync(log, 'utf8') : '');
    while (!said().includes('\n')) await soon();
    runner.kill('SIGTERM');
    await ended;
    await gone(said().split('\n', 1)[0]);
  });
});

// What waits long for another's build isn't taken for one that hangs.
it('what waits for a lock says so again and again', async (t) => {
  const lock = path.join(dir, 'lock');
  let told = 0;
  let free;
  const freed = new Promise((resolve) => (free = resolve));
  t.mock.method(console, 'error', (text) => {
    assert.match(text, /waiting for another build/);
    if (++told === 3) free();
  });
  const first = with_lock(lock, () => freed);
  assert.equal(await with_lock(lock, () => 'mine', { say_ms: 1 }), 'mine');
  await first;
  assert.ok(told >= 3);
});
