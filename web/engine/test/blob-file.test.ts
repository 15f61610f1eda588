// A file of the user, read in place: in order by streams, at random, cut short, and where blobs have no byte streams.
import { describe, expect, it, vi } from 'vitest';
import { BlobFile } from '../src/loader/blob-file.js';

const SIZE = 3 << 20;
const content = Uint8Array.from({ length: SIZE }, (_, i) => (i * 31 + (i >> 8) * 7) & 255);

/** Reads [from, to) into two views. */
async function read(file: BlobFile, from: number, to: number): Promise<Uint8Array> {
  const all = new Uint8Array(to - from);
  const cut = Math.floor((to - from) / 3);
  expect(await file.read(from, [all.subarray(0, cut), all.subarray(cut)])).toBe(true);
  return all;
}

const expectSame = (bytes: Uint8Array, from: number): void =>
  expect(Buffer.compare(bytes, content.subarray(from, from + bytes.length))).toBe(0);

/** A blob whose slices end early, as those of a file that was cut short on the disk. */
function cutShort(blob: Blob, size: number): Blob {
  return Object.assign(Object.create(Blob.prototype) as Blob, {
    slice: (from: number, to: number) => blob.slice(Math.min(from, size), Math.min(to, size)),
  });
}

describe('BlobFile', () => {
  it('reads pieces in order from one stream, and others at random', async () => {
    const blob = new Blob([content]);
    const slice = vi.spyOn(blob, 'slice');
    const file = new BlobFile(blob);
    for (let at = 0; at < SIZE; at += 1 << 20) expectSame(await read(file, at, at + (1 << 20)), at);
    expect(slice).toHaveBeenCalledTimes(1);
    for (const [from, to] of [
      [5, 700_000],
      [2_000_000, SIZE],
      [9, 40],
      [300_000, 900_001],
    ] as const)
      expectSame(await read(file, from, to), from);
    await file.close();
  });

  it('reads several pieces that are asked for at the same time', async () => {
    const file = new BlobFile(new Blob([content]));
    const pieces = [0, 1, 2, 3, 4, 5].map((i) => i * 500_000);
    const read_all = await Promise.all(pieces.map((at) => read(file, at, at + 500_000)));
    read_all.forEach((bytes, i) => expectSame(bytes, pieces[i] ?? 0));
  });

  it('says so if the file has become shorter', async () => {
    const blob = new Blob([content]);
    const file = new BlobFile(cutShort(blob, 1_000_000));
    Object.defineProperty(file.blob, 'size', { value: SIZE });
    expectSame(await read(file, 0, 900_000), 0);
    await expect(file.read(900_000, [new Uint8Array(600_000)])).rejects.toMatchObject({
      code: 'bad_file',
    });
    await expect(file.read(2_000_000, [new Uint8Array(600_000)])).rejects.toMatchObject({
      code: 'bad_file',
    });
  });

  it('reads without byte streams', async () => {
    const blob = new Blob([content]);
    const plain = {
      size: SIZE,
      slice: (from: number, to: number) => ({
        arrayBuffer: () => blob.slice(from, to).arrayBuffer(),
        stream: () => new ReadableStream(),
      }),
    } as unknown as Blob;
    expectSame(await read(new BlobFile(plain), 100, 2_000_000), 100);
  });
});
