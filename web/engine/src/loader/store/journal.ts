// The journal of a cached file: its metadata, and which of its blocks are present.
//
// A cached file is two files. KEY.gguf has the file's bytes at their own offsets; KEY.journal is this format. KEY is the
// first 32 hexadecimal digits of the SHA-256 of the canonical address. The program `sluice` has the same format. All
// numbers are little-endian.
//
//   0      8192   header, copy 0
//   8192   8192   header, copy 1
//   16384  8 each table: for block i the XXH64 (seed 0) of its bytes, at 16384 + 8 i. 0: the block is missing; a hash
//                 that is 0 is stored as 1. A block's bytes are written before its hash.
//
// A copy of the header:
//   0   8  magic 'SLUICEJ\n'
//   8   4  version: 1
//   12  4  length of the meta in bytes, at most 8160
//   16  8  sequence
//   24  8  XXH64 (seed 0) of the bytes 0..23 and the meta
//   32     meta: an object as JSON, UTF-8; its fields: see Meta. Unknown fields are kept.
//
// A copy is valid if magic, version, length and hash are right. Of two valid ones the larger sequence counts. A change is
// written to the other copy with the next sequence, so an interrupted write leaves the copy before. Without a valid
// copy the entry counts as absent. A copy with a larger version: a newer Sluice wrote it, and the entry is neither read
// nor written.
import { xxh64 } from './hashes.js';
import { MAX_PARTS } from '../../shared/shards.js';

export const JOURNAL_VERSION = 1;
export const COPY_BYTES = 8192;
export const TABLE_AT = 2 * COPY_BYTES;
const META_AT = 32;
export const MAX_META_BYTES = COPY_BYTES - META_AT;
const MAGIC = new TextEncoder().encode('SLUICEJ\n');

/** The metadata of a cached file. */
export interface Meta {
  /** The canonical address. */
  address: string;
  /** The hub names that were resolved to this file (canonicalOf of a choice). */
  names: string[];
  /** Bytes of each block but the last: a power of two from 256 KiB to 4 MiB. */
  blockBytes: number;
  /** Bytes of the whole file; 0 if unknown. */
  totalBytes: number;
  /** As the server sent it; '' unknown. */
  etag: string;
  lastModified: string;
  commit: string;
  /** 64 lower-case hexadecimal digits; '' unknown. */
  sha256: string;
  /** The sha256 was computed over the whole file, and fits. */
  verified: boolean;
  /** Milliseconds since 1970. */
  created: number;
  used: number;
  /** Never evicted. */
  pinned: boolean;
  /** Of a split model: the canonical address of its first file; '' if not split. */
  set: string;
  part: number;
  parts: number;
}

/** 4 TiB, far more than any model. */
const MAX_TOTAL = 2 ** 42;
const LEAST_BLOCK = 256 << 10;
const MOST_BLOCK = 4 << 20;
/** The block size of a file whose length is unknown. */
const PLAIN_BLOCK = 1 << 20;

/** The block size of a new entry. `total`: bytes of the file, 0 if unknown. */
export function blockBytesFor(total: number): number {
  if (total === 0) return PLAIN_BLOCK;
  let size = LEAST_BLOCK;
  while (size < MOST_BLOCK && size < total / 64) size *= 2;
  return size;
}

export function isTotal(total: number): boolean {
  return Number.isSafeInteger(total) && total >= 0 && total <= MAX_TOTAL;
}

/** Element i converts the meta of version i + 1 to version i + 2. None yet, because version 1 is the first. */
const MIGRATIONS: readonly ((meta: object) => object)[] = [];

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isWhole(value: unknown, least: number, most: number): boolean {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

function isBlockSize(value: unknown): boolean {
  return isWhole(value, LEAST_BLOCK, MOST_BLOCK) && Number.isInteger(Math.log2(value as number));
}

/** The check of each field. No field is used before it is checked. */
const FIELDS: Record<keyof Meta, (value: unknown) => boolean> = {
  address: (value) => isText(value) && value !== '',
  names: (value) => Array.isArray(value) && value.every(isText),
  blockBytes: isBlockSize,
  totalBytes: (value) => isTotal(value as number),
  etag: isText,
  lastModified: isText,
  commit: isText,
  sha256: (value) => isText(value) && /^([0-9a-f]{64})?$/.test(value),
  verified: (value) => typeof value === 'boolean',
  created: (value) => isWhole(value, 0, Number.MAX_SAFE_INTEGER),
  used: (value) => isWhole(value, 0, Number.MAX_SAFE_INTEGER),
  pinned: (value) => typeof value === 'boolean',
  set: isText,
  part: (value) => isWhole(value, 0, MAX_PARTS),
  parts: (value) => isWhole(value, 1, MAX_PARTS),
};

function readMeta(bytes: Uint8Array, version: number): Meta | null {
  let meta: unknown;
  try {
    meta = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) return null;
  for (const migrate of MIGRATIONS.slice(version - 1)) meta = migrate(meta as object);
  const given = meta as Record<string, unknown>;
  for (const [name, isRight] of Object.entries(FIELDS)) {
    if (!Object.hasOwn(given, name) || !isRight(given[name])) return null;
  }
  return meta as Meta;
}

export interface Header {
  meta: Meta;
  sequence: bigint;
  /** Which copy it is. */
  copy: 0 | 1;
}

type Copy = Header | 'absent' | 'newer';

/** Refused: no later copy could have a larger sequence. */
const LAST_SEQUENCE = (1n << 64n) - 1n;

function readCopy(bytes: Uint8Array, copy: 0 | 1): Copy {
  if (bytes.length < META_AT || MAGIC.some((byte, i) => bytes[i] !== byte)) return 'absent';
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint32(8, true);
  if (version > JOURNAL_VERSION) return 'newer';
  const length = view.getUint32(12, true);
  const sequence = view.getBigUint64(16, true);
  if (version === 0 || length > bytes.length - META_AT || sequence === LAST_SEQUENCE)
    return 'absent';
  const text = bytes.subarray(META_AT, META_AT + length);
  if (view.getBigUint64(24, true) !== xxh64([bytes.subarray(0, 24), text])) return 'absent';
  const meta = readMeta(text, version);
  return meta === null ? 'absent' : { meta, sequence, copy };
}

/** Reads the header from a journal's first 16384 bytes, or fewer if it is shorter. The bytes may be arbitrary. */
export function readHeader(bytes: Uint8Array): Header | 'absent' | 'newer' {
  const first = readCopy(bytes.subarray(0, COPY_BYTES), 0);
  const second = readCopy(bytes.subarray(COPY_BYTES, TABLE_AT), 1);
  if (first === 'newer' || second === 'newer') return 'newer';
  if (first === 'absent') return second;
  if (second === 'absent') return first;
  return second.sequence > first.sequence ? second : first;
}

/** The most names that are stored; the newest is the last. */
const MAX_NAMES = 16;

/** A copy of the header, 8192 bytes. Null if the meta is too long even with one name left. */
export function writeHeader(meta: Meta, sequence: bigint): Uint8Array<ArrayBuffer> | null {
  let names = meta.names.slice(-MAX_NAMES);
  let text = new TextEncoder().encode(JSON.stringify({ ...meta, names }));
  while (text.length > MAX_META_BYTES && names.length > 1) {
    names = names.slice(1);
    text = new TextEncoder().encode(JSON.stringify({ ...meta, names }));
  }
  if (text.length > MAX_META_BYTES) return null;
  const bytes = new Uint8Array(COPY_BYTES);
  const view = new DataView(bytes.buffer);
  bytes.set(MAGIC);
  view.setUint32(8, JOURNAL_VERSION, true);
  view.setUint32(12, text.length, true);
  view.setBigUint64(16, sequence, true);
  view.setBigUint64(24, xxh64([bytes.subarray(0, 24), text]), true);
  bytes.set(text, META_AT);
  return bytes;
}

/** Blocks of a file. With an unknown total: those that begin within the `stored` bytes. */
export function countBlocks({ totalBytes, blockBytes }: Meta, stored: number): number {
  return Math.ceil((totalBytes || stored) / blockBytes);
}

/**
 * Reads the table from a whole journal. `stored`: bytes of KEY.gguf; a block that reaches beyond them is missing, whatever
 * the table says.
 */
export function readTable(journal: Uint8Array, meta: Meta, stored: number): BigUint64Array {
  const table = new BigUint64Array(countBlocks(meta, Math.min(stored, MAX_TOTAL)));
  const view = new DataView(journal.buffer, journal.byteOffset, journal.byteLength);
  for (let i = 0; i < table.length && TABLE_AT + 8 * (i + 1) <= journal.length; ++i) {
    const end = Math.min((i + 1) * meta.blockBytes, meta.totalBytes || Infinity);
    if (end <= stored) table[i] = view.getBigUint64(TABLE_AT + 8 * i, true);
  }
  return table;
}

/** A block's hash as it is stored in the table. */
export function tableHash(hash: bigint): bigint {
  return hash === 0n ? 1n : hash;
}
