// A model with a table of which only single rows are read (Gemma 4's per-layer embeddings), nearly all of its file: where its
// bytes come from, what is in memory of it, and what happens when they come no more.
import type * as Library from '@sluice/engine';
import fs from 'node:fs';
import { AppPage } from './fixtures';
import type { LibraryWindow } from './library';
import type { Options } from './loads';
import { IDS, NO_NATIVE, hashOf, makeRowsModel, nativeBuilt, sluice } from './models';
import { expect, test } from './profile';
import { Renderer } from './renderer';

declare const window: LibraryWindow & { engine: Library.Engine };

test.skip(!nativeBuilt, NO_NATIVE);

/** Tokens whose rows lie in the first megabyte of the file, behind the first 4 MiB, and in between. */
const [FIRST, LATE, BETWEEN] = [
  [7, 150, 41],
  [2900, 4000, 3500],
  [1500, 1900, 1700],
];
/** As long as a text of greedy tokens is here, all of which are in the first megabyte. */
const TOKENS = 24;

function textOf(path: string, prompt: number[]): number[] {
  const args = ['run', '-m', path, '--json', '--temp', '0', '--ignore-eos', '-n', String(TOKENS)];
  const lines = sluice(...args, '--tokens', prompt.join(','))
    .trim()
    .split('\n');
  return lines.flatMap((line) => {
    const { event, id } = JSON.parse(line) as { event: string; id: number };
    return event === 'token' ? [id] : [];
  });
}

interface Read {
  first: number[];
  late: number[];
  hash: string;
  total: number;
  heap: number;
  weights: number;
  source: string;
}

/** Runs in the page: writes while the model comes, and when all of it is here. */
async function read({
  url,
  as,
  options,
  prompts,
  ids,
}: {
  url: string;
  as: 'address' | 'file' | 'buffer';
  options: Options;
  prompts: number[][];
  ids: number[];
}): Promise<Read> {
  const blob = as === 'address' ? null : await (await fetch(url)).blob();
  const from =
    blob === null ? url : as === 'file' ? new File([blob], 'a.gguf') : await blob.arrayBuffer();
  let progress: Library.LoadProgress | null = null;
  const engine = await window.library.Engine.load(from, {
    ...options,
    onProgress: (now) => (progress = now),
  });
  const write = async (prompt: number[]): Promise<number[]> => {
    const written: number[] = [];
    const text = { temperature: 0, ignoreEos: true, maxTokens: 24 };
    for await (const { id } of engine.generate(prompt, text)) written.push(id);
    return written;
  };
  const first = await write(prompts[0] ?? []);
  await engine.arrived;
  const late = await write(prompts[1] ?? []);
  const { hash } = await engine.logits(ids);
  const { heapBytes: heap } = engine.stats;
  const weights = engine.info.memory?.weights ?? 0;
  await engine.close();
  const { total, source } = progress as unknown as Library.LoadProgress;
  return { first, late, hash, total, heap, weights, source };
}

test('the text is the same from every source, and the table in memory only where its bytes come once', async ({
  profile,
  serving,
  sites,
}) => {
  const { path } = makeRowsModel();
  const { page } = await profile.open(sites.isolated);
  const good = serving.hub.add('rows.gguf', path);
  const whole = serving.hub.add('whole.gguf', path, { plan: () => ({ ignoreRange: true }) });
  const right = { first: textOf(path, FIRST), late: textOf(path, LATE), hash: hashOf(path) };
  expect(right.first).toHaveLength(TOKENS);
  const size = good.size;
  const ask = (
    url: string,
    as: 'address' | 'file' | 'buffer',
    options: Options = {},
  ): Promise<Read> => page.evaluate(read, { url, as, options, prompts: [FIRST, LATE], ids: IDS });
  // Of a download the progress counts all. (A file ends with up to 31 bytes of nothing.)
  const downloaded = await ask(good.url, 'address');
  expect(downloaded).toMatchObject({ ...right, source: 'network' });
  expect(downloaded.total).toBeGreaterThan(size - 32);
  const kept = good.counts.requests;
  const found = {
    downloaded,
    kept: await ask(good.url, 'address', { flavour: 'simd' }),
    withoutRanges: await ask(whole.url, 'address', { flavour: 'relaxed' }),
    file: await ask(good.url, 'file'),
    buffer: await ask(good.url, 'buffer'),
  };
  expect(found.kept.source).toBe('cache');
  expect(good.counts.requests - kept, 'of the file and the buffer alone').toBe(2);
  for (const [source, { total, heap, weights, ...rest }] of Object.entries(found)) {
    expect(rest, source).toMatchObject(right);
    expect(weights, source).toBeLessThan(0.3 * size);
    expect(heap, source).toBeLessThan(0.9 * size);
    if (rest.source !== 'network') expect(total, source).toBeLessThan(0.2 * size);
  }
  for (const { url } of [good, whole]) {
    const once = await ask(url, 'address', { cache: 'none' });
    expect(once).toMatchObject({ ...right, source: 'network' });
    expect(once.total).toBeGreaterThan(size - 32);
    expect(once.weights).toBeGreaterThan(0.8 * size);
    expect(once.heap).toBeGreaterThan(size);
  }
});

test('while the table comes, texts are written from what is here; one that waits for rows can be aborted', async ({
  profile,
  serving,
  sites,
  allowed,
}) => {
  allowed.push(/Failed to load resource/);
  const { path } = makeRowsModel();
  const { page } = await profile.open(sites.isolated);
  const renderer = await Renderer.of(page);
  // The first request is for the first 4 MiB.
  let gone = false;
  const file = serving.hub.add('rows.gguf', path, {
    plan: ({ number }) => (gone ? { status: 404 } : number === 0 ? { stall: 1_000_000 } : {}),
  });
  const found = await page.evaluate(
    async ({ url, first, late, between }) => {
      const { Engine } = window.library;
      let progress: Library.LoadProgress | null = null;
      const engine = await Engine.load(url, {
        retryTimeout: 0,
        onProgress: (now) => (progress = now),
      });
      window.engine = engine;
      await engine.ready;
      const write = async (prompt: number[], signal?: AbortSignal): Promise<number[]> => {
        const written: number[] = [];
        const text = { temperature: 0, ignoreEos: true, maxTokens: 24, ...(signal && { signal }) };
        for await (const { id } of engine.generate(prompt, text)) written.push(id);
        return written;
      };
      const texts = [await write(first), await write(late)];
      const { phase, total, loaded } = progress as unknown as Library.LoadProgress;
      const controller = new AbortController();
      const waiting = write(between, controller.signal).then(
        () => 'written',
        (e: Library.SluiceError) => e.code,
      );
      const before = await Promise.race([waiting, Promise.resolve('waits')]);
      controller.abort();
      const aborted = await waiting;
      const again = await write(first);
      return { texts, phase, total, loaded, before, aborted, again };
    },
    { url: file.url, first: FIRST, late: LATE, between: BETWEEN },
  );
  const text = textOf(path, FIRST);
  expect(found.texts).toEqual([text, textOf(path, LATE)]);
  expect(found).toMatchObject({ phase: 'download', again: text });
  expect(found.total).toBeGreaterThan(file.size - 32);
  expect(found.loaded).toBeLessThan(0.8 * file.size);
  expect(found.before).toBe('waits');
  expect(found.aborted).toBe('aborted');

  // The server goes before the rest has come: who waits for rows is told so.
  const waiting = page.evaluate(
    (between) =>
      window.engine
        .complete(between, { maxTokens: 4 })
        .then(String, ({ code, message }: Library.SluiceError) => `${code}: ${message}`),
    BETWEEN,
  );
  gone = true;
  serving.hub.drop_connections();
  const told = await waiting;
  expect(told).toMatch(/^download_failed: the connection broke after 1000000 of \d+ bytes/);
  await page.evaluate(() => window.engine.close());
  await expect.poll(() => renderer.workers()).toBe(0);
});

test('the page writes the same from an address, without a network, and from a file', async ({
  page,
  site,
  hub,
}) => {
  const { path, file: name } = makeRowsModel();
  const file = hub.add(name, path);
  const app = new AppPage(page, site);
  await app.open('#seed=3&length=30&prompt=on');
  await app.loadAddress(file.url);
  await app.hasFact('Architecture', 'gemma4');
  await expect(app.loading).toHaveCount(0);
  const text = await app.write();
  expect(text.length).toBeGreaterThan(0);
  const bytes = fs.readFileSync(path).toString('base64');
  await hub.close();
  await page.reload();
  await app.hasFact('Architecture', 'gemma4');
  await app.ready(/./);
  expect(await app.write()).toBe(text);
  const dataTransfer = await page.evaluateHandle((base64) => {
    const transfer = new DataTransfer();
    const content = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    transfer.items.add(new File([content], 'dropped.gguf'));
    return transfer;
  }, bytes);
  await page.dispatchEvent('body', 'drop', { dataTransfer });
  await app.hasFact('From', 'dropped.gguf, this device');
  await app.ready(/./);
  expect(await app.write()).toBe(text);
});
