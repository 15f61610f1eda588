// Models larger than their memory budget, whose weights are read again for every pass: the same logits as with all weights
// resident, the right text or the right error when reads go wrong, and nothing left behind by loads that are aborted.
import type { Page } from '@playwright/test';
import type * as Library from '@sluice/engine';
import { Random } from './hub/random.mjs';
import type { LibraryWindow } from './library';
import { harness } from './library';
import {
  BUNDLED,
  IDS,
  KERNEL_MODELS,
  NO_NATIVE,
  makeBigModel,
  modelFiles,
  nativeBuilt,
  programHash,
} from './models';
import { expect, test, type Tab } from './profile';
import { Renderer, openHandles } from './renderer';
import { ALL } from './tags';

test.skip(!nativeBuilt, NO_NATIVE);

interface Faults {
  kind: 'late' | 'short' | 'failing';
  seed: number;
  spare: number;
  most: number;
}

type StreamedWindow = LibraryWindow & { faults: Faults | null };
declare const window: StreamedWindow;

/** How a model is loaded and asked for logits. */
interface Asked {
  /** Of the model. */
  url: string;
  /** 'file': the bytes are put into a File first. 'cache': at its address. */
  source: 'file' | 'cache';
  /** How many bytes the budget has beyond the least one. */
  spare: number;
  /** The least budget, if it is known; null: it is asked for. */
  least: number | null;
  options: Library.MemoryOptions & { flavour?: Library.Flavour };
  ids: number[];
  /** Tokens at once; 0: all. */
  batches: number[];
  faults: Faults | null;
  /** Whether it goes on until all of the model is kept. */
  kept: boolean;
}

interface Answer {
  hashes: string[];
  /** '' if it went well. */
  code: string;
  message: string;
  least: number;
  /** All that the model would take. */
  all: number;
  /** Read again after the first pass. */
  rereadBytes: number;
}

/** Runs in the page: the hashes of the logits after the ids, under the least budget that will do. */
async function underBudget(asked: Asked): Promise<Answer> {
  const { url, source, spare, options, ids, batches, faults } = asked;
  const { Engine } = window.library;
  const answer: Answer = {
    hashes: [],
    code: '',
    message: '',
    least: 0,
    all: 0,
    rereadBytes: 0,
  };
  const from = source === 'cache' ? url : new File([await (await fetch(url)).blob()], 'model.gguf');
  answer.least = asked.least ?? 0;
  if (asked.least === null) {
    const { memory } = await Engine.probe(from, options);
    if (memory === null) throw new Error('the header says nothing of the memory');
    answer.least = memory.least;
    answer.all = memory.all;
  }
  const memoryBudget = answer.least + spare;
  window.faults = faults;
  try {
    const engine = await Engine.load(from, { ...options, memoryBudget });
    try {
      for (const batch of batches) {
        // Of a model that writes no text: its vector, as programHash() has it.
        const writes = engine.info.makes.includes('text');
        const [vector] = writes ? [] : await engine.embed([[...ids]], { normalize: false });
        answer.hashes.push(vector?.embedding.join() ?? (await engine.logits(ids, { batch })).hash);
        answer.rereadBytes += engine.stats.rereadBytes;
      }
      while (asked.kept && !(await window.library.cache.has(url)))
        await new Promise((later) => setTimeout(later, 20));
    } finally {
      await engine.close();
    }
  } catch (e) {
    const { code = 'no code', message } = e as Library.SluiceError;
    answer.code = code;
    answer.message = message;
  } finally {
    window.faults = null;
  }
  return answer;
}

/** Runs in the page before its scripts: from now on `window.faults` are those of a loader that is made. */
function replaceLoader(): void {
  const { Worker } = window;
  window.faults = null;
  window.Worker = class extends Worker {
    constructor(url: string | URL, options?: WorkerOptions) {
      const { faults } = window;
      const asked = new URLSearchParams(Object.entries(faults ?? {}).map(([k, v]) => [k, `${v}`]));
      const faulty = faults !== null && options?.name === 'sluice-loader';
      super(faulty ? `/harness/faulty-loader.js?${asked}` : url, options);
    }
  };
}

const USUAL = { options: {}, spare: 0, least: null, faults: null, kept: false };
const ask = (page: Page, asked: Partial<Asked> & Pick<Asked, 'url' | 'source'>): Promise<Answer> =>
  page.evaluate(underBudget, { ...USUAL, ids: [...IDS], batches: [0], ...asked });

test('small models compute the same under the least budget that will do', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const all = [...modelFiles().keys()].filter((name) => name !== 'stories.gguf').sort();
  expect(all.length).toBeGreaterThan(50);
  // The tests of the wasm modules under Node take all of them; so does SLUICE_ALL_TABS=1.
  const names = all.filter((_, i) => ALL || i % 3 === 0);
  const streamed: string[] = [];
  for (const [i, name] of names.entries()) {
    const url = models.good(name);
    // Every other with one thread alone, which reads between slices of work.
    const options = i % 2 === 0 ? { flavour: 'relaxed' as const } : {};
    const {
      hashes,
      message,
      least,
      all: most,
      rereadBytes,
    } = await ask(page, {
      url,
      source: 'file',
      options,
      // Also a few positions one after another, as in decoding.
      batches: [0, 16],
    });
    expect(message, name).toBe('');
    const right = programHash(name);
    expect(hashes, name).toEqual([right, right]);
    expect(least, name).toBeLessThanOrEqual(most);
    if (rereadBytes > 0) streamed.push(name);
  }
  // Of a model with a layer or two there may be nothing that has to be read again.
  expect(streamed.length, 'models that were read again').toBeGreaterThan(names.length / 2);
});

test('a text that nobody reads rests, and another session goes on', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const found = await page.evaluate(async (url) => {
    const { Engine } = window.library;
    const file = new File([await (await fetch(url)).blob()], 'model.gguf');
    const shape = { contextSize: 512, sessions: 2, flavour: 'relaxed' } as const;
    const memoryBudget = (await Engine.probe(file, shape)).memory?.least ?? 0;
    const engine = await Engine.load(file, { ...shape, memoryBudget });
    const options = { temperature: 0, ignoreEos: true, maxTokens: 360 };
    const [first, second] = [engine.session(), engine.session()];
    const alone = await second.complete('Once', options);
    await second.truncate(0);
    const tokens = first.generate('Once', options)[Symbol.asyncIterator]();
    let text = '';
    for (let next = await tokens.next(); next.done !== true; next = await tokens.next()) {
      text += next.value.text;
      if (text !== next.value.text) continue;
      // After the first one its reader waits; its queue holds 256 tokens.
      while (first.stats.tokens < 257) await new Promise((resolve) => setTimeout(resolve, 5));
      const other = await second.complete('Once', options);
      Object.assign(alone, { other: other.text, unread: first.stats.tokens });
    }
    const rereadBytes = second.stats.rereadBytes;
    await engine.close();
    return {
      ...(alone as typeof alone & { other: string; unread: number }),
      again: text,
      rereadBytes,
    };
  }, models.good('stories.gguf'));
  expect(found.rereadBytes).toBeGreaterThan(0);
  expect(found.other).toBe(found.text);
  expect(found.unread).toBeLessThan(330);
  expect(found.again).toBe(found.text);
});

test('one byte less than the least budget is refused, with the number of bytes that would do', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  for (const name of KERNEL_MODELS) {
    const url = models.good(name);
    const { code, message, least } = await ask(page, { url, source: 'file', spare: -1 });
    expect(code, message).toBe('budget_too_small');
    expect(least).toBeGreaterThan(0);
  }
});

test('a model that is kept is read again from the cache, also while it is downloaded', async ({
  profile,
  serving,
  sites,
}) => {
  const { page } = await profile.open(sites.isolated);
  for (const [name, path] of [
    ['stories.gguf', BUNDLED],
    ['big.gguf', makeBigModel().path],
  ] as const) {
    const served = serving.hub.add(name, path);
    const options = { contextSize: 64 };
    const resident = await ask(page, {
      url: served.url,
      source: 'file',
      options,
      spare: 1e9,
    });
    const { least } = resident;
    const seen = served.counts.bytes;
    for (const load of ['first', 'second']) {
      const about = { url: served.url, source: 'cache', options, least } as const;
      const answer = await ask(page, { ...about, batches: [0, 8], kept: true });
      expect(answer.message, `${name}, ${load}`).toBe('');
      expect(new Set(answer.hashes), `${name}, ${load}`).toEqual(new Set(resident.hashes));
      expect(answer.rereadBytes, `${name}, ${load}`).toBeGreaterThan(0);
      if (load === 'second') continue;
      // Rows of the embedding may come twice, as they are needed first.
      const most = 1.05 * served.size + 300_000;
      expect(served.counts.bytes - seen, `${name}, bytes sent`).toBeLessThan(most);
    }
    const total = served.counts.bytes;
    await ask(page, { url: served.url, source: 'cache', options, least });
    expect(served.counts.bytes, 'bytes sent for a model that is kept').toBe(total);
  }
});

/** Runs in the page: the records of the only packed copy, begin and end of a chunk each, in the order in which they were written. */
async function packedChunks(): Promise<[number, number][]> {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle('sluice');
  for await (const [name, handle] of folder.entries()) {
    if (!name.endsWith('.index')) continue;
    const file = await (handle as FileSystemFileHandle).getFile();
    const view = new DataView(await file.arrayBuffer());
    return Array.from({ length: (view.byteLength - 40) / 24 }, (_, i) => [
      Number(view.getBigUint64(40 + 24 * i, true)),
      Number(view.getBigUint64(48 + 24 * i, true)),
    ]);
  }
  return [];
}

/** Runs in the page: the bytes of the packed copy at these places. */
async function packedBytes(offsets: number[]): Promise<(number | undefined)[]> {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle('sluice');
  for await (const [name, handle] of folder.entries()) {
    if (!name.endsWith('.packed')) continue;
    const bytes = new Uint8Array(
      await (await (handle as FileSystemFileHandle).getFile()).arrayBuffer(),
    );
    return offsets.map((at) => bytes[at]);
  }
  return [];
}

/** Runs in the page: changes the bytes at these offsets of the only packed copy. */
async function damagePacked(offsets: number[]): Promise<void> {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle('sluice');
  for await (const [name, handle] of folder.entries()) {
    if (!name.endsWith('.packed')) continue;
    const file = handle as FileSystemFileHandle;
    const bytes = new Uint8Array(await (await file.getFile()).arrayBuffer());
    const writable = await file.createWritable({ keepExistingData: true });
    for (const position of offsets) {
      const data = Uint8Array.of((bytes[position] ?? 0) ^ 1);
      await writable.write({ type: 'write', position, data });
    }
    await writable.close();
  }
}

test('weights that are read again are kept packed, and come from there the next time', async ({
  profile,
  serving,
  sites,
}) => {
  const { page } = await profile.open(sites.isolated);
  // The profile may hold models of other tests, with copies of their own.
  await expect(async () => {
    const left = await page.evaluate(async () => {
      await window.library.cache.clear();
      return (await window.library.cache.list()).length;
    });
    expect(left).toBe(0);
  }).toPass({ timeout: 60_000 });
  const { url } = serving.hub.add('stories.gguf', BUNDLED);
  const options = { contextSize: 64 };
  const resident = await ask(page, { url, source: 'file', options, spare: 1e9 });
  const right = new Set(resident.hashes);
  const load = async (): Promise<void> => {
    // The load before has let the copy go.
    const isHeld = (): Promise<boolean> =>
      page.evaluate(async () => {
        const { held } = await navigator.locks.query();
        return held?.some(({ name }) => name?.startsWith('sluice-pack:')) === true;
      });
    await expect.poll(isHeld).toBe(false);
    const about = { url, source: 'cache', options, least: resident.least } as const;
    const answer = await ask(page, { ...about, batches: [0, 8, 8], kept: true });
    expect(answer.message).toBe('');
    expect(new Set(answer.hashes)).toEqual(right);
  };
  // The copy is opened beside the first passes: a load may end before all of it went by.
  let chunks: [number, number][] = [];
  await expect(async () => {
    const before = chunks;
    await load();
    chunks = await page.evaluate(packedChunks);
    expect(chunks.length).toBeGreaterThan(0);
    // All of them were there: nothing is packed anew.
    expect(chunks).toEqual(before);
  }).toPass({ timeout: 60_000 });
  const [model] = await page.evaluate(() => window.library.cache.list());
  expect(model?.packed).toBeGreaterThanOrEqual(Math.max(...chunks.map(([, end]) => end)));

  // A chunk that has changed is found by its hash, comes from the file, and is kept again. So the copy is read.
  const changed = chunks.filter((_, i) => i % 3 === 0).map(([begin]) => begin);
  const whole = await page.evaluate(packedBytes, changed);
  // In a page that is closed then: Chromium may keep the lock of a writable for a while, and with it the copy can't be opened.
  const other = await profile.open(sites.isolated);
  await other.page.evaluate(damagePacked, changed);
  await other.page.close();
  expect(await page.evaluate(packedBytes, changed)).not.toEqual(whole);
  await expect(async () => {
    await load();
    expect(await page.evaluate(packedBytes, changed)).toEqual(whole);
  }).toPass({ timeout: 60_000 });
});

const SEEDS = ALL ? 20 : 2;
/** What a load may say whose reads fail or are short. */
const SAID = ['bad_file', 'download_failed', 'download_corrupt'];

for (const source of ['file', 'cache'] as const) {
  test(`reads that are late, short or fail give the right logits or an error: ${source}`, async ({
    profile,
    serving,
    sites,
  }) => {
    const { page } = await profile.open(sites.isolated);
    await page.addInitScript(replaceLoader);
    await harness(page, sites.isolated);
    const served = serving.hub.add('model.gguf', BUNDLED);
    const { url } = served;
    const right = programHash('stories.gguf');
    const first = await ask(page, { url, source });
    expect(first).toMatchObject({ hashes: [right], message: '' });
    const ends = { right: 0, error: 0 };
    for (const kind of ['late', 'short', 'failing'] as const) {
      for (let seed = 1; seed <= SEEDS; ++seed) {
        // Each block that can't be read is fetched again after a while.
        const faults = { kind, seed, spare: 3 * seed, most: kind === 'late' ? 1000 : 2 };
        const { hashes, code, message } = await ask(page, { url, source, batches: [0, 8], faults });
        const what = `${kind}, seed ${seed}: ${code} ${message}`;
        for (const hash of hashes) expect(hash, what).toBe(right);
        if (kind === 'late') expect(code, what).toBe('');
        else if (code !== '') expect(SAID, what).toContain(code);
        ++ends[code === '' ? 'right' : 'error'];
      }
      // What went wrong stays behind with its load.
      expect(await ask(page, { url, source })).toMatchObject({ hashes: [right], message: '' });
    }
    // The faults do reach the reads.
    expect(ends.right).toBeGreaterThanOrEqual(SEEDS);
    if (source === 'file') expect(ends.error).toBeGreaterThan(0);
  });
}

/** Where a load is ended: so many ms after its beginning, or behind so many tokens of its text. */
interface Moment {
  ms: number;
  tokens: number;
  how: 'abort' | 'close' | 'return';
}

/** Runs in the page: loads under a budget, writes, and ends all of it at a moment. */
async function endAt({
  url,
  memoryBudget,
  contextSize,
  moment: { ms, tokens, how },
}: {
  url: string;
  memoryBudget: number;
  contextSize: number;
  moment: Moment;
}): Promise<string> {
  const controller = new AbortController();
  const { signal } = controller;
  let engine: Library.Engine | null = null;
  let text: AsyncIterableIterator<Library.Token, undefined> | null = null;
  const end = (): void => {
    if (how === 'close' && engine !== null) void engine.close();
    else if (how === 'return' && text !== null) void text.return?.();
    else controller.abort();
  };
  const timer = setTimeout(end, ms);
  try {
    engine = await window.library.Engine.load(url, { memoryBudget, contextSize, signal });
    text = engine.generate('Once upon a time', { ignoreEos: true, signal });
    let count = 0;
    for await (const token of text) if (token.id >= 0 && ++count === tokens) end();
    return `ended as ${engine.stats.finish ?? 'null'}`;
  } catch (e) {
    return (e as Library.SluiceError).code;
  } finally {
    clearTimeout(timer);
    await engine?.close();
  }
}

test('20 loads that are aborted at random moments while weights are read again leave nothing behind', async ({
  profile,
  serving,
  sites,
}) => {
  const served = serving.hub.add('model.gguf', BUNDLED);
  const tab: Tab = await profile.open(sites.isolated);
  const browser = profile.context.browser();
  if (browser === null) throw new Error('the browser is gone');
  const renderer = await Renderer.of(tab.page);
  const contextSize = 1024;
  const options = { contextSize };
  const about = { url: served.url, source: 'cache', options } as const;
  const whole = await ask(tab.page, { ...about, batches: [0, 8], kept: true });
  expect(whole.message).toBe('');
  expect(whole.rereadBytes).toBeGreaterThan(0);
  const random = new Random(14);
  const seen: { memory: number; heap: number; handles: number }[] = [];
  const ends = new Set<string>();
  for (let i = 0; i < 20; ++i) {
    const how = random.pick(['abort', 'close', 'return'] as const);
    // Half of them end while the first weights come, half while they are read again.
    const [ms, tokens] = i % 2 === 0 ? [random.whole(0, 80), 0] : [60_000, random.whole(1, 60)];
    const memoryBudget = whole.least;
    const moment = { ms, tokens, how };
    const load = { url: served.url, memoryBudget, contextSize, moment };
    ends.add(await tab.page.evaluate(endAt, load));
    await expect.poll(() => tab.locks()).toEqual([]);
    await expect.poll(() => renderer.workers()).toBe(0);
    const heap = await renderer.heapBytes();
    const memory = await renderer.privateBytes();
    seen.push({ memory, heap, handles: await openHandles(browser) });
  }
  console.log(`ends: ${[...ends].join(', ')}`);
  console.log(
    seen
      .map(({ memory, heap, handles }) => `${memory >> 10} KB ${heap >> 10} KB ${handles}`)
      .join(', '),
  );
  for (const end of ends) expect(end).toMatch(/^(aborted|ended as (aborted|context|null))$/);
  const again = await ask(tab.page, { ...about, batches: [0, 8] });
  expect(again).toMatchObject({ hashes: whole.hashes, message: '' });
  const least = (part: typeof seen, name: keyof (typeof seen)[0]): number =>
    Math.min(...part.map((one) => one[name]));
  // The first loads fill the browser's caches.
  const [early, late] = [seen.slice(5, 10), seen.slice(15)];
  expect(least(late, 'handles') - least(early, 'handles')).toBeLessThan(20);
  expect(least(late, 'heap') - least(early, 'heap')).toBeLessThan(1e6);
  expect(least(late, 'memory') - least(early, 'memory')).toBeLessThan(10e6);
});
