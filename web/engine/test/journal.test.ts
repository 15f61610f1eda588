// The journal's format: what is written is read, and damage is noticed.
import { beforeAll, expect, test } from 'vitest';
import { loadHashes, xxh64, Xxh64, makeSha256 } from '../src/loader/store/hashes.js';
import {
  COPY_BYTES,
  MAX_META_BYTES,
  TABLE_AT,
  blockBytesFor,
  readHeader,
  readTable,
  tableHash,
  writeHeader,
  type Header,
  type Meta,
} from '../src/loader/store/journal.js';
import { bytesOf } from './store-setup.js';

beforeAll(loadHashes);

const META: Meta = {
  address: 'https://models.example/model.gguf',
  names: ['https://models.example/model.gguf?download=true'],
  blockBytes: 1 << 20,
  totalBytes: 5_000_000,
  etag: '"abc"',
  lastModified: '',
  commit: '0123456789abcdef0123456789abcdef01234567',
  sha256: 'ab'.repeat(32),
  verified: true,
  created: 1_700_000_000_000,
  used: 1_700_000_000_001,
  pinned: false,
  set: '',
  part: 1,
  parts: 1,
};

/** A journal's first bytes: copy 0 with `first`, copy 1 with `second`. */
function journal(first: Uint8Array | null, second: Uint8Array | null): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(TABLE_AT);
  if (first !== null) bytes.set(first, 0);
  if (second !== null) bytes.set(second, COPY_BYTES);
  return bytes;
}

function copyOf(meta: object, sequence: bigint): Uint8Array<ArrayBuffer> {
  return writeHeader(meta as Meta, sequence) as Uint8Array<ArrayBuffer>;
}

/** A copy with any text as its meta, and the right hash. */
function copyWith(text: Uint8Array, version = 1): Uint8Array<ArrayBuffer> {
  const bytes = copyOf(META, 7n);
  const view = new DataView(bytes.buffer);
  bytes.fill(0, 32);
  bytes.set(text, 32);
  view.setUint32(8, version, true);
  view.setUint32(12, text.length, true);
  view.setBigUint64(24, xxh64([bytes.subarray(0, 24), text]), true);
  return bytes;
}

function read(bytes: Uint8Array): Header {
  const header = readHeader(bytes);
  if (typeof header === 'string') throw new Error(header);
  return header;
}

test('the hashes are those of the standard', async () => {
  const abc = new TextEncoder().encode('abc');
  expect(xxh64([])).toBe(0xef46db3751d8e999n);
  expect(xxh64([abc])).toBe(0x44bc2cf5ad770999n);
  const sha = await makeSha256();
  sha.update(abc);
  expect(sha.hex()).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test('hashes that grow side by side are those of the whole, of shared memory too', () => {
  const bytes = bytesOf(300_001);
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  const hashes = [new Xxh64(), new Xxh64()];
  for (let at = 0; at < bytes.length; at += 1777) {
    hashes[0]?.update(bytes.subarray(at, at + 1777));
    hashes[1]?.update(shared.subarray(at, at + 1777));
    xxh64([bytes.subarray(0, 5)]);
  }
  for (const hash of hashes) expect(hash.digest()).toBe(xxh64([bytes]));
  expect(xxh64([shared.subarray(0, 9), shared.subarray(9)])).toBe(xxh64([bytes]));
});

test('a header is the bytes that the format says', () => {
  const bytes = copyOf(META, 0x0102030405060708n);
  const view = new DataView(bytes.buffer);
  expect(bytes).toHaveLength(8192);
  expect(new TextDecoder().decode(bytes.subarray(0, 8))).toBe('SLUICEJ\n');
  expect(view.getUint32(8, true)).toBe(1);
  const length = view.getUint32(12, true);
  expect([...bytes.subarray(16, 24)]).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
  const text = bytes.slice(32, 32 + length);
  expect(view.getBigUint64(24, true)).toBe(xxh64([bytes.slice(0, 24), text]));
  expect(JSON.parse(new TextDecoder().decode(text))).toEqual(META);
  expect(bytes.subarray(32 + length).every((byte) => byte === 0)).toBe(true);
});

test('of two valid copies the larger sequence counts', () => {
  const old = copyOf({ ...META, used: 1 }, 8n);
  const fresh = copyOf({ ...META, used: 2 }, 9n);
  expect(read(journal(old, fresh))).toMatchObject({ copy: 1, sequence: 9n, meta: { used: 2 } });
  expect(read(journal(fresh, old))).toMatchObject({ copy: 0, sequence: 9n, meta: { used: 2 } });
  expect(read(journal(null, old))).toMatchObject({ copy: 1, meta: { used: 1 } });
  expect(read(journal(old, null))).toMatchObject({ copy: 0, meta: { used: 1 } });
  const last = copyOf({ ...META, used: 3 }, (1n << 64n) - 1n);
  expect(read(journal(old, last))).toMatchObject({ copy: 0, meta: { used: 1 } });
});

test('whichever byte of a copy is damaged, the other copy counts', () => {
  const old = copyOf({ ...META, used: 1 }, 8n);
  const fresh = copyOf({ ...META, used: 2 }, 9n);
  const length = new DataView(fresh.buffer).getUint32(12, true);
  for (let at = 0; at < 32 + length; ++at) {
    for (const flip of [1, 0x80]) {
      const bytes = journal(old, fresh);
      bytes[COPY_BYTES + at] = (bytes[COPY_BYTES + at] as number) ^ flip;
      const header = readHeader(bytes);
      // A larger version must not be touched, whatever else its copy looks like.
      if (at >= 8 && at < 12 && flip + at !== 9) expect(header).toBe('newer');
      else expect(header).toMatchObject({ copy: 0, meta: { used: 1 } });
      const alone = readHeader(journal(null, bytes.subarray(COPY_BYTES)));
      expect(alone).toBe(header === 'newer' ? 'newer' : 'absent');
    }
  }
});

test('a journal that was cut anywhere has what its whole copies say', () => {
  const whole = journal(copyOf(META, 3n), copyOf(META, 4n));
  const length = new DataView(whole.buffer).getUint32(12, true);
  for (let size = 0; size <= whole.length; size += size < 1000 ? 1 : 97) {
    const header = readHeader(whole.subarray(0, size));
    if (size >= COPY_BYTES + 32 + length) expect(header).toMatchObject({ sequence: 4n });
    else if (size >= 32 + length) expect(header).toMatchObject({ sequence: 3n });
    else expect(header).toBe('absent');
  }
});

test('garbage is an absent entry', () => {
  for (let seed = 1; seed <= 50; ++seed) {
    const garbage = bytesOf(TABLE_AT, seed);
    expect(readHeader(garbage)).toBe('absent');
    garbage.set(copyOf(META, 1n).subarray(0, 8));
    garbage.set([seed % 2, 0, 0, 0], 8);
    expect(readHeader(garbage)).toBe('absent');
  }
});

test.each([
  ['no JSON', '{'],
  ['no object', '[]'],
  ['null', 'null'],
  ['a number', '1'],
  ['nothing', ''],
])('a meta that is %s is absent, though its hash is right', (_, text) => {
  expect(readHeader(copyWith(new TextEncoder().encode(text)))).toBe('absent');
});

test('a meta that is not UTF-8 is absent', () => {
  const text = new TextEncoder().encode(JSON.stringify(META));
  text[text.indexOf('a'.charCodeAt(0))] = 0xff;
  expect(readHeader(copyWith(text))).toBe('absent');
});

test.each([
  ['address', ''],
  ['address', 5],
  ['names', 'one'],
  ['names', [1]],
  ['blockBytes', 0],
  ['blockBytes', -1],
  ['blockBytes', 128 << 10],
  ['blockBytes', 8 << 20],
  ['blockBytes', 300_000],
  ['blockBytes', 2 ** 53],
  ['blockBytes', 262144.5],
  ['totalBytes', -1],
  ['totalBytes', 0.5],
  ['totalBytes', 2 ** 60],
  ['totalBytes', '5'],
  ['totalBytes', null],
  ['sha256', 'AB'.repeat(32)],
  ['sha256', 'ab'],
  ['verified', 1],
  ['created', -1],
  ['used', 'now'],
  ['pinned', 'yes'],
  ['set', null],
  ['part', -1],
  ['part', 1000],
  ['parts', 0],
  ['parts', 1e9],
  ['etag', undefined],
])('a meta whose %s is %j is absent, though its hash is right', (name, value) => {
  const text = JSON.stringify({ ...META, [name]: value });
  expect(readHeader(copyWith(new TextEncoder().encode(text)))).toBe('absent');
});

test('fields that this version does not know are kept', () => {
  const bytes = copyOf({ ...META, later: { a: [1] } }, 1n);
  const { meta } = read(bytes);
  expect(read(copyOf({ ...meta, used: 5 }, 2n)).meta).toEqual({
    ...META,
    used: 5,
    later: { a: [1] },
  });
});

test('a newer version is seen in either copy, and version 0 is none', () => {
  const newer = copyWith(new TextEncoder().encode('of another form'), 2);
  newer.fill(7, 12);
  expect(readHeader(journal(newer, copyOf(META, 9n)))).toBe('newer');
  expect(readHeader(journal(copyOf(META, 9n), newer))).toBe('newer');
  expect(readHeader(copyWith(new TextEncoder().encode(JSON.stringify(META)), 0))).toBe('absent');
});

test('the oldest names go when the meta is too long; an address that is too long is refused', () => {
  const names = Array.from({ length: 30 }, (_, i) => `name ${i}`);
  expect(read(copyOf({ ...META, names }, 1n)).meta.names).toEqual(names.slice(14));
  const long = names.map((name) => name + 'x'.repeat(1000));
  const kept = read(copyOf({ ...META, names: long }, 1n)).meta.names;
  expect(kept.length).toBeGreaterThan(4);
  expect(kept).toEqual(long.slice(-kept.length));
  expect(writeHeader({ ...META, address: 'x'.repeat(MAX_META_BYTES) }, 1n)).toBeNull();
});

test('block sizes follow the file', () => {
  const [K, M] = [1 << 10, 1 << 20];
  const sizes = [0, 1, 16 * M, 16 * M + 1, 64 * M, 64 * M + 1, 256 * M, 256 * M + 1, 2 ** 40];
  expect(sizes.map((total) => blockBytesFor(total) / K)).toEqual([
    1024, 256, 256, 512, 1024, 2048, 4096, 4096, 4096,
  ]);
});

test('a table claims no block beyond the file or its own end', () => {
  const bytes = new Uint8Array(TABLE_AT + 8 * 5).fill(1);
  const table = (journal: Uint8Array, meta: Meta, stored: number): boolean[] =>
    [...readTable(journal, meta, stored)].map((hash) => hash !== 0n);
  expect(table(bytes, META, META.totalBytes)).toEqual([true, true, true, true, true]);
  expect(table(bytes.subarray(0, -1), META, META.totalBytes)).toEqual([
    true,
    true,
    true,
    true,
    false,
  ]);
  expect(table(bytes, META, 2 << 20)).toEqual([true, true, false, false, false]);
  const unknown = { ...META, totalBytes: 0 };
  expect(table(bytes, unknown, (2 << 20) + 5)).toEqual([true, true, false]);
  expect(table(bytes, unknown, 0)).toEqual([]);
  expect([tableHash(0n), tableHash(5n)]).toEqual([1n, 5n]);
});
