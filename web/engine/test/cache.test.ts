// `cache`, its worker's answers, and the entries behind them: listing, deletion, room.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { askToPersist } from '../src/platform/abilities.js';
import { SluiceError, cache } from '../src/index.js';
import { findNamed, openEntry } from '../src/loader/store/entries.js';
import { lockState } from '../src/loader/store/state-files.js';
import { sha256Hex } from './store-setup.js';
import { FakeOpfs } from './fake-opfs.js';
import { useFakes, FakeWorker } from './fake-workers.js';
import {
  ALONE,
  bytesOf,
  facts,
  fill,
  opened,
  readBlock,
  settle,
  writeBlock,
} from './store-setup.js';

const BLOCK = 256 << 10;
const SIZE = 2 * BLOCK + 10;
const WHOLE = bytesOf(SIZE);
const at = (name: string): string => `https://models.example/dir/${name}.gguf`;

let opfs: FakeOpfs;
let now = 1_000_000;
beforeEach(() => {
  opfs = new FakeOpfs().install();
  useFakes();
  now = 1_000_000;
  vi.spyOn(Date, 'now').mockImplementation(() => (now += 10));
});
afterEach(async () => {
  vi.useRealTimers();
  await settle();
  for (const worker of FakeWorker.all)
    worker.emit('error', { message: 'the test is over', preventDefault: () => {} });
  await settle();
  expect(opfs.locks.held).toEqual([]);
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  expect(opfs.handles.size).toBe(0);
});

/** A model of three files. Those of `parts` are filled. */
async function fillSet(parts: number[]): Promise<string> {
  const address = (part: number): string => at(`big-0000${part}-of-00003`);
  for (const part of parts)
    await fill(address(part), WHOLE, { set: address(1), part, parts: 3, names: ['hub/big:Q4_0'] });
  return address(1);
}

async function names(): Promise<string[]> {
  return (await cache.list()).map(({ name }) => name);
}

async function codeOf(call: Promise<unknown>): Promise<string> {
  const error = await call.then(
    () => null,
    (error: unknown) => error,
  );
  return error instanceof SluiceError ? error.code : String(error);
}

describe('listing', () => {
  test('the most recently used model comes first', async () => {
    for (const name of ['a', 'b', 'c']) await fill(at(name), WHOLE);
    expect(await names()).toEqual(['c.gguf', 'b.gguf', 'a.gguf']);
    const { file } = await opened('complete', at('a'));
    await settle();
    expect(await names()).toEqual(['a.gguf', 'c.gguf', 'b.gguf']);
    expect((await cache.list()).map(({ inUse }) => inUse)).toEqual([true, false, false]);
    file.close();
  });

  test('what was never kept is not there', async () => {
    await fill(at('a'), WHOLE);
    expect(await cache.has(at('a'))).toBe(true);
    expect(await cache.has(at('b'))).toBe(false);
    expect(await cache.delete(at('b'))).toBe(false);
  });

  test('a model is described as it is', async () => {
    const { file } = await opened('writer', at('one two'.replace(' ', '%20')));
    await file.begin(facts(SIZE, { etag: '"x"', commit: 'c', sha256: 'ab'.repeat(32) }));
    writeBlock(file, 2, WHOLE);
    file.close();
    await settle();
    const created = expect.any(Number) as number;
    expect(await cache.list()).toEqual([
      {
        source: 'https://models.example/dir/one%20two.gguf',
        name: 'one two.gguf',
        bytes: SIZE,
        stored: 10,
        packed: 0,
        complete: false,
        verified: false,
        sha256: 'ab'.repeat(32),
        etag: '"x"',
        commit: 'c',
        pinned: false,
        created,
        used: created,
        inUse: false,
        parts: 1,
      },
    ]);
  });

  test('a split model is one, and complete with all of its files', async () => {
    const source = await fillSet([2, 1]);
    expect(await cache.list()).toMatchObject([
      {
        source,
        name: 'big-00001-of-00003.gguf',
        bytes: 0,
        stored: 2 * SIZE,
        complete: false,
        parts: 3,
      },
    ]);
    expect(await cache.has(source)).toBe(false);
    await fillSet([3]);
    expect(await cache.list()).toMatchObject([{ source, bytes: 3 * SIZE, complete: true }]);
    expect(await cache.has(source)).toBe(true);
    expect(await cache.has(at('absent'))).toBe(false);
    expect(await cache.find(source)).toEqual((await cache.list())[0]);
    expect(await cache.find(at('absent'))).toBeNull();
    expect(await findNamed('hub/big:Q4_0')).toBe(source);
    expect(await findNamed('hub/big:Q8_0')).toBeNull();
    expect(await cache.delete(source.replace('00001-of', '00002-of'))).toBe(true);
    expect(opfs.files.size).toBe(0);
  });

  test('is found by the short name that it was loaded with', async () => {
    const names = ['https://huggingface.co/o/r@main:Q4_0'];
    await fill(at('of-hub'), WHOLE.subarray(0, BLOCK), { names });
    await fill(at('other'), WHOLE.subarray(0, BLOCK));
    expect(await cache.find('hf:o/r:Q4_0')).toMatchObject({ source: at('of-hub') });
    expect(await cache.find('hf:o/r:Q8_0')).toBeNull();
  });

  test('of two entries with a name the one that was used last is meant', async () => {
    await fill(at('old'), WHOLE, { names: ['q'] });
    await fill(at('new'), WHOLE, { names: ['q'] });
    expect(await findNamed('q')).toBe(at('new'));
  });

  test('files that are no entries are neither listed nor touched; damaged ones are cleared', async () => {
    await fill(at('good'), WHOLE);
    const folder = opfs.folder() as FileSystemDirectoryHandle;
    await folder.getFileHandle('notes.txt', { create: true });
    await folder.getFileHandle(`${'0'.repeat(32)}.gguf`, { create: true });
    await folder.getFileHandle(`${'1'.repeat(32)}.journal`, { create: true });
    // A journal under another entry's name.
    const [name, journal] = [...opfs.files].find(([name]) => name.endsWith('.journal')) ?? [];
    opfs.files.set(`${'2'.repeat(32)}.journal`, journal as NonNullable<typeof journal>);
    expect(await names()).toEqual(['good.gguf']);
    await cache.pin(at('good'));
    await cache.clear();
    expect([...opfs.files.keys()].sort()).toEqual(
      ['notes.txt', name, name?.replace('journal', 'gguf')].sort(),
    );
  });
});

describe('an entry of a newer version', () => {
  let before: Map<string, string>;
  const contents = (): Map<string, string> =>
    new Map([...opfs.files].map(([name, { bytes }]) => [name, Buffer.from(bytes).toString('hex')]));

  beforeEach(async () => {
    await fill(at('newer'), WHOLE);
    opfs.only('.journal').bytes[8 + 8192] = 2;
    before = contents();
  });

  test('is not opened, and no byte of it changes', async () => {
    const entry = await openEntry(at('newer'), ALONE);
    expect(entry).toMatchObject({
      kind: 'none',
      reason: 'newer',
      why: expect.stringContaining('newer') as string,
    });
    expect(await cache.list()).toMatchObject([
      { complete: false, unreadable: expect.stringContaining('newer') as string },
    ]);
    expect(await cache.has(at('newer'))).toBe(false);
    expect(await cache.clear()).toBe(0);
    expect(await codeOf(cache.pin(at('newer')))).toBe('invalid_argument');
    expect(await codeOf(cache.verify(at('newer')))).toBe('invalid_argument');
    expect(await codeOf(cache.export(at('newer')))).toBe('invalid_argument');
    expect(await codeOf(cache.room(opfs.quota - 1000))).toBe('storage_full');
    expect(contents()).toEqual(before);
  });

  test.each(['by its address', 'by what list() says'])(
    'is deleted by the user, %s',
    async (how) => {
      const [listed] = await cache.list();
      const source = how === 'by its address' ? at('newer') : (listed?.source as string);
      expect(await cache.delete(source)).toBe(true);
      expect(opfs.files.size).toBe(0);
    },
  );
});

describe('deletion', () => {
  test('what is in use is busy', async () => {
    await fill(at('a'), WHOLE);
    const { file } = await opened('complete', at('a'));
    await settle();
    expect(await codeOf(cache.delete(at('a')))).toBe('busy');
    expect(await cache.clear()).toBe(0);
    file.close();
    await settle();
    expect(await cache.delete(at('a'))).toBe(true);
    expect(await cache.delete(at('a'))).toBe(false);
  });

  test('clear() leaves what is pinned, and returns what it freed', async () => {
    for (const name of ['a', 'b']) await fill(at(name), WHOLE);
    await cache.pin(at('a'));
    const used = opfs.usage;
    const freed = await cache.clear();
    expect(freed).toBe(used - opfs.usage);
    expect(freed).toBeGreaterThan(SIZE);
    expect(await cache.list()).toMatchObject([{ name: 'a.gguf', pinned: true }]);
    await cache.pin(at('a'), false);
    await cache.clear();
    expect(opfs.files.size).toBe(0);
  });

  test('a model that another tab downloads is busy for pin, verify and delete', async () => {
    const { file } = await opened('writer', at('a'));
    await file.begin(facts(SIZE));
    vi.mocked(Date.now).mockRestore();
    const calls = [cache.pin(at('a')), cache.verify(at('a')), cache.delete(at('a'))];
    expect(await Promise.all(calls.map(codeOf))).toEqual(['busy', 'busy', 'busy']);
    file.close();
  });
});

describe('room', () => {
  async function begin(name: string, total: number): Promise<void> {
    const { file } = await opened('writer', at(name));
    try {
      await file.begin(facts(total));
    } finally {
      file.close();
      await settle();
    }
  }

  test('the least recently used go, as many as are needed; not pinned, not in use', async () => {
    for (const name of ['pinned', 'used', 'old', 'mid', 'new']) await fill(at(name), WHOLE);
    await cache.pin(at('pinned'));
    const { file } = await opened('complete', at('used'));
    await settle();
    // `used` is now the last used one; the order of the others is that of their making.
    opfs.quota = opfs.usage + (1 << 20) + 1000;
    await begin('fresh', SIZE);
    expect((await names()).sort()).toEqual(
      ['fresh.gguf', 'mid.gguf', 'new.gguf', 'pinned.gguf', 'used.gguf'].sort(),
    );
    opfs.quota = opfs.usage + (1 << 20) + 1000;
    await begin('more', 2 * SIZE);
    expect((await names()).sort()).toEqual(
      ['fresh', 'more', 'pinned', 'used'].map((n) => `${n}.gguf`),
    );
    file.close();
  });

  test('too little room is storage_full with figures, and nothing is removed', async () => {
    for (const name of ['a', 'b']) await fill(at(name), WHOLE);
    opfs.quota = opfs.usage + (3 << 20);
    const error = await begin('huge', 4_700_000_000).catch((error: unknown) => error);
    expect(error).toMatchObject({ code: 'storage_full' });
    expect(String(error)).toMatch(
      /needs 4.7 GB more, and 3.15 MB are free of the [\d.]+ MB that the browser grants this site; remove/,
    );
    expect((await names()).sort()).toEqual(['a.gguf', 'b.gguf']);
    expect(opfs.files.size).toBe(4);
  });

  test('room that the browser grants but the disk lacks is storage_full as well', async () => {
    opfs.diskLeft = 100_000;
    expect(await codeOf(begin('a', SIZE))).toBe('storage_full');
    expect(await cache.list()).toEqual([]);
    expect(opfs.files.size).toBe(0);
  });

  test('where the browser grants less than it says, the least recently used go until there is room', async () => {
    for (const name of ['a', 'b', 'c']) await fill(at(name), WHOLE);
    await cache.pin(at('a'));
    opfs.diskLeft = SIZE - 1;
    await begin('more', SIZE);
    expect(await names()).toEqual(expect.arrayContaining(['a.gguf', 'c.gguf', 'more.gguf']));
    expect(await cache.has(at('b'))).toBe(false);
  });

  test('what is there of a file counts', async () => {
    await begin('a', SIZE);
    opfs.quota = opfs.usage + 5;
    await begin('a', SIZE);
    expect(await names()).toEqual(['a.gguf']);
  });

  test('the files of one model are not removed for its others, and a set goes as a whole', async () => {
    const set = await fillSet([1, 2]);
    await fill(at('other'), WHOLE);
    opfs.quota = opfs.usage + (1 << 20) + 1000;
    const third = at('big-00003-of-00003');
    const { file } = await opened('writer', third, { set, part: 3, parts: 3 });
    await file.begin(facts(SIZE));
    file.close();
    await settle();
    expect(await names()).toEqual(['big-00001-of-00003.gguf']);
    opfs.quota = opfs.usage + (1 << 20) + 1000;
    await begin('last', SIZE);
    expect(await names()).toEqual(['last.gguf']);
  });

  test('room() tells the figures, and makes room if it is asked to', async () => {
    for (const name of ['a', 'b', 'c']) await fill(at(name), WHOLE);
    await cache.pin(at('c'));
    opfs.quota = opfs.usage + (1 << 20);
    const { usage, quota } = opfs;
    expect(await cache.room()).toEqual({ usage, quota, persisted: false, evictable: 2 * SIZE });
    expect(await cache.room(0)).toMatchObject({ evictable: 2 * SIZE });
    expect(await cache.room(100)).toMatchObject({ evictable: SIZE });
    expect(await names()).toEqual(['c.gguf', 'b.gguf']);
    expect(await codeOf(cache.room(1e9))).toBe('storage_full');
    for (const bytes of [-1, 0.5, NaN, '5' as unknown as number])
      expect(await codeOf(cache.room(bytes))).toBe('invalid_argument');
  });

  test('states of conversations go before models, but none that is in use', async () => {
    await fill(at('a'), WHOLE);
    const [used, old, young] = ['0', '1', '2'].map((digit) => digit.repeat(32));
    for (const key of [used, old, young]) opfs.put(`${key}.state`, new Uint8Array(5000));
    const states = (): (string | undefined)[] =>
      [used, old, young].filter((key) => opfs.files.has(`${key}.state`));
    const lock = await lockState(used as string, 1000);
    opfs.quota = opfs.usage + (1 << 20);
    expect(await cache.room()).toMatchObject({ evictable: SIZE + 10_000 });
    await cache.room(100);
    expect(states()).toHaveLength(2);
    expect(await cache.room(10_000)).toMatchObject({ evictable: SIZE });
    expect(states()).toEqual([used]);
    expect(await names()).toEqual(['a.gguf']);
    await cache.room(10_001);
    expect(states()).toEqual([used]);
    expect(await names()).toEqual([]);
    await lock?.release();
  });

  test('a browser that does not tell its quota is believed', async () => {
    vi.spyOn(navigator.storage, 'estimate').mockRejectedValue(new TypeError('no'));
    await begin('a', SIZE);
    expect(await cache.room()).toMatchObject({ usage: 0, quota: 0 });
  });
});

describe('verify', () => {
  test('tells the sha256, and marks what fits the known one', async () => {
    const { file } = await opened('writer', at('a'));
    await file.begin(facts(SIZE, { sha256: sha256Hex(WHOLE) }));
    for (let i = 0; i < 3; ++i) writeBlock(file, i, WHOLE);
    file.close();
    await settle();
    const progress: number[][] = [];
    const onProgress = (...figures: number[]): void => void progress.push(figures);
    expect(await cache.verify(at('a'), { onProgress })).toEqual({
      ok: true,
      bytes: SIZE,
      damaged: [],
      sha256: sha256Hex(WHOLE),
    });
    expect(progress).toEqual([
      [BLOCK, SIZE],
      [2 * BLOCK, SIZE],
      [SIZE, SIZE],
    ]);
    expect(await cache.list()).toMatchObject([{ verified: true }]);
  });

  test('names damaged blocks and takes them out', async () => {
    await fill(at('a'), WHOLE);
    opfs.only('.gguf').bytes[BLOCK + 1]! ^= 1;
    expect(await cache.verify(at('a'))).toEqual({
      ok: false,
      bytes: SIZE,
      damaged: [1],
      sha256: '',
    });
    expect(await cache.has(at('a'))).toBe(false);
    const { file } = await opened('writer', at('a'));
    expect([file.has(0), file.has(1), file.has(2)]).toEqual([true, false, true]);
    file.close();
  });

  test('a sha256 that is wrong for whole blocks is not ok', async () => {
    const { file } = await opened('writer', at('a'));
    await file.begin(facts(SIZE, { sha256: 'ab'.repeat(32) }));
    for (let i = 0; i < 3; ++i) writeBlock(file, i, WHOLE);
    file.close();
    await settle();
    expect(await cache.verify(at('a'))).toMatchObject({
      ok: false,
      damaged: [],
      sha256: sha256Hex(WHOLE),
    });
    expect(await cache.list()).toMatchObject([{ verified: false }]);
  });

  test('numbers the blocks of a split model one after the other', async () => {
    const set = await fillSet([3, 1, 2]);
    const second = [...opfs.files].filter(([name]) => name.endsWith('.gguf'))[2]?.[1];
    if (second) second.bytes[0]! ^= 1;
    expect(await cache.verify(set)).toEqual({
      ok: false,
      bytes: 3 * SIZE,
      damaged: [3],
      sha256: '',
    });
  });

  test('leaves nothing at its signal, and a caller whose function fails gets the answer', async () => {
    await fill(at('a'), WHOLE);
    const { signal } = new AbortController();
    const added = vi.spyOn(signal, 'addEventListener');
    const removed = vi.spyOn(signal, 'removeEventListener');
    const mine = new Error('mine');
    const uncaught: unknown[] = [];
    vi.stubGlobal('queueMicrotask', (work: () => void) => {
      try {
        work();
      } catch (error) {
        uncaught.push(error);
      }
    });
    const onProgress = (): void => {
      throw mine;
    };
    expect(await cache.verify(at('a'), { signal, onProgress })).toMatchObject({ ok: true });
    expect(uncaught).toEqual([mine, mine, mine]);
    expect(added).toHaveBeenCalledTimes(1);
    expect(removed).toHaveBeenCalledTimes(1);
  });

  test('ends at once when its signal fires', async () => {
    await fill(at('a'), WHOLE);
    const controller = new AbortController();
    const { signal } = controller;
    const call = cache.verify(at('a'), { signal, onProgress: () => controller.abort() });
    expect(await codeOf(call)).toBe('aborted');
    expect(FakeWorker.all.at(-1)?.terminated).toBe(true);
    expect(await codeOf(cache.verify(at('a'), { signal }))).toBe('aborted');
    // Here the worker's work goes on; it closes what it opened.
    await vi.waitFor(() => expect(opfs.locks.held).toEqual([]));
  });
});

describe('export', () => {
  test('hands out a whole file, and of a split model the files alone', async () => {
    await fill(at('a'), WHOLE);
    const blob = (await cache.export(new URL(at('a')))) as unknown as { size: number };
    expect(blob.size).toBe(SIZE);
    const set = await fillSet([1, 2]);
    const message = await cache.export(set).catch((error: unknown) => String(error));
    const [, key] = /(sluice-cache:[0-9a-f]{32})/.exec(String(message)) ?? [];
    expect(message).toContain('big-00002-of-00003.gguf');
    for (const source of [key as string, set.replace('00001-of', '00002-of')])
      expect((await cache.export(source)).size).toBe(SIZE);
    const { file } = await opened('writer', at('part'));
    await file.begin(facts(SIZE));
    file.close();
    await settle();
    expect(await codeOf(cache.export(at('part')))).toBe('invalid_argument');
    expect(await codeOf(cache.export(at('none')))).toBe('not_found');
  });
});

describe('without a cache', () => {
  test.each([
    [
      'no private file system',
      'unsupported',
      () => void delete (navigator.storage as { getDirectory?: unknown }).getDirectory,
    ],
    ['no Web Locks', 'unsupported', () => void delete (navigator as { locks?: unknown }).locks],
    ['secure context', 'insecure', () => vi.stubGlobal('isSecureContext', false)],
    [
      'private window',
      'refused',
      () =>
        vi
          .spyOn(navigator.storage, 'getDirectory')
          .mockRejectedValue(new DOMException('no', 'SecurityError')),
    ],
  ])('%s: it says so, and the calls have nothing', async (why, reason, remove) => {
    remove();
    expect(await openEntry(at('a'), ALONE)).toEqual({
      kind: 'none',
      why: expect.stringContaining(why) as string,
      reason,
    });
    expect(await findNamed('a')).toBeNull();
    expect(await cache.list()).toEqual([]);
    expect(await cache.has(at('a'))).toBe(false);
    expect(await cache.delete(at('a'))).toBe(false);
    expect(await cache.clear()).toBe(0);
    expect(await cache.room()).toMatchObject({ evictable: 0 });
    for (const call of [cache.verify(at('a')), cache.export(at('a')), cache.pin(at('a'))])
      expect(await codeOf(call)).toBe('not_found');
  });
});

describe('the calls', () => {
  test('bad arguments are told at once', async () => {
    for (const source of [5, null, new Blob(), '', 'https://', 'ftp://a/b'] as unknown as string[])
      expect(await codeOf(cache.has(source))).toBe('invalid_argument');
    expect(await codeOf(cache.has(at('a'), { hubUrl: 5 as unknown as string }))).toBe(
      'invalid_argument',
    );
    expect(await codeOf(cache.has(at('a'), { signal: 5 } as object))).toBe('invalid_argument');
    for (const pinned of ['no', 0, null, () => true] as unknown as boolean[])
      expect(await codeOf(cache.pin(at('a'), pinned))).toBe('invalid_argument');
    expect(await codeOf(cache.verify(at('a'), { signal: 5 as unknown as AbortSignal }))).toBe(
      'invalid_argument',
    );
    expect(FakeWorker.all).toEqual([]);
  });

  test('one worker answers calls at the same time, and ends when it is idle', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await Promise.all([cache.list(), cache.has(at('a')), cache.room()]);
    await cache.list();
    expect(FakeWorker.all).toHaveLength(1);
    expect(FakeWorker.all[0]?.terminated).toBe(false);
    await vi.advanceTimersByTimeAsync(3000);
    expect(FakeWorker.all[0]?.terminated).toBe(true);
    await cache.list();
    expect(FakeWorker.all).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(3000);
  });

  test('a worker that dies fails its calls, and the next call has a new one', async () => {
    await cache.list();
    const call = cache.has(at('a'));
    call.catch(() => {});
    FakeWorker.all[0]?.emit('error', { message: 'boom', preventDefault: () => {} });
    await expect(call).rejects.toMatchObject({ code: 'worker_died' });
    expect(await cache.list()).toEqual([]);
  });

  test('askToPersist asks once it is needed, and never throws', async () => {
    expect(await askToPersist()).toBe(false);
    const persist = vi.fn().mockResolvedValue(true);
    Object.assign(navigator.storage, { persist });
    expect(await askToPersist()).toBe(true);
    vi.spyOn(navigator.storage, 'persisted').mockResolvedValue(true);
    expect(await askToPersist()).toBe(true);
    expect(persist).toHaveBeenCalledTimes(1);
  });
});

test('a reader closes its handle and locks at once', async () => {
  await fill(at('a'), WHOLE);
  const { file } = await opened('complete', at('a'));
  expect(await readBlock(file, 0)).not.toBeNull();
  file.close();
  expect(opfs.handles.size).toBe(0);
  await settle();
  expect(opfs.locks.held).toEqual([]);
});
