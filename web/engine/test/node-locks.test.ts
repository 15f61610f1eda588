// Locks of cached files in Node: who excludes whom, and whose locks are taken over. tests/cli/locks.test.mjs lets them fight
// with those of the program.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync, utimesSync } from 'node:fs';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isHeld, releaseThreads, tryTake, type LockMode } from '../src/node/locks.js';

let folder = '';
let lock = '';
/** What is in the name of a holder of this process, in its order. */
let ours: string[] = [];

const PID = 3;
const names = (): string[] => readdirSync(folder);

function isFree(mode: LockMode): boolean {
  const taken = tryTake(lock, mode);
  taken?.release();
  return taken !== null;
}

/** Makes the file of a holder: `changes` has what is different from ours by its place in the name. */
function hold(changes: Record<number, string>, size = 3, ageSeconds = 0): string {
  const fields = ours.map((field, i) => changes[i] ?? field);
  const file = `${lock}.${fields.join('-')}`;
  writeFileSync(file, '');
  truncateSync(file, size);
  const then = Date.now() / 1000 - ageSeconds;
  utimesSync(file, then, then);
  return file;
}

function expectDead(...holder: Parameters<typeof hold>): void {
  const file = hold(...holder);
  expect(isFree('exclusive')).toBe(true);
  expect(existsSync(file)).toBe(false);
}

function expectAlive(...holder: Parameters<typeof hold>): void {
  const file = hold(...holder);
  expect(isFree('exclusive')).toBe(false);
  rmSync(file);
}

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'sluice-locks-'));
  lock = path.join(folder, 'k.lock');
  const taken = tryTake(lock, 'shared');
  ours = (names()[0] ?? '').slice('k.lock.'.length).split('-');
  taken?.release();
  ours[7] = '0123456789abcdef';
});

afterEach(() => rmSync(folder, { recursive: true }));

it('is held by a file for each holder, which goes with it', () => {
  const one = tryTake(lock, 'shared');
  const two = tryTake(lock, 'shared');
  expect(names().map((name) => statSync(path.join(folder, name)).size)).toEqual([2, 2]);
  expect(isHeld(lock)).toBe(true);
  expect(isHeld(lock, 'shared')).toBe(false);
  expect(isFree('exclusive')).toBe(false);
  expect(one?.tryUpgrade()).toBe(false);
  expect(one?.mode).toBe('shared');
  expect(isFree('shared')).toBe(true);
  two?.release();
  two?.release();
  expect(one?.tryUpgrade()).toBe(true);
  expect(one?.mode).toBe('exclusive');
  expect(names().map((name) => statSync(path.join(folder, name)).size)).toEqual([3]);
  expect(isFree('shared')).toBe(false);
  one?.share();
  expect(one?.mode).toBe('shared');
  expect(isFree('shared')).toBe(true);
  one?.release();
  expect(names()).toEqual([]);
  expect(isHeld(lock)).toBe(false);
  const alone = tryTake(lock, 'exclusive');
  expect(isFree('shared')).toBe(false);
  expect(isHeld(lock, 'shared')).toBe(true);
  alone?.release();
});

it('takes the locks of the dead', () => {
  const ended = String(spawnSync('true').pid);
  expectDead({ [PID]: ended });
  expectDead({ [PID]: ended }, 0);
  expectDead({ [PID]: ended }, 2);
  expectDead({ [PID]: '0' });
  expectDead({ 1: '0123456789ab' });
  // Where the system tells when a process began, one with the number of an earlier one isn't that.
  if (ours[4] !== '0') expectDead({ 4: '1' });
  expectAlive({ 4: '0' });
  // Also those of other locks.
  hold({ [PID]: ended });
  expect(isHeld(path.join(folder, 'other.lock'))).toBe(false);
  expect(names()).toEqual([]);
});

it('takes others for alive as long as they may be', () => {
  const day = 24 * 3600;
  for (const other of [{ 0: '0123456789ab' }, { 2: '1' }, { 2: '1', 5: 'n' }]) {
    expectAlive(other, 3, day - 100);
    expectDead(other, 3, day + 100);
    expectAlive(other, 2, 7 * day - 100);
    expectDead(other, 2, 7 * day + 100);
  }
});

it('gives up on one that tries and never decides', () => {
  const file = hold({}, 0);
  expect(isFree('shared')).toBe(false);
  truncateSync(file, 1);
  expect(isFree('shared')).toBe(true);
  expect(isFree('exclusive')).toBe(false);
  truncateSync(file, 2 ** 40);
  expect(isFree('shared')).toBe(false);
  expect(names()).toEqual([path.basename(file)]);
});

it('ignores what is no holder', () => {
  const file = hold({});
  rmSync(file);
  mkdirSync(file);
  expect(isFree('exclusive')).toBe(true);
  rmSync(file, { recursive: true });
  symlinkSync('/etc/passwd', file);
  expect(isFree('exclusive')).toBe(true);
  rmSync(file);
  const wrong = [
    ...[{ 0: '0123456789a' }, { 1: '' }, { 2: '-1' }, { [PID]: '1 ' }, { 5: 'x' }, { 7: '0-0' }],
    ...[{ 6: 'a' }, { 4: '1e3' }],
  ].map((changes: Record<number, string>) => hold(changes));
  expect(isFree('exclusive')).toBe(true);
  expect(names().sort()).toEqual(wrong.map((name) => path.basename(name)).sort());
});

it('releases the locks of a worker that was terminated', () => {
  const thread = ours[6] ?? '';
  const dead = hold({ 6: '77' }, 2);
  const lives = tryTake(lock, 'shared');
  const other = hold({ 0: '0123456789ab', 6: '77' }, 2);
  releaseThreads(folder, 77);
  expect(existsSync(dead)).toBe(false);
  expect(names()).toHaveLength(2);
  releaseThreads(folder, Number(thread));
  expect(names()).toEqual([path.basename(other)]);
  lives?.release();
  hold({ 6: '78' });
  releaseThreads(folder);
  expect(names()).toEqual([path.basename(other)]);
  releaseThreads(path.join(folder, 'none'));
});

it('releases its locks when the process ends', () => {
  const before = process.listenerCount('exit');
  tryTake(lock, 'exclusive');
  expect(process.listenerCount('exit')).toBe(before);
  // The listener is there since the first lock.
  for (const listener of process.listeners('exit')) if (listener.name === 'releaseAll') listener(0);
  expect(names()).toEqual([]);
});

it('says why there is no lock', () => {
  const missing = path.join(folder, 'none', 'k.lock');
  expect(() => tryTake(missing, 'shared')).toThrow(/ENOENT/);
  expect(() => isHeld(missing)).toThrow(/ENOENT/);
});
