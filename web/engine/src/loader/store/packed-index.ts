// The index of a packed copy: which chunks are in it. The program `sluice` has the same format. All numbers are little-endian.
//
// Beside KEY.gguf there may be KEY.packed: chunks of weights as the core packs them, each at the offset that its bytes have in
// KEY.gguf; between them nothing. KEY.index is this format:
//
//   0   8  magic 'SLUICEP\n'
//   8   4  version: 1
//   12  4  number of the packing's layout (SluiceModule.packedLayout)
//   16  8  bytes of KEY.gguf
//   24  8  XXH64 (seed 0) of the whole table in the journal of the copied file, which is complete
//   32  8  XXH64 of the bytes 0..31
//   40     records of 24 bytes: begin and end of a chunk, and the XXH64 of its packed bytes (0 is stored as 1)
//
// A chunk's bytes are written before its record. A later record of the same begin replaces an earlier one. An invalid
// record is ignored.
import { xxh64 } from './hashes.js';
import { tableHash } from './journal.js';

const INDEX_VERSION = 1;
export const HEADER_BYTES = 40;
export const RECORD_BYTES = 24;
const MAGIC = new TextEncoder().encode('SLUICEP\n');
const MOST_CHUNK = 2 ** 30;
/** More records than the largest model has chunks: a longer index is invalid. */
export const MOST_RECORDS = 1 << 20;

/** The file that is copied, and the layout of the copy. */
export interface Original {
  layout: number;
  /** Bytes of the file. */
  total: number;
  /** The journal's table, in which no block is missing. */
  table: BigUint64Array;
}

/** A chunk: the packed bytes of the file's range from `begin` to `end`. */
export interface Chunk {
  begin: number;
  end: number;
  hash: bigint;
}

export function indexHeader({ layout, total, table }: Original): Uint8Array<ArrayBuffer> {
  const hashes = new DataView(new ArrayBuffer(8 * table.length));
  table.forEach((hash, i) => hashes.setBigUint64(8 * i, hash, true));
  const bytes = new Uint8Array(HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  view.setUint32(8, INDEX_VERSION, true);
  view.setUint32(12, layout, true);
  view.setBigUint64(16, BigInt(total), true);
  view.setBigUint64(24, xxh64([new Uint8Array(hashes.buffer)]), true);
  view.setBigUint64(32, xxh64([bytes.subarray(0, 32)]), true);
  return bytes;
}

/** Whether bytes of a file of `total` bytes can be a chunk. */
export function isChunk(begin: number, end: number, total: number): boolean {
  const whole = Number.isSafeInteger(begin) && Number.isSafeInteger(end);
  return whole && begin >= 0 && begin < end && end <= total && end - begin <= MOST_CHUNK;
}

/** The hash of a chunk with these packed bytes. */
export function chunkHash(pieces: readonly Uint8Array[]): bigint {
  return tableHash(xxh64(pieces));
}

export function recordOf({ begin, end, hash }: Chunk): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(RECORD_BYTES);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(begin), true);
  view.setBigUint64(8, BigInt(end), true);
  view.setBigUint64(16, hash, true);
  return bytes;
}

/** The chunks that an index names, by their begin; null if its header isn't `header`. `stored`: bytes of KEY.packed. */
export function readIndex(
  index: Uint8Array,
  header: Uint8Array,
  { total }: Original,
  stored: number,
): Map<number, Chunk> | null {
  if (index.length < HEADER_BYTES || header.some((byte, i) => index[i] !== byte)) return null;
  const view = new DataView(index.buffer, index.byteOffset, index.byteLength);
  const chunks = new Map<number, Chunk>();
  for (let at = HEADER_BYTES; at + RECORD_BYTES <= index.length; at += RECORD_BYTES) {
    const begin = Number(view.getBigUint64(at, true));
    const end = Number(view.getBigUint64(at + 8, true));
    const hash = view.getBigUint64(at + 16, true);
    if (isChunk(begin, end, Math.min(total, stored)) && hash !== 0n)
      chunks.set(begin, { begin, end, hash });
  }
  return chunks;
}
