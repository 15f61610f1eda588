// Vectors, search and masked words in Chromium: the program's bits and other programs' answers in every flavour; beside a text,
// while weights arrive, with a budget, and aborted.
import fs from 'node:fs';
import path from 'node:path';
import type * as Library from '@sluice/engine';
import { expect, test } from './fixtures';
import { harness, type LibraryWindow } from './library';
import { BUNDLED, NO_NATIVE, nativeBuilt, sluice } from './models';
import { ROOT } from './servers';

declare const window: LibraryWindow;

const SHARED = path.join(ROOT, '../shared/models');
const FLAVOURS = JSON.parse(
  fs.readFileSync(path.join(ROOT, 'wasm/flavours.json'), 'utf8'),
) as Library.Flavour[];

/** Of make_models. */
const OWN = [
  ...['bert-q8_0', 'bert-masks-f32', 'nomic-bert-q8_0', 'modern-bert-q8_0'],
  ...['gemma-embedding-wide-f32', 'lfm2-embed-odd-f32'],
].map((name) => `${name}.gguf`);

interface Answer {
  tokens: number[];
  pooling: Library.Pooling;
  /** Its first numbers, normalized. */
  vector: number[];
}

function read<T>(...names: string[]): Record<string, T> {
  const files = names.map((name) => path.join(SHARED, name)).filter((file) => fs.existsSync(file));
  return Object.assign(
    {},
    ...files.map((file) => JSON.parse(fs.readFileSync(file, 'utf8')) as object),
  ) as Record<string, T>;
}

test("vectors are the program's bits, and near the answers of other programs", async ({
  page,
  site,
  hub,
  models,
}, info) => {
  test.skip(!nativeBuilt, NO_NATIVE);
  const answers = read<Answer[]>('embeddings.json', 'embeddings-more.json');
  const others = Object.keys(answers).map((name) => path.join(SHARED, 'tiny', name));
  const files = [BUNDLED, ...OWN.map((name) => models.models.get(name) ?? ''), ...others];
  const texts = [
    'A dog ran home.',
    'Ünïcödé, 東京 and 🦊!',
    'a',
    'The sea and the sky are blue. '.repeat(4),
  ];
  const lines = info.outputPath('lines.txt');
  fs.writeFileSync(lines, texts.join('\n'));
  await harness(page, site);
  for (const file of files) {
    const right = answers[path.basename(file)] ?? [];
    const { url } = hub.add(path.basename(file), file);
    const found = await page.evaluate(
      async ({ url, flavours, texts, asked }) => {
        const found: { vectors: number[][]; alone: number[][]; ids: number[][]; infos: unknown }[] =
          [];
        const numbers = (list: Library.Embedding[]): number[][] =>
          list.map(({ embedding }) => Array.from(embedding));
        for (const flavour of flavours) {
          const engine = await window.library.Engine.load(url, { flavour });
          const alone: number[][] = [];
          for (const text of texts)
            alone.push(...numbers(await engine.embed(text, { truncate: true })));
          const vectors = numbers(await engine.embed(texts, { truncate: true }));
          const { makes, dimensions } = engine.info;
          const infos = { makes: makes.includes('vectors'), dimensions };
          const ids: number[][] = [];
          for (const { tokens, pooling } of asked)
            ids.push(...numbers(await engine.embed([tokens], { pooling })));
          found.push({ vectors, alone, ids, infos });
          await engine.close();
        }
        return found;
      },
      { url, flavours: FLAVOURS, texts, asked: right },
    );
    const printed = sluice('embed', file, '-f', lines, '--json', '--truncate')
      .trimEnd()
      .split('\n');
    const told = printed.map((line) =>
      (JSON.parse(line) as { embedding: number[] }).embedding.map(Math.fround),
    );
    for (const { vectors, alone, ids, infos } of found) {
      expect(vectors, file).toEqual(told);
      expect(alone, file).toEqual(told);
      expect(ids, file).toEqual(found[0]?.ids);
      expect(infos).toEqual({ makes: true, dimensions: told[0]?.length });
    }
    const allowed = file.includes('q8_0') ? 0.02 : 1e-3;
    for (const [i, { vector }] of right.entries())
      for (const [at, number] of vector.entries())
        expect(Math.abs(number - (found[0]?.ids[i]?.[at] ?? NaN)), file).toBeLessThan(allowed);
  }
});

interface Filled {
  text: string;
  masks: { position: number; top: [number, string, number][] }[];
}

test('masked words are those of the official program', async ({ page, site, hub }, info) => {
  test.skip(!nativeBuilt, NO_NATIVE);
  const answers = read<{ fill_mask?: Filled[] }>('hf/answers.json');
  await harness(page, site);
  for (const [name, { fill_mask: right = [] }] of Object.entries(answers)) {
    if (right.length === 0) continue;
    const file = info.outputPath(`${name}.gguf`);
    sluice('convert', path.join(SHARED, 'hf', name), file, '--type', 'F32');
    const { url } = hub.add(path.basename(file), file);
    const found = await page.evaluate(
      async ({ url, flavours, texts }) => {
        const all: Library.FilledMask[][][] = [];
        for (const flavour of flavours) {
          const engine = await window.library.Engine.load(url, { flavour });
          const masks = [];
          for (const text of texts) masks.push(await engine.fillMask(text));
          all.push(masks);
          await engine.close();
        }
        const engine = await window.library.Engine.load(url);
        const refused = await engine.complete('A dog').catch((error: unknown) => {
          const { code, message } = error as Library.SluiceError;
          return { code, message };
        });
        await engine.close();
        return { all, refused };
      },
      { url, flavours: FLAVOURS, texts: right.map(({ text }) => text) },
    );
    for (const masks of found.all) expect(masks).toEqual(found.all[0]);
    expect(found.refused).toMatchObject({
      ...{
        code: 'unsupported_model',
        message: expect.stringContaining('engine.fillMask'),
      },
    });
    for (const [i, { masks }] of right.entries()) {
      const mine = found.all[0]?.[i] ?? [];
      expect(mine.map(({ position }) => position)).toEqual(masks.map(({ position }) => position));
      for (const [at, { top }] of masks.entries()) {
        const list = mine[at]?.top ?? [];
        expect(list.map(({ id, token }) => [id, token])).toEqual(
          top.map(([id, token]) => [id, token]),
        );
        // The answers are probabilities of six digits.
        for (const [rank, [, , probability]] of top.entries())
          expect(Math.abs((list[rank]?.logprob ?? 0) - Math.log(probability))).toBeLessThan(1e-4);
      }
    }
  }
});

test('texts are computed beside a text that is written, while weights arrive, and with a budget', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const gate = models.gated('stories.gguf', 600_000);
  const early = page.evaluate(async (url) => {
    const engine = await window.library.Engine.load(url);
    const [{ embedding } = { embedding: [] }] = await engine.embed('A dog ran home.');
    await engine.close();
    return Array.from(embedding);
  }, gate.url);
  const found = await page.evaluate(async (url) => {
    const { Engine } = window.library;
    const texts = Array.from({ length: 40 }, (_, i) => `The dog ran ${'on and '.repeat(i)}home.`);
    const numbers = (list: Library.Embedding[]): number[][] =>
      list.map(({ embedding }) => Array.from(embedding));
    const engine = await Engine.load(url);
    const [right] = numbers(await engine.embed('A dog ran home.'));
    const options = { seed: 1, maxTokens: 60, ignoreEos: true };
    const { text } = await engine.complete('Once', options);
    let over = false;
    const writing = engine.complete('Once', options).finally(() => (over = true));
    const beside = numbers(await engine.embed(texts));
    const besideText = over ? 'late' : 'beside';
    const written = (await writing).text;
    const news: Library.EmbedProgress[] = [];
    const alone = numbers(await engine.embed(texts, { onProgress: (one) => news.push(one) }));

    // An abort is answered at once, and the engine goes on.
    const long = Array<string>(3000).fill('The sea and the sky are blue. '.repeat(20));
    const controller = new AbortController();
    const began = deferredNews();
    const call = engine.embed(long, { signal: controller.signal, onProgress: began.resolve }).then(
      () => 'done',
      (error: unknown) => (error as Library.SluiceError).code,
    );
    await began.promise;
    const from = performance.now();
    controller.abort();
    const aborted = { code: await call, ms: performance.now() - from };
    const after = numbers(await engine.embed('A dog ran home.'));
    const matches = await engine.similar('Where did the dog run?', [
      'The sky is blue.',
      'A dog ran home.',
    ]);
    await engine.close();

    const file = await (await fetch(url)).blob();
    const { memory } = await Engine.probe(file);
    const small = await Engine.load(file, { memoryBudget: memory?.least ?? 0 });
    const budget = numbers(await small.embed(texts));
    const { rereadBytes } = small.info.memory ?? {};
    await small.close();
    return {
      right,
      text,
      written,
      besideText,
      beside,
      alone,
      news,
      aborted,
      after,
      matches,
      budget,
      rereadBytes,
    };

    function deferredNews(): { promise: Promise<void>; resolve: () => void } {
      let resolve = (): void => {};
      const promise = new Promise<void>((yes) => {
        resolve = yes;
      });
      return { promise, resolve: () => resolve() };
    }
  }, models.good('stories.gguf'));
  gate.open();
  expect(await early).toEqual(found.right);
  expect(found.written).toBe(found.text);
  expect(found.beside).toEqual(found.alone);
  expect(found.budget).toEqual(found.alone);
  expect(found.rereadBytes).toBeGreaterThan(0);
  expect(found.news.at(-1)).toMatchObject({ done: 40, total: 40 });
  expect(found.aborted.code).toBe('aborted');
  expect(found.aborted.ms).toBeLessThan(50);
  expect(found.after).toEqual([found.right]);
  expect(found.matches.map(({ score }) => Math.abs(score) <= 1)).toEqual([true, true]);
});
