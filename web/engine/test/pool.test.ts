// The threads of a module are ended after they have started, and before the worker that made them.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { ModuleOptions, SluiceModule } from '../../../wasm/module.js';
import { Pool } from '../src/engine/pool.js';

const MODULE = {} as SluiceModule;

/** A module whose threads start when `started` is called. */
function makeModule(log: string[]): {
  make: (options: ModuleOptions) => Promise<SluiceModule>;
  started: (module: SluiceModule) => void;
  failed: (error: Error) => void;
} {
  let started!: (module: SluiceModule) => void;
  let failed!: (error: Error) => void;
  const made = new Promise<SluiceModule>((yes, no) => {
    started = yes;
    failed = no;
  });
  const make = (options: ModuleOptions): Promise<SluiceModule> => {
    log.push('made');
    options.PThread = { terminateAllThreads: () => log.push('threads ended') };
    return made;
  };
  return { make, started, failed };
}

function optionsFor(pool: Pool): ModuleOptions {
  return { wasmMemory: new WebAssembly.Memory({ initial: 1 }), poolSize: pool.size };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test('threads that are starting are waited for, ended, and given time to go', async () => {
  const log: string[] = [];
  const { make, started } = makeModule(log);
  const pool = new Pool(1, '');
  const module = pool.start(make, optionsFor(pool));
  void pool.end().then(() => log.push('end'));
  await vi.advanceTimersByTimeAsync(1000);
  expect(log).toEqual(['made']);
  started(MODULE);
  await vi.advanceTimersByTimeAsync(0);
  expect(log).toEqual(['made', 'threads ended']);
  expect(await module).toBe(MODULE);
  await vi.advanceTimersByTimeAsync(29);
  expect(log).toEqual(['made', 'threads ended']);
  await vi.advanceTimersByTimeAsync(1);
  expect(log).toEqual(['made', 'threads ended', 'end']);
});

test('threads of which one does not start are waited for no longer', async () => {
  const log: string[] = [];
  const { make } = makeModule(log);
  const pool = new Pool(2, '');
  void pool.start(make, optionsFor(pool));
  void pool.end().then(() => log.push('end'));
  await vi.advanceTimersByTimeAsync(1000);
  expect(log).toEqual(['made']);
  pool.broke();
  await vi.advanceTimersByTimeAsync(1000);
  expect(log).toEqual(['made', 'threads ended', 'end']);
});

/** Ends a pool whose threads hold a lock. The returned function frees the lock. */
async function endLocked(log: string[]): Promise<() => void> {
  let grant = (): void => {};
  const request = (name: string, _: object, granted: () => void): Promise<void> => {
    log.push(`wants ${name}`);
    return new Promise((done) => {
      grant = () => done(granted());
    });
  };
  vi.stubGlobal('navigator', { locks: { request } });
  const { make, started } = makeModule(log);
  const pool = new Pool(1, 'threads');
  started(MODULE);
  await pool.start(make, optionsFor(pool));
  void pool.end().then(() => log.push('end'));
  await vi.advanceTimersByTimeAsync(0);
  expect(log).toEqual(['made', 'threads ended', 'wants threads']);
  return () => grant();
}

test.each([
  [2, 30],
  [50, 200],
  [900, 500],
])('threads that hold their lock for %i ms are given %i ms more', async (locked, more) => {
  const log: string[] = [];
  const grant = await endLocked(log);
  await vi.advanceTimersByTimeAsync(locked);
  grant();
  await vi.advanceTimersByTimeAsync(more - 1);
  expect(log).toHaveLength(3);
  await vi.advanceTimersByTimeAsync(1);
  expect(log.at(-1)).toBe('end');
});

test('a thread that keeps its lock is not waited for without end', async () => {
  const log: string[] = [];
  await endLocked(log);
  await vi.advanceTimersByTimeAsync(1499);
  expect(log).toHaveLength(3);
  await vi.advanceTimersByTimeAsync(1);
  expect(log.at(-1)).toBe('end');
});

test('threads that could not start are ended as well', async () => {
  const log: string[] = [];
  const { make, failed } = makeModule(log);
  const pool = new Pool(1, '');
  const module = pool.start(make, optionsFor(pool));
  void pool.end().then(() => log.push('end'));
  failed(new Error('no thread'));
  await expect(module).rejects.toThrow('no thread');
  await vi.advanceTimersByTimeAsync(30);
  expect(log).toEqual(['made', 'threads ended', 'end']);
});

test('a pool that has ended starts nothing', async () => {
  const log: string[] = [];
  const pool = new Pool(1, '');
  await pool.end();
  void pool.start(makeModule(log).make, optionsFor(pool)).finally(() => log.push('settled'));
  await vi.advanceTimersByTimeAsync(1000);
  expect(log).toEqual([]);
});

test('without threads the end is there at once', async () => {
  const log: string[] = [];
  const { make, started } = makeModule(log);
  const pool = new Pool(0, '');
  const module = pool.start(make, optionsFor(pool));
  started(MODULE);
  await module;
  await pool.end();
  expect(log).toEqual(['made']);
});
