// What the tests of the cache share.
import { createHash } from 'node:crypto';
import type { BlockFile, BlockFacts } from '../src/loader/store/block-file.js';
import { openEntry, type About, type Entry } from '../src/loader/store/entries.js';

export const ADDRESS = 'https://models.example/a/model-q8_0.gguf';
export const ALONE: About = { names: [], set: '', part: 1, parts: 1 };

export function facts(total: number, more: Partial<BlockFacts> = {}): BlockFacts {
  return { total, etag: '"1"', lastModified: '', commit: '', sha256: '', ...more };
}

/** Bytes that differ from block to block, the same for the same seed. */
export function bytesOf(length: number, seed = 1): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let state = seed >>> 0 || 1;
  for (let i = 0; i < length; ++i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[i] = state >>> 24;
  }
  return bytes;
}

export async function opened<K extends Entry['kind']>(
  kind: K,
  address = ADDRESS,
  about: Partial<About> = {},
): Promise<Extract<Entry, { kind: K }>> {
  const entry = await openEntry(address, { ...ALONE, ...about });
  if (entry.kind !== kind) {
    throw new Error(`the entry is ${entry.kind}${'why' in entry ? `: ${entry.why}` : ''}`);
  }
  return entry as Extract<Entry, { kind: K }>;
}

/** Writes one block of `whole`, in pieces. */
export function writeBlock(file: BlockFile, block: number, whole: Uint8Array, piece = 1e9): void {
  const writer = file.block(block);
  let at = block * file.blockBytes;
  while (!writer.full) at += writer.push(whole.subarray(at, at + piece));
}

/** Makes a complete entry. */
export async function fill(
  address: string,
  whole: Uint8Array,
  about: Partial<About> = {},
): Promise<void> {
  const { file } = await opened('writer', address, about);
  await file.begin(facts(whole.length));
  for (let i = 0; i < file.blockCount; ++i) writeBlock(file, i, whole);
  file.close();
  await settle();
}

/** Lets everything happen that waits for nothing but promises. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 5; ++i) await new Promise((resolve) => setTimeout(resolve, 0));
}

/** Reads a block. Null if it is damaged or not there. */
export async function readBlock(file: BlockFile, block: number): Promise<Uint8Array | null> {
  const bytes = new Uint8Array(file.sizeOf(block));
  const half = bytes.length >> 1;
  const views = [bytes.subarray(0, half), bytes.subarray(half)];
  return (await file.read(block, views)) ? bytes : null;
}

/** toEqual takes seconds for so many bytes. */
export function same(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

/** Whether a block is there, and reads as that of `whole`. */
export async function readsRight(
  file: BlockFile,
  block: number,
  whole: Uint8Array,
): Promise<boolean> {
  const at = block * file.blockBytes;
  const bytes = await readBlock(file, block);
  return bytes !== null && same(bytes, whole.subarray(at, at + file.blockBytes));
}

export function sha256Hex(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
