// Tests of how the scripts run commands.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { run } from '../../scripts/lib.mjs';

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-run-'));
after(() => fs.rmSync(dir, { recursive: true }));

/** Whether a process runs; one that has ended may stay as a zombie. */
function runs(pid) {
  try {
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

describe('run', () => {
  it('resolves with the exit status, and writes the log', async () => {
    const log = path.join(dir, 'status.log');
    assert.equal(await run('sh', ['-c', 'echo said; exit 3'], { log, limit_ms: 60_000 }), 3);
    assert.equal(fs.readFileSync(log, 'utf8'), 'said\n');
  });

  it(
    'ends a command that hangs, and what it started',
    { skip: !fs.existsSync('/proc') },
    async () => {
      const log = path.join(dir, 'hangs.log');
      const line = 'sleep 600 & echo $!; wait';
      const status = await run('sh', ['-c', line], { log, limit_ms: 300 });
      assert.equal(status, 128 + os.constants.signals.SIGKILL);
      const [, pid, said] = /^(\d+)\n\n(.+)\n$/.exec(fs.readFileSync(log, 'utf8'));
      assert.equal(said, 'ended after 0.3 s: it hangs');
      while (runs(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
    },
  );
});
