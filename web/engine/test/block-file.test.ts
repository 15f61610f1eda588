// Files in the cache: written, read, followed, closed.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FakeOpfs } from './fake-opfs.js';
import {
  ADDRESS,
  bytesOf,
  facts,
  fill,
  opened,
  readBlock,
  readsRight,
  same,
  settle,
  writeBlock,
} from './store-setup.js';

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
  expect([file.blockBytes, file.blockCount, file.missing()]).toEqual([BLOCK, 6, 6]);
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

test('an entry whose files go while it is opened is opened once more', async () => {
  const folder = opfs.folder() as { getFileHandle(...args: unknown[]): Promise<object> };
  let gone = 1;
  vi.spyOn(opfs, 'folder').mockImplementation(() => ({
    ...folder,
    getFileHandle: async (...args: unknown[]) => {
      if (gone-- > 0) throw new DOMException('gone', 'NotReadableError');
      return folder.getFileHandle(...args);
    },
  }));
  const { file } = await opened('writer');
  expect(gone).toBeLessThan(1);
  file.close();
  await settle();
  gone = Infinity;
  await expect(opened('writer')).rejects.toThrow('NotReadableError');
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

test('what belongs to another writer, or comes after the close, is refused', async () => {
  const { file } = await opened('writer');
  expect(() => file.block(0)).toThrow('begin() was not called');
  await file.begin(facts(WHOLE.length));
  for (const index of [-1, 6, 0.5, NaN]) expect(() => file.block(index)).toThrow('no block');
  const first = file.block(2);
  first.push(WHOLE.subarray(2 * BLOCK, 2 * BLOCK + 99));
  const second = file.block(2);
  expect(() => first.push(WHOLE.subarray(0, 1))).toThrow('has another writer');
  expect(second.push(WHOLE.subarray(2 * BLOCK))).toBe(BLOCK);
  expect(await readsRight(file, 2, WHOLE)).toBe(true);
  const third = file.block(3);
  file.close();
  file.close();
  expect(() => third.push(WHOLE)).toThrow('the file is closed');
  await expect(file.read(2, [])).rejects.toMatchObject({ code: 'aborted' });
  await expect(file.begin(facts(1))).rejects.toMatchObject({ code: 'aborted' });
  expect(() => file.reset()).toThrow();
  await settle();
});

test('a new writer of a block that is there takes the block out first', async () => {
  const { file } = await opened('writer');
  await file.begin(facts(WHOLE.length));
  writeBlock(file, 1, WHOLE);
  file.block(1).push(bytesOf(BLOCK - 1, 77));
  expect(file.has(1)).toBe(false);
  file.close();
  await settle();
  const again = await opened('writer');
  expect([again.file.has(1), again.file.missing()]).toEqual([false, 6]);
  again.file.close();
  await settle();
});

test('a length that is told at the end makes the last block whole', async () => {
  const M = 1 << 20;
  const whole = bytesOf(2 * M + 1234);
  const { file } = await opened('writer');
  await file.begin(facts(0));
  expect([file.blockBytes, file.total, file.blockCount]).toEqual([M, 0, 0]);
  writeBlock(file, 0, whole);
  writeBlock(file, 1, whole, 100_000);
  const last = file.block(2);
  expect(last.push(whole.subarray(2 * M))).toBe(1234);
  expect([last.full, file.complete, file.blockCount]).toEqual([false, false, 2]);
  await file.begin(facts(whole.length));
  expect([last.full, file.complete, file.blockCount]).toEqual([true, true, 3]);
  expect(await readsRight(file, 2, whole)).toBe(true);
  file.close();
  await settle();
  expect(same(opfs.only('.gguf').bytes, whole)).toBe(true);
  const { file: reader } = await opened('complete');
  expect(reader.blockBytes).toBe(M);
  reader.close();
  await settle();
});

test('a file whose length has changed loses its blocks, with an equal or unknown one it keeps them', async () => {
  const { file } = await opened('writer');
  await file.begin(facts(0));
  const block = file.block(0);
  block.push(bytesOf(1 << 20));
  expect(file.has(0)).toBe(true);
  await file.begin(facts(3 << 20));
  expect([file.has(0), file.missing()]).toEqual([true, 2]);
  await file.begin(facts(3 << 20, { etag: '"2"' }));
  expect([file.has(0), file.meta.etag]).toEqual([true, '"2"']);
  await file.begin(facts(2 << 20));
  expect([file.has(0), file.missing(), file.blockBytes]).toEqual([false, 8, BLOCK]);
  expect(opfs.only('.gguf').bytes).toHaveLength(2 << 20);
  file.close();
  await settle();
});

test('a reset drops the blocks and what was known', async () => {
  const { file } = await opened('writer');
  await file.begin(facts(WHOLE.length, { sha256: 'ab'.repeat(32) }));
  writeBlock(file, 0, WHOLE);
  void file.note({ verified: true });
  file.reset();
  expect(file.meta).toMatchObject({ totalBytes: 0, etag: '', sha256: '', verified: false });
  expect([file.has(0), file.complete]).toEqual([false, false]);
  file.close();
  await settle();
  const again = await opened('writer');
  expect(again.file.meta).toMatchObject({ totalBytes: 0, etag: '' });
  await again.file.begin(facts(WHOLE.length));
  expect(again.file.missing()).toBe(6);
  again.file.close();
  await settle();
});

test('a damaged block is noticed at its first reading, and fetched again alone', async () => {
  await fill('https://models.example/one.gguf', WHOLE);
  opfs.only('.gguf').bytes[2 * BLOCK + 5]! ^= 4;
  const { file } = await opened('complete', 'https://models.example/one.gguf');
  expect(file.complete).toBe(true);
  for (const block of [0, 1, 3, 4, 5]) expect(await readsRight(file, block, WHOLE)).toBe(true);
  expect(file.writable).toBe(false);
  expect(() => file.block(2)).toThrow('another tab writes');
  expect(await readBlock(file, 2)).toBeNull();
  expect([file.has(2), file.missing(), file.writable]).toEqual([false, 1, true]);
  writeBlock(file, 2, WHOLE);
  expect(file.complete).toBe(true);
  expect(await readsRight(file, 2, WHOLE)).toBe(true);
  file.close();
  await settle();
  expect(same(opfs.only('.gguf').bytes, WHOLE)).toBe(true);
});

test('damaged blocks that are read at the same time are all cleared', async () => {
  await fill(ADDRESS, WHOLE);
  const { file } = await opened('complete');
  opfs.only('.gguf').bytes.fill(0, 0, 3 * BLOCK);
  const read = await Promise.all([0, 1, 2, 3].map((i) => readsRight(file, i, WHOLE)));
  expect(read).toEqual([false, false, false, true]);
  expect([file.missing(), file.writable]).toEqual([3, true]);
  file.close();
  await settle();
  const { file: again } = await opened('writer');
  expect(again.missing()).toBe(3);
  again.close();
  await settle();
});

test('a damaged block is cleared, but not written, while another tab reads the file', async () => {
  await fill(ADDRESS, WHOLE);
  opfs.only('.gguf').bytes[9]! ^= 1;
  const { file: one } = await opened('complete');
  const { file: two } = await opened('complete');
  await settle();
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout'] });
  const reading = readBlock(one, 0);
  await vi.advanceTimersByTimeAsync(5000);
  expect(await reading).toBeNull();
  vi.useRealTimers();
  expect([one.has(0), one.writable]).toEqual([false, false]);
  expect(await readsRight(one, 1, WHOLE)).toBe(true);
  expect(await readsRight(two, 1, WHOLE)).toBe(true);
  one.close();
  two.close();
  await settle();
  const { file } = await opened('writer');
  expect([file.has(0), file.missing()]).toEqual([false, 1]);
  file.close();
  await settle();
});

test('what was verified is not so without a block, and is so again with the same block', async () => {
  await fill(ADDRESS, WHOLE);
  const { file } = await opened('complete');
  await file.note({ verified: true });
  expect(file.meta.verified).toBe(true);
  opfs.only('.gguf').bytes.fill(0, 0, BLOCK);
  expect(await readBlock(file, 0)).toBeNull();
  expect(file.meta.verified).toBe(false);
  writeBlock(file, 0, WHOLE);
  expect(file.meta.verified).toBe(true);
  opfs.only('.gguf').bytes.fill(0, 0, BLOCK);
  const other = WHOLE.slice();
  other[7]! ^= 1;
  // Reading it again in this session shows nothing; a new one does.
  file.close();
  await settle();
  const { file: next } = await opened('complete');
  await settle();
  expect(await readBlock(next, 0)).toBeNull();
  expect(() => writeBlock(next, 0, other)).toThrow('the server has in its place is another file');
  expect(next.has(0)).toBe(false);
  expect(next.meta.verified).toBe(false);
  next.close();
  await settle();
});

test('where handles are exclusive, a second tab reads the file itself, and again if it changes', async () => {
  opfs.exclusive_reads = true;
  await fill(ADDRESS, WHOLE);
  const { file: one } = await opened('complete');
  const { file: two } = await opened('complete');
  expect(opfs.handles.size).toBe(1);
  await settle();
  opfs.unreadable = 3;
  expect(await readsRight(two, 5, WHOLE)).toBe(true);
  expect(opfs.unreadable).toBe(0);
  expect(await readsRight(one, 5, WHOLE)).toBe(true);
  one.close();
  expect(await readsRight(two, 4, WHOLE)).toBe(true);
  two.close();
  await settle();
});

test('a follower hears of blocks, reads them, and goes on when the writer closes', async () => {
  const { file: writer } = await opened('writer');
  const { file, turn } = await opened('follower');
  const heard: number[] = [];
  file.onblock = (block) => heard.push(block);
  expect([file.total, file.complete, file.writable]).toEqual([0, false, false]);
  await writer.begin(facts(WHOLE.length));
  writeBlock(writer, 3, WHOLE);
  await vi.waitFor(() => expect(heard).toEqual([3]));
  expect([file.total, file.missing()]).toEqual([WHOLE.length, 5]);
  expect(await readsRight(file, 3, WHOLE)).toBe(true);
  writeBlock(writer, 0, WHOLE);
  writer.block(1).push(WHOLE.subarray(BLOCK, BLOCK + 500));
  writer.close();
  expect(await turn).toBe(file);
  expect([file.writable, file.missing()]).toEqual([true, 4]);
  expect(heard).toEqual([3, 0]);
  await file.begin(facts(WHOLE.length));
  for (const block of [1, 2, 4, 5]) writeBlock(file, block, WHOLE);
  expect(file.complete).toBe(true);
  file.close();
  await settle();
  expect(same(opfs.only('.gguf').bytes, WHOLE)).toBe(true);
});

test('a follower finds blocks without a channel, and closes while it waits', async () => {
  vi.stubGlobal(
    'BroadcastChannel',
    class {
      constructor() {
        throw new DOMException('refused', 'SecurityError');
      }
    },
  );
  const { file: writer } = await opened('writer');
  const { file, turn } = await opened('follower');
  const heard: number[] = [];
  file.onblock = (block) => heard.push(block);
  await writer.begin(facts(WHOLE.length));
  writeBlock(writer, 4, WHOLE);
  await vi.waitFor(() => expect(heard).toEqual([4]), { timeout: 20_000 });
  file.close();
  expect(await turn).toBeNull();
  writer.close();
  await settle();
});

test("a follower's damaged block is left to the writer", async () => {
  const { file: writer } = await opened('writer');
  await writer.begin(facts(WHOLE.length));
  writeBlock(writer, 0, WHOLE);
  opfs.only('.gguf').bytes[1]! ^= 1;
  const { file, turn } = await opened('follower');
  expect(file.has(0)).toBe(true);
  expect(await readBlock(file, 0)).toBeNull();
  expect([file.has(0), writer.has(0)]).toEqual([false, true]);
  expect(await readBlock(writer, 0)).toBeNull();
  const other = WHOLE.slice();
  other[0]! ^= 1;
  writeBlock(writer, 0, other);
  await vi.waitFor(() => expect(file.has(0)).toBe(true), { timeout: 20_000 });
  expect(await readsRight(file, 0, other)).toBe(true);
  writer.close();
  await turn;
  file.close();
  await settle();
});

test('dropping deletes the files, or only the blocks while another tab follows', async () => {
  const { file: one } = await opened('writer');
  await one.begin(facts(WHOLE.length));
  writeBlock(one, 0, WHOLE);
  const { file: two, turn } = await opened('follower');
  await one.drop();
  expect(await turn).toBe(two);
  expect([two.missing(), two.writable]).toEqual([6, true]);
  await two.drop();
  expect(opfs.files.size).toBe(0);
  await fill(ADDRESS, WHOLE);
  const { file: three } = await opened('complete');
  await three.drop();
  await three.drop();
  expect(opfs.files.size).toBe(0);
});

test('notes are kept, with the names that led here', async () => {
  const { file } = await opened('writer', ADDRESS, {
    names: ['a'],
    set: ADDRESS,
    part: 1,
    parts: 2,
  });
  await file.begin(facts(WHOLE.length));
  for (let i = 0; i < 6; ++i) writeBlock(file, i, WHOLE);
  file.close();
  await settle();
  const { file: reader } = await opened('complete', ADDRESS, { names: ['b', 'a'] });
  await reader.note({ pinned: true });
  expect(reader.meta).toMatchObject({ names: ['b', 'a'], pinned: true, set: ADDRESS, parts: 2 });
  reader.close();
  await reader.note({ pinned: false });
  await settle();
  const { file: again } = await opened('complete');
  expect(again.meta).toMatchObject({ names: ['b', 'a'], pinned: true });
  await settle();
  again.close();
  await settle();
});

test('a quota that is used up while writing is storage_full with figures', async () => {
  const { file } = await opened('writer');
  await file.begin(facts(0));
  opfs.quota = opfs.usage + 1_000_000;
  const writer = file.block(0);
  let error: unknown;
  try {
    writer.push(bytesOf(1 << 20));
  } catch (caught) {
    error = caught;
  }
  expect(error).toMatchObject({ code: 'storage_full' });
  expect(String(error)).toMatch(
    /needs 1.05 MB more, and the browser refuses that, though it says that 1000 GB are free/,
  );
  expect(() => writer.push(bytesOf(1))).toThrow('has another writer');
  expect(file.has(0)).toBe(false);
  file.close();
  await settle();
});

test('a total that no file has is refused', async () => {
  const { file } = await opened('writer');
  for (const total of [-1, 0.5, NaN, 2 ** 60])
    await expect(file.begin(facts(total))).rejects.toMatchObject({ code: 'bad_file' });
  expect(opfs.files.size).toBe(0);
  file.close();
  await settle();
});

test('an address that is too long is refused, and leaves nothing', async () => {
  const { file } = await opened('writer', `https://models.example/${'x'.repeat(9000)}`);
  await expect(file.begin(facts(5))).rejects.toMatchObject({ code: 'invalid_argument' });
  await file.drop();
  expect(opfs.files.size).toBe(0);
});
