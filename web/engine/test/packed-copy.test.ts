// The packed copy of a file in the cache: its format, what can be wrong with it, its room, and when it goes.
import { openFolder } from '../src/platform/here.js';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { PackedCopy } from '../src/loader/store/packed-copy.js';
import { loadHashes, xxh64 } from '../src/loader/store/hashes.js';
import { makeRoom, removeOldest } from '../src/loader/store/room.js';
import type { Folder } from '../src/platform/platform.js';
import { loaderHandlers } from '../src/loader/handlers.js';
import { Caller } from '../src/shared/caller.js';
import type { LoaderCalls } from '../src/shared/calls.js';
import { Replies } from '../src/shared/replies.js';
import { FakeOpfs } from './fake-opfs.js';
import { ADDRESS, bytesOf, facts, fill, opened, same, settle, writeBlock } from './store-setup.js';

const BLOCK = 256 << 10;
const WHOLE = bytesOf(3 * BLOCK + 1000);
const LAYOUT = 5;
/** Chunks that follow one another from 1000 on, and one behind a gap. */
const A = { begin: 1000, bytes: bytesOf(300, 11) };
const B = { begin: 1300, bytes: bytesOf(500, 12) };
const C = { begin: 2000, bytes: bytesOf(5000, 13) };

let opfs: FakeOpfs;
beforeAll(loadHashes);
beforeEach(async () => {
  opfs = new FakeOpfs().install();
  await fill(ADDRESS, WHOLE);
});
afterEach(() => {
  expect(opfs.handles.size).toBe(0);
  expect(opfs.locks.held).toEqual([]);
  vi.unstubAllGlobals();
});

type Work<T> = (copy: PackedCopy | null) => T | Promise<T>;

/** One session with the copy of a complete file. */
async function session<T>(work: Work<T>, layout = LAYOUT, address = ADDRESS): Promise<T> {
  const { file } = await opened('complete', address);
  const copy = await file.openCopy(layout);
  try {
    return await work(copy);
  } finally {
    copy?.close();
    file.close();
    await settle();
  }
}

/** A session in which there must be a copy. */
function withCopy<T>(work: (copy: PackedCopy) => T | Promise<T>, layout = LAYOUT): Promise<T> {
  return session((copy) => {
    if (copy === null) throw new Error('there is no copy');
    return work(copy);
  }, layout);
}

function keepAll(copy: PackedCopy): void {
  for (const { begin, bytes } of [C, A, B]) copy.keep(begin, bytes);
}

/** Reads into two views; null if that fails. */
function readFrom(copy: PackedCopy, from: number, length: number): Uint8Array | null {
  const shared = new Uint8Array(new SharedArrayBuffer(length));
  const cut = Math.floor(length / 3);
  const views = [shared.subarray(0, cut), shared.subarray(cut)];
  return copy.read(from, views) ? Uint8Array.from(shared) : null;
}

function change(ending: string, work: (bytes: Uint8Array) => Uint8Array | void): void {
  const disk = opfs.only(ending);
  const bytes = disk.bytes.slice();
  disk.bytes = Uint8Array.from(work(bytes) ?? bytes);
}

const runOf = (copy: PackedCopy): number | undefined => copy.readable(1000, 1e9, 1e9)?.to;
const fileNames = (): string[] => [...opfs.files.keys()].map((name) => name.slice(33)).sort();

describe('the format', () => {
  test('is this, byte by byte', async () => {
    await withCopy(keepAll);
    const packed = opfs.only('.packed').bytes;
    expect(packed).toHaveLength(C.begin + C.bytes.length);
    for (const { begin, bytes } of [A, B, C])
      expect(same(packed.subarray(begin, begin + bytes.length), bytes)).toBe(true);
    expect(packed.subarray(0, 1000).every((byte) => byte === 0)).toBe(true);

    const index = opfs.only('.index').bytes;
    const view = new DataView(index.buffer);
    const table = opfs.only('.journal').bytes.subarray(16384, 16384 + 8 * 4);
    expect(index).toHaveLength(40 + 3 * 24);
    expect(new TextDecoder().decode(index.subarray(0, 8))).toBe('SLUICEP\n');
    expect([view.getUint32(8, true), view.getUint32(12, true)]).toEqual([1, LAYOUT]);
    expect(view.getBigUint64(16, true)).toBe(BigInt(WHOLE.length));
    expect(view.getBigUint64(24, true)).toBe(xxh64([table]));
    expect(view.getBigUint64(32, true)).toBe(xxh64([index.subarray(0, 32)]));
    [C, A, B].forEach(({ begin, bytes }, i) => {
      const record = [0, 8, 16].map((at) => view.getBigUint64(40 + 24 * i + at, true));
      expect(record).toEqual([BigInt(begin), BigInt(begin + bytes.length), xxh64([bytes])]);
    });
  });

  test('is read in the next session, in runs of whole chunks', async () => {
    await withCopy(keepAll);
    await withCopy((copy) => {
      const end = B.begin + B.bytes.length;
      expect(copy.readable(1000, 1e9, 1e9)).toEqual({ from: 1000, to: end });
      // Not more than is asked for, but one at least.
      expect(copy.readable(1000, 1e9, 799)).toEqual({ from: 1000, to: 1300 });
      expect(copy.readable(1000, 1e9, 1)).toEqual({ from: 1000, to: 1300 });
      // Only whole ones, from their first byte on.
      expect(copy.readable(1000, end - 1, 1e9)).toEqual({ from: 1000, to: 1300 });
      expect(copy.readable(1000, 1299, 1e9)).toBeNull();
      expect(copy.readable(1001, 1e9, 1e9)).toBeNull();
      expect(copy.readable(end, 1e9, 1e9)).toBeNull();
      expect(copy.after(0, 1e9)).toBe(1000);
      expect(copy.after(1000, 1e9)).toBe(1300);
      expect(copy.after(1300, 1e9)).toBe(2000);
      expect(copy.after(1300, 2000)).toBe(2000);
      expect(copy.after(1300, 6999)).toBe(6999);
      expect(copy.after(0, 1299)).toBe(1299);
      expect(copy.after(2000, 1e9)).toBe(1e9);
      for (let i = 0; i < 2; ++i) {
        expect(readFrom(copy, 1000, 800)).toEqual(Uint8Array.of(...A.bytes, ...B.bytes));
        expect(readFrom(copy, 2000, 5000)).toEqual(C.bytes);
      }
      expect(readFrom(copy, 1000, 299)).toBeNull();
      expect(readFrom(copy, 1800, 10)).toBeNull();
    });
  });

  test('of a chunk that is kept twice the second is nothing, unless it is longer', async () => {
    await withCopy((copy) => {
      copy.keep(A.begin, A.bytes);
      copy.keep(A.begin, bytesOf(300, 99));
      expect(readFrom(copy, 1000, 300)).toEqual(A.bytes);
      copy.keep(A.begin, C.bytes);
    });
    expect(opfs.only('.index').bytes).toHaveLength(40 + 2 * 24);
    await withCopy((copy) => {
      expect(runOf(copy)).toBe(6000);
      expect(readFrom(copy, 1000, 5000)).toEqual(C.bytes);
    });
  });
});

describe('what is wrong with the files', () => {
  beforeEach(() => withCopy(keepAll));

  test('a byte that has changed is found at the first reading, and the chunk is kept again', async () => {
    change('.packed', (bytes) => void (bytes[1300] = (bytes[1300] ?? 0) ^ 1));
    await withCopy((copy) => {
      expect(readFrom(copy, 1000, 800)).toBeNull();
      expect(runOf(copy)).toBe(1300);
      expect(copy.after(1000, 1e9)).toBe(2000);
      expect(readFrom(copy, 1000, 300)).toEqual(A.bytes);
      copy.keep(B.begin, B.bytes);
      expect(readFrom(copy, 1000, 800)).toEqual(Uint8Array.of(...A.bytes, ...B.bytes));
    });
    await withCopy((copy) => expect(readFrom(copy, 1300, 500)).toEqual(B.bytes));
  });

  test('a reading that fails or is short is no reading', async () => {
    await withCopy((copy) => {
      expect(readFrom(copy, 1000, 800)).not.toBeNull();
      const { read } = Object.getPrototypeOf([...opfs.handles][0]) as { read: () => number };
      for (const handle of opfs.handles) handle.read = () => 3;
      expect(readFrom(copy, 1000, 800)).toBeNull();
      // Both were read as one: which of them it was shows when they are read again.
      expect(copy.after(0, 1e9)).toBe(1000);
      expect(readFrom(copy, 1000, 800)).toBeNull();
      for (const handle of opfs.handles)
        handle.read = () => {
          throw new DOMException('gone', 'InvalidStateError');
        };
      expect(readFrom(copy, 2000, 5000)).toBeNull();
      for (const handle of opfs.handles) handle.read = read;
      expect(copy.after(0, 1e9)).toBe(1300);
      expect(readFrom(copy, 1300, 500)).toEqual(B.bytes);
    });
  });

  const record = (begin: bigint, end: bigint, hash: bigint): Uint8Array => {
    const bytes = new Uint8Array(24);
    const view = new DataView(bytes.buffer);
    [begin, end, hash].forEach((field, i) => view.setBigUint64(8 * i, field, true));
    return bytes;
  };
  const total = BigInt(WHOLE.length);
  test.each<[string, bigint, bigint, bigint]>([
    ['an end before its begin', 1300n, 1299n, 7n],
    ['no bytes', 1300n, 1300n, 7n],
    ['an end behind the file', 10n, total + 1n, 7n],
    ['an end behind the packed bytes', 10n, 7001n, 7n],
    ['more than a number holds', 2n ** 63n, 2n ** 64n - 1n, 7n],
    ['an end that wraps', 10n, 2n ** 64n - 1n, 7n],
    ['the hash 0', 10n, 20n, 0n],
  ])('a record with %s is left out', async (_, begin, end, hash) => {
    change('.index', (bytes) => Uint8Array.of(...bytes, ...record(begin, end, hash)));
    await withCopy((copy) => {
      expect(copy.after(-1, 1e15)).toBe(1000);
      expect(readFrom(copy, 1000, 800)).toEqual(Uint8Array.of(...A.bytes, ...B.bytes));
      copy.keep(10, bytesOf(20));
    });
    // What follows it counts.
    await withCopy((copy) => expect(readFrom(copy, 10, 20)).toEqual(bytesOf(20)));
  });

  test('a later record replaces an earlier one, also if it is wrong', async () => {
    change('.index', (bytes) => Uint8Array.of(...bytes, ...record(1000n, 1300n, 7n)));
    await withCopy((copy) => {
      expect(readFrom(copy, 1000, 300)).toBeNull();
      expect(copy.after(0, 1e9)).toBe(1300);
    });
  });

  test('a record that was cut short is written over', async () => {
    change('.index', (bytes) => bytes.subarray(0, bytes.length - 1));
    await withCopy((copy) => {
      expect(runOf(copy)).toBe(1300);
      copy.keep(B.begin, B.bytes);
    });
    await withCopy((copy) => expect(readFrom(copy, 1300, 500)).toEqual(B.bytes));
  });

  test('chunks behind the end of the packed bytes are not there', async () => {
    change('.packed', (bytes) => bytes.subarray(0, 1799));
    await withCopy((copy) => {
      expect(runOf(copy)).toBe(1300);
      expect(copy.after(1000, 1e9)).toBe(1e9);
    });
    opfs.files.delete([...opfs.files.keys()].find((name) => name.endsWith('.packed')) ?? '');
    await withCopy((copy) => expect(runOf(copy)).toBeUndefined());
  });

  test.each(Array.from({ length: 40 }, (_, i) => i))(
    'another byte %i of the header begins it anew',
    async (at) => {
      change('.index', (bytes) => void (bytes[at] = (bytes[at] ?? 0) ^ 0x80));
      await withCopy((copy) => {
        expect(copy.after(-1, 1e9)).toBe(1e9);
        expect(opfs.only('.packed').bytes).toHaveLength(0);
        expect(opfs.only('.index').bytes).toHaveLength(40);
        keepAll(copy);
      });
      await withCopy((copy) => expect(runOf(copy)).toBe(1800));
    },
  );

  test.each([0, 7, 39])('an index of %i bytes is begun anew', async (length) => {
    change('.index', (bytes) => bytes.subarray(0, length));
    await withCopy((copy) => expect(copy.after(-1, 1e9)).toBe(1e9));
    expect(opfs.only('.packed').bytes).toHaveLength(0);
  });

  test('an index with more records than any model has chunks is begun anew', async () => {
    change('.index', (bytes) => {
      const all = new Uint8Array(40 + 24 * ((1 << 20) + 1));
      all.set(bytes);
      return all;
    });
    await withCopy((copy) => expect(copy.after(-1, 1e9)).toBe(1e9));
    expect(opfs.only('.index').bytes).toHaveLength(40);
  });

  test('another layout begins it anew', async () => {
    await withCopy((copy) => expect(runOf(copy)).toBeUndefined(), LAYOUT + 1);
    await withCopy((copy) => expect(runOf(copy)).toBeUndefined());
  });

  test('so does another file of the same size', async () => {
    const { file } = await opened('complete');
    // As when a damaged block comes again from a server whose file has changed unnoticed.
    change('.gguf', (bytes) => void (bytes[5] = (bytes[5] ?? 0) ^ 1));
    expect(await file.read(0, [new Uint8Array(BLOCK)])).toBe(false);
    expect(await file.openCopy(LAYOUT), 'of a file that is not whole').toBeNull();
    writeBlock(file, 0, bytesOf(BLOCK, 77));
    const copy = await file.openCopy(LAYOUT);
    expect(copy?.after(-1, 1e9)).toBe(1e9);
    copy?.close();
    file.close();
    await settle();
  });
});

describe('keeping', () => {
  test.each<[string, number, number]>([
    ['none', 10, 0],
    ['before the file', -1, 10],
    ['behind its end', WHOLE.length - 9, 10],
    ['at half a byte', 0.5, 10],
    ['nowhere', NaN, 10],
  ])('bytes %s are not kept', async (_, begin, length) => {
    await withCopy((copy) => {
      copy.keep(begin, bytesOf(length));
      expect(copy.keeps).toBe(true);
    });
    expect(opfs.only('.index').bytes).toHaveLength(40);
    expect(opfs.only('.packed').bytes).toHaveLength(0);
  });

  test('ends when a writing fails; what is there can be read', async () => {
    await withCopy((copy) => {
      copy.keep(A.begin, A.bytes);
      opfs.failWrites = true;
      copy.keep(B.begin, B.bytes);
      opfs.failWrites = false;
      expect(copy.keeps).toBe(false);
      copy.keep(B.begin, B.bytes);
      expect(runOf(copy)).toBe(1300);
      expect(readFrom(copy, 1000, 300)).toEqual(A.bytes);
    });
    await withCopy((copy) => expect(copy.keeps).toBe(true));
  });

  test.each(Array.from({ length: 12 }, (_, i) => 60 * i + 1))(
    'a worker that is killed after %i bytes leaves what can be read',
    async (steps) => {
      const { file } = await opened('complete');
      const copy = (await file.openCopy(LAYOUT)) as PackedCopy;
      opfs.killAfter(steps);
      for (const { begin, bytes } of [A, B]) copy.keep(begin, bytes);
      opfs.restart();
      await withCopy((again) => {
        for (const { begin, bytes } of [A, B]) {
          const got = readFrom(again, begin, bytes.length);
          if (got !== null) expect(got).toEqual(bytes);
        }
        keepAll(again);
        expect(readFrom(again, 1000, 800)).toEqual(Uint8Array.of(...A.bytes, ...B.bytes));
      });
      file.close();
      copy.close();
      await settle();
    },
  );

  test('is for one worker at a time; another one goes without', async () => {
    await withCopy(async (copy) => {
      copy.keep(A.begin, A.bytes);
      await session((other) => expect(other).toBeNull());
      expect(readFrom(copy, 1000, 300)).toEqual(A.bytes);
    });
    await withCopy((copy) => expect(runOf(copy)).toBe(1300));
  });

  test('ends with close(), after which nothing is read', async () => {
    await withCopy((copy) => {
      copy.keep(A.begin, A.bytes);
      copy.close();
      copy.close();
      expect(copy.keeps).toBe(false);
      copy.keep(B.begin, B.bytes);
      expect(readFrom(copy, 1000, 300)).toBeNull();
    });
    await withCopy((copy) => expect(runOf(copy)).toBe(1300));
  });

  test('is over when the copy is discarded; the next session begins anew', async () => {
    await withCopy((copy) => {
      keepAll(copy);
      copy.discard();
      expect([copy.keeps, runOf(copy), copy.after(0, 1e9)]).toEqual([false, undefined, 1e9]);
      expect(readFrom(copy, 1000, 300)).toBeNull();
    });
    await withCopy((copy) => {
      expect(runOf(copy)).toBeUndefined();
      keepAll(copy);
      expect(readFrom(copy, 1000, 300)).toEqual(A.bytes);
    });
  });

  test('is not possible where files have no handles', async () => {
    const { file } = await opened('complete');
    opfs.noHandles = true;
    expect(await file.openCopy(LAYOUT)).toBeNull();
    file.close();
    await settle();
  });
});

/** Calls of `cache`. */
const { ask } = ((): Caller<LoaderCalls> => {
  const caller = new Caller<LoaderCalls>((message) => replies.handle(message));
  const replies = new Replies(loaderHandlers(), (message) => caller.receive(message));
  return caller;
})();

const named = (source: string) => ({ source, hub: 'https://hub.example' });

describe('room', () => {
  const OTHER = 'https://models.example/other.gguf';
  const folder = async (): Promise<Folder> => (await openFolder()) as Folder;

  test('is needed twice for a copy that begins; else nothing is left of it', async () => {
    const margin = 1 << 20;
    opfs.quota = opfs.usage + margin + 2 * WHOLE.length - 1;
    await session((copy) => expect(copy).toBeNull());
    expect(fileNames()).toEqual(['gguf', 'journal']);
    opfs.quota += 1;
    await withCopy(keepAll);
    expect(fileNames()).toEqual(['gguf', 'index', 'journal', 'packed']);
  });

  test('that has become less leaves the copy as it is, or takes one of another file away', async () => {
    await withCopy(keepAll);
    opfs.quota = opfs.usage;
    await withCopy((copy) => {
      expect(copy.keeps).toBe(false);
      expect(readFrom(copy, 1000, 300)).toEqual(A.bytes);
    });
    await session((copy) => expect(copy).toBeNull(), LAYOUT + 1);
    expect(fileNames()).toEqual(['gguf', 'journal']);
  });

  test('where the browser does not say how much there is, none is begun', async () => {
    const { storage } = navigator;
    vi.stubGlobal('navigator', {
      locks: opfs.locks,
      storage: { ...storage, estimate: () => Promise.reject(new Error('no')) },
    });
    await session((copy) => expect(copy).toBeNull());
    expect(fileNames()).toEqual(['gguf', 'journal']);
  });

  test('for a model is made of copies first, also those of pinned models', async () => {
    await fill(OTHER, WHOLE);
    await withCopy(keepAll);
    const bytes = opfs.only('.packed').bytes.length + opfs.only('.index').bytes.length;
    await ask('pin', { pinned: true, ...named(ADDRESS) });
    const room = await ask('room', { bytes: null });
    expect(room.evictable).toBe(WHOLE.length + bytes);
    opfs.quota = opfs.usage + (1 << 20);
    await makeRoom(await folder(), bytes, '');
    expect(fileNames()).toEqual(['gguf', 'gguf', 'journal', 'journal']);
    await makeRoom(await folder(), bytes + 1, '');
    expect(fileNames()).toEqual(['gguf', 'journal']);
    expect(await ask('has', named(ADDRESS))).toBe(true);
  });

  test('for a model is not made of a copy in use, and not if it is not enough', async () => {
    await withCopy(async (copy) => {
      keepAll(copy);
      opfs.quota = opfs.usage + (1 << 20);
      await expect(makeRoom(await folder(), 1, '')).rejects.toMatchObject({ code: 'storage_full' });
      expect(await removeOldest(await folder(), '')).toBe(false);
      expect(readFrom(copy, 1000, 300)).toEqual(A.bytes);
    });
    const all = WHOLE.length + 7000 + 112;
    await expect(makeRoom(await folder(), all + 1, '')).rejects.toMatchObject({
      code: 'storage_full',
    });
    expect(fileNames()).toEqual(['gguf', 'index', 'journal', 'packed']);
    expect(await removeOldest(await folder(), ADDRESS)).toBe(true);
    expect(fileNames()).toEqual(['gguf', 'journal']);
    expect(await removeOldest(await folder(), ADDRESS)).toBe(false);
  });
});

describe('with its model', () => {
  beforeEach(() => withCopy(keepAll));

  test('it is listed, and removed', async () => {
    const [model] = await ask('list', null);
    expect(model).toMatchObject({ stored: WHOLE.length, packed: 7000 + 112, complete: true });
    expect(await ask('delete', named(ADDRESS))).toBe(true);
    expect(opfs.files.size).toBe(0);
  });

  test('clear() tells its bytes, too', async () => {
    const journal = opfs.only('.journal').bytes.length;
    expect(await ask('clear', null)).toBe(WHOLE.length + 7000 + 112 + journal);
    expect(opfs.files.size).toBe(0);
  });

  test('it is not verified, and a damaged block does not touch it', async () => {
    change('.packed', (bytes) => void bytes.fill(9));
    expect(await ask('verify', named(ADDRESS))).toMatchObject({
      ok: true,
      damaged: [],
    });
    change('.gguf', (bytes) => void (bytes[5] = (bytes[5] ?? 0) ^ 1));
    expect(await ask('verify', named(ADDRESS))).toMatchObject({ damaged: [0] });
    expect(fileNames()).toEqual(['gguf', 'index', 'journal', 'packed']);
  });

  test('it goes when the file is dropped, or begun anew', async () => {
    const { file } = await opened('complete');
    await file.drop();
    expect(opfs.files.size).toBe(0);
    await fill(ADDRESS, WHOLE);
    await withCopy(keepAll);
    change('.gguf', (bytes) => void (bytes[5] = (bytes[5] ?? 0) ^ 1));
    const again = await opened('complete');
    expect(await again.file.read(0, [new Uint8Array(BLOCK)])).toBe(false);
    again.file.reset();
    await again.file.begin(facts(WHOLE.length));
    expect(fileNames()).toEqual(['gguf', 'journal']);
    again.file.close();
    await settle();
  });

  test('one without a model is cleared away', async () => {
    for (const name of [...opfs.files.keys()])
      if (/gguf|journal/.test(name)) opfs.files.delete(name);
    expect(await ask('list', null)).toEqual([]);
    expect(await ask('clear', null)).toBe(7000 + 112);
    expect(opfs.files.size).toBe(0);
  });
});
