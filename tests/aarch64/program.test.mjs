// Tests the program built for aarch64 (preset aarch64) under qemu-user. On machines with i8mm, with only dot products and
// with neither, it must choose the right kernel table and write what the native program writes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { bundled, events, root, sluice } from '../cli/helpers.mjs';

const program = join(root, 'build', 'aarch64', 'sluice');
const machines = [
  ['max', 'i8mm'],
  ['neoverse-n1', 'neon'],
  ['cortex-a72', 'generic'],
];

// The events of a command that is run as on that CPU.
function emulated(cpu, args) {
  const qemu = ['-cpu', cpu, '-L', '/usr/aarch64-linux-gnu', program];
  const done = spawnSync('qemu-aarch64', [...qemu, ...args], {
    encoding: 'utf8',
    env: { ...process.env, SLUICE_KERNELS: '' },
    timeout: 120_000,
  });
  if (done.error) throw done.error;
  assert.equal(done.status, 0, done.stderr);
  return events(done.stdout);
}

const text = (all) => all.filter((event) => event.event === 'token');

describe('the program for aarch64', () => {
  const story = ['run', bundled, '-p', 'One day', '-n', '60', '--temp', '0', '--json'];
  const native = text(events(sluice(story).out));
  const recorded = JSON.parse(readFileSync(join(root, 'tests', 'data', 'hashes.json'), 'utf8'));
  for (const [cpu, kernels] of machines) {
    it(`takes ${kernels} on ${cpu} and writes the native program's text`, () => {
      const all = emulated(cpu, story);
      assert.equal(all.at(-1).stats.kernels, kernels);
      assert.equal(native.length, 60);
      assert.deepEqual(text(all), native);
    });
    it(`gives the recorded logits on ${cpu}`, () => {
      const tokens = ['--tokens', recorded.ids.join(',')];
      for (const [kv, hash] of Object.entries(recorded.hashes['stories-q8_0'])) {
        const [logits] = emulated(cpu, ['logits', bundled, ...tokens, '--kv-type', kv, '--json']);
        assert.equal(logits.hash, hash, kv);
      }
    });
  }
});
