// What is loaded for hashing, where that fails at first.
import { expect, it, vi } from 'vitest';
import type * as HashWasm from 'hash-wasm';

vi.mock('hash-wasm', async (original) => {
  const real = await original<typeof HashWasm>();
  const createXXHash64 = vi.fn(real.createXXHash64);
  // The policy of a page that is mended later
  createXXHash64.mockRejectedValueOnce(new EvalError('no wasm here'));
  createXXHash64.mockRejectedValueOnce(new RangeError('no memory'));
  createXXHash64.mockRejectedValueOnce(new RangeError('no memory'));
  const createSHA256 = vi.fn(real.createSHA256);
  createSHA256.mockRejectedValueOnce(new RangeError('no memory'));
  return { ...real, createXXHash64, createSHA256 };
});

it('is loaded by the next call, where one has failed, and then only once; no memory is waited for', async () => {
  const { createXXHash64 } = await import('hash-wasm');
  const { loadHashes, xxh64 } = await import('../src/loader/store/hashes.js');
  const first = await Promise.allSettled([loadHashes(), loadHashes()]);
  expect(first.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(createXXHash64).toHaveBeenCalledTimes(1);
  await Promise.all([loadHashes(), loadHashes()]);
  await loadHashes();
  expect(createXXHash64).toHaveBeenCalledTimes(4);
  expect(xxh64([]).toString(16)).toBe('ef46db3751d8e999');
});

it('makes a SHA-256 where there was no memory for it at first', async () => {
  const { makeSha256 } = await import('../src/loader/store/hashes.js');
  const sha = await makeSha256();
  sha.update(new TextEncoder().encode('abc'));
  expect(sha.hex()).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
