// What is loaded for hashing, where that fails at first.
import { expect, it, vi } from 'vitest';
import type * as HashWasm from 'hash-wasm';

vi.mock('hash-wasm', async (original) => {
  const real = await original<typeof HashWasm>();
  const createXXHash64 = vi.fn(real.createXXHash64);
  createXXHash64.mockRejectedValueOnce(new RangeError('no memory'));
  return { ...real, createXXHash64 };
});

it('is loaded by the next call, where one has failed, and then only once', async () => {
  const { createXXHash64 } = await import('hash-wasm');
  const { loadHashes, xxh64 } = await import('../src/store/hashes.js');
  const first = await Promise.allSettled([loadHashes(), loadHashes()]);
  expect(first.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await loadHashes();
  await loadHashes();
  expect(createXXHash64).toHaveBeenCalledTimes(2);
  expect(xxh64([]).toString(16)).toBe('ef46db3751d8e999');
});
