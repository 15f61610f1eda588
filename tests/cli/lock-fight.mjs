// Fights for a lock with other processes, as tests/native/lock_fight.cc does, with the same arguments behind the module of
// the locks: node lock-fight.mjs MODULE LOCK STATE COUNT SEED. Half of the exclusive locks are upgrades of shared ones.
import fs from 'node:fs';
import { Worker, isMainThread, threadId } from 'node:worker_threads';

const [module, lock, state, count] = process.argv.slice(2);
const { tryTake } = await import(module);
const file = fs.openSync(state, 'r+');
const sleeper = new Int32Array(new SharedArrayBuffer(4));
const dawdle = () => Atomics.wait(sleeper, 0, 0, Math.random() * 0.3);

function read_state() {
  const bytes = Buffer.alloc(16);
  fs.readSync(file, bytes, 0, 16, 0);
  return bytes;
}

function expect_state(expected, which) {
  if (read_state().equals(expected)) return;
  fs.writeSync(2, `another process changed the state of a lock that is held ${which}\n`);
  process.kill(process.pid, 'SIGABRT');
}

function read(which) {
  const before = read_state();
  dawdle();
  expect_state(before, which);
}

function write() {
  const mine = read_state();
  for (let i = 0; i < 2; ++i) {
    for (const at of [0, 8]) {
      mine.writeUInt32LE((mine.readUInt32LE(at) + 1) >>> 0, at);
      mine.writeUInt16LE(process.pid & 0xffff, at + 4);
      mine.writeUInt16LE(threadId, at + 6);
      fs.writeSync(file, mine, 0, 16, 0);
      dawdle();
      expect_state(mine, 'exclusively');
    }
  }
}

function round() {
  const writes = Math.random() < 0.6;
  const upgrades = writes && Math.random() < 0.5;
  const taken = tryTake(lock, writes && !upgrades ? 'exclusive' : 'shared');
  if (taken === null) return;
  fs.appendFileSync(`${count}.${taken.mode}`, 'n');
  if (taken.mode === 'shared') read('shared');
  if (upgrades && taken.tryUpgrade()) fs.appendFileSync(`${count}.upgraded`, 'n');
  if (taken.mode === 'exclusive') {
    write();
    if (Math.random() < 0.5) taken.share();
  }
  if (taken.mode === 'shared') read('shared, and perhaps exclusively before');
  taken.release();
}

// Both threads fight.
const other = isMainThread
  ? new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) })
  : null;
if (other !== null) fs.writeSync(1, 'it begins\n');
while (!fs.existsSync(`${count}.end`)) {
  round();
  dawdle();
}
if (other !== null) await new Promise((resolve) => other.once('exit', resolve));
