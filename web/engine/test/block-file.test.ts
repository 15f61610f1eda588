// Files in the cache: written, read, followed, closed.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FakeOpfs } from './fake-opfs.js';
import { bytesOf, facts, opened, readsRight, same, settle, writeBlock } from './store-setup.js';

const BLOCK = 256 << 10;
const WHOLE = bytesOf(5 * BLOCK + 1000);

let opfs: FakeOpfs;
beforeEach(() => {
  opfs = new FakeOpfs().install();
});
afterEach(() => {
  vi.unstubAllGlobals();
  expect(opfs.handles.size).toBe(0);
  expect(opfs.locks.held).toEqual([]);
});

test('a file is written block by block, and read in the next session', async () => {
  const { file } = await opened('writer');
  await file.begin(facts(WHOLE.length));
  expect([file.blockBytes, file.n_blocks, file.missing()]).toEqual([BLOCK, 6, 6]);
  for (const block of [5, 0, 2, 1, 4]) writeBlock(file, block, WHOLE, 10_000);
  expect([file.has(3), file.missing(), file.complete]).toEqual([false, 1, false]);
  file.close();
  await settle();
  const again = await opened('writer');
  expect(again.file.missing()).toBe(1);
  await again.file.begin(facts(WHOLE.length));
  expect(again.file.missing()).toBe(1);
  writeBlock(again.file, 3, WHOLE);
  expect(again.file.complete).toBe(true);
  again.file.close();
  await settle();
  expect(same(opfs.only('.gguf').bytes, WHOLE)).toBe(true);
  const { file: reader } = await opened('complete');
  for (let i = 0; i < 6; ++i) expect(await readsRight(reader, i, WHOLE)).toBe(true);
  await settle();
  reader.close();
  await settle();
});

test('blocks are written side by side, and bytes behind a block are not taken', async () => {
  const { file } = await opened('writer');
  await file.begin(facts(WHOLE.length));
  const [one, two] = [file.block(1), file.block(4)];
  let [a, b] = [1 * BLOCK, 4 * BLOCK];
  while (!one.full || !two.full) {
    if (!one.full) a += one.push(WHOLE.subarray(a, a + 70_000));
    if (!two.full) b += two.push(WHOLE.subarray(b, b + 30_001));
  }
  expect([a, b]).toEqual([2 * BLOCK, 5 * BLOCK]);
  expect(await readsRight(file, 1, WHOLE)).toBe(true);
  expect(await readsRight(file, 4, WHOLE)).toBe(true);
  file.close();
  await settle();
});
