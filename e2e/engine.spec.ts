// The library in the browser, without the page: the same bits as the program in all four flavours, the memory
// that a load takes and gives back, and what only options of the library reach.
import fs from 'node:fs';
import type { CDPSession, Page } from '@playwright/test';
import type * as Library from '@sluice/engine';
import { BUNDLED, makeBigModel, modelFiles, nativeBuilt, NO_NATIVE, sluice } from './models';
import { expect, test } from './fixtures';

const FLAVOURS: Library.Flavour[] = ['simd', 'simd-mt', 'relaxed', 'relaxed-mt'];
/** One of each kind of kernel: integer dots over 8 and 4 bits, floats, and unpacking with scales of 16. */
const MODELS = ['llama-q8_0.gguf', 'llama-q4_0.gguf', 'llama-f16.gguf', 'llama-q6_k.gguf'];
/** Longer than a strip of the GEMM, not a multiple of anything. */
const IDS = Array.from({ length: 37 }, (_, i) => 3 + ((i * 29) % 200));

interface Window {
  library: typeof Library;
}
declare const window: Window & typeof globalThis;

/** Opens an empty page with the library in it. */
async function harness(page: Page, site: { url: string }): Promise<void> {
  await page.goto(`${site.url}harness/`);
  await page.evaluate(async () => {
    const address = '/engine/index.js';
    window.library = (await import(address)) as typeof Library;
  });
}

for (const name of MODELS) {
  test(`${name}: all flavours, thread counts and batches give the program's bits`, async ({
    page,
    site,
    models,
  }) => {
    test.skip(!nativeBuilt, NO_NATIVE);
    const file = modelFiles().get(name);
    if (file === undefined) throw new Error(`make_models wrote no ${name}`);
    const { hash } = JSON.parse(
      sluice('logits', file, '--tokens', IDS.join(','), '--hash', '--json'),
    ) as {
      hash: string;
    };
    await harness(page, site);
    const results = await page.evaluate(
      async ({ url, flavours, ids }) => {
        const found: [string, string][] = [];
        for (const flavour of flavours) {
          for (const threads of flavour.endsWith('-mt') ? [1, 2, 3] : [1]) {
            const engine = await window.library.Engine.load(url, { flavour, threads });
            await engine.ready;
            for (const batch of [0, 1]) {
              const logits = await engine.logits(ids, { batch });
              found.push([
                `${engine.stats.flavour}, ${engine.stats.threads} threads, batch ${batch}`,
                logits.hash,
              ]);
            }
            await engine.close();
          }
        }
        return found;
      },
      { url: models.good(name), flavours: FLAVOURS, ids: IDS },
    );
    expect(results).toHaveLength(16);
    for (const [how, found] of results) expect(found, how).toBe(hash);
  });
}

test('a stalled body ends with download_failed, after the time that was given', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const error = await page.evaluate(async (url) => {
    const engine = await window.library.Engine.load(url, { stallTimeout: 300 });
    return engine.ready.then(
      () => null,
      (e: Library.SluiceError) => ({ code: e.code, message: e.message }),
    );
  }, models.bad('stalled'));
  expect(error?.code).toBe('download_failed');
  expect(error?.message).toContain('of 2578944 bytes');
});

test('a load and a text can be aborted, a second text is refused, and the engine stays usable', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const results = await page.evaluate(
    async ({ good, stalled }) => {
      const { Engine } = window.library;
      const outcomes: { what: string; code: string; name: string }[] = [];
      const note = (what: string) => (e: Library.SluiceError) => {
        outcomes.push({ what, code: e.code, name: e.name });
      };
      const first = new AbortController();
      const loading = await Engine.load(stalled, { signal: first.signal });
      first.abort();
      await loading.ready.catch(note('load'));

      const engine = await Engine.load(good);
      await engine.ready;
      const second = new AbortController();
      try {
        for await (const token of engine.generate('Once', {
          signal: second.signal,
          ignoreEos: true,
        })) {
          if (token.id >= 0) second.abort();
        }
      } catch (e) {
        note('generate')(e as Library.SluiceError);
      }
      const running = engine.generate('Once', { ignoreEos: true });
      await running.next();
      await engine.generate('Once').next().catch(note('second'));
      await running.return?.();
      let text = '';
      for await (const token of engine.generate('Once', { maxTokens: 8, seed: 1 }))
        text += token.text;
      const last = engine.generate('Once', { ignoreEos: true });
      await last.next();
      const drained = (async () => {
        for await (const token of last) text += token.text === '\0' ? '' : '';
      })().catch(note('close'));
      await engine.close();
      await drained;
      return { outcomes, text };
    },
    { good: models.good('stories.gguf'), stalled: models.bad('stalled') },
  );
  expect(results.outcomes).toEqual([
    { what: 'load', code: 'aborted', name: 'AbortError' },
    { what: 'generate', code: 'aborted', name: 'AbortError' },
    { what: 'second', code: 'busy', name: 'SluiceError' },
    { what: 'close', code: 'aborted', name: 'AbortError' },
  ]);
  expect(results.text.length).toBeGreaterThan(0);
});

test('absurd settings are refused by name', async ({ page, site, models }) => {
  await harness(page, site);
  const codes = await page.evaluate(async (url) => {
    const engine = await window.library.Engine.load(url);
    const absurd: Library.GenerateOptions[] = [
      { temperature: Number.NaN },
      { temperature: -1 },
      { topK: 1.5 },
      { topP: Number.POSITIVE_INFINITY },
      { maxTokens: 0.5 },
      { seed: -1 },
      { repeatPenalty: Number.NaN },
    ];
    const found: string[] = [];
    for (const options of absurd) {
      await engine
        .generate('Once', options)
        .next()
        .then(
          () => found.push('none'),
          (e: Library.SluiceError) => found.push(e.code),
        );
    }
    await engine.close();
    return found;
  }, models.good('stories.gguf'));
  expect(codes).toEqual(Array.from({ length: 7 }, () => 'invalid_argument'));
});

/** The memory that the page's processes have for themselves alone, and the most that one ever had. */
class Renderers {
  private constructor(
    readonly session: CDPSession,
    readonly pids: readonly number[],
  ) {}

  static async of(page: Page): Promise<Renderers> {
    const browser = page.context().browser();
    if (browser === null) throw new Error('the browser is gone');
    const whole = await browser.newBrowserCDPSession();
    const { processInfo } = await whole.send('SystemInfo.getProcessInfo');
    await whole.detach();
    const pids = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
    expect(pids.length).toBeGreaterThan(0);
    return new Renderers(await page.context().newCDPSession(page), pids);
  }

  #sum(file: string, field: string): number {
    let bytes = 0;
    for (const pid of this.pids) {
      const text = fs.readFileSync(`/proc/${pid}/${file}`, 'utf8');
      bytes += 1024 * Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]);
    }
    return bytes;
  }

  /** Once garbage is collected. */
  async privateBytes(): Promise<number> {
    await this.session.send('HeapProfiler.collectGarbage');
    return this.#sum('smaps_rollup', 'Private_Dirty');
  }

  /** Since `resetPeak`. */
  peakBytes(): number {
    return this.#sum('status', 'VmHWM');
  }

  /** See proc(5), clear_refs. */
  resetPeak(): void {
    for (const pid of this.pids) fs.writeFileSync(`/proc/${pid}/clear_refs`, '5');
  }

  residentBytes(): number {
    return this.#sum('status', 'VmRSS');
  }
}

const MB = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

test('loading holds the file once: weights, cache, activations and a constant', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const names = ['stories.gguf', ...MODELS].filter((name) => models.models.has(name));
  for (const name of names) {
    const found = await page.evaluate(async (url) => {
      const engine = await window.library.Engine.load(url);
      let peak = 0;
      const look = (): void => {
        peak = Math.max(peak, engine.stats.heapBytes);
      };
      await engine.ready;
      look();
      for await (const token of engine.generate('Once upon a time', {
        maxTokens: 64,
        ignoreEos: true,
      })) {
        if (token.id >= 0) look();
      }
      look();
      const { info } = engine;
      await engine.close();
      return { peak, file: info.bytes, plan: info.memory };
    }, models.good(name));
    const { peak, file, plan } = found;
    console.log(
      `${name}: file ${MB(file)}, heap at its peak ${MB(peak)} of ${MB(plan?.total ?? 0)} planned`,
    );
    expect(plan).not.toBeNull();
    expect(peak).toBeGreaterThan(file * 0.9);
    expect(peak).toBeLessThanOrEqual(plan?.total ?? 0);
  }
});

test('a model of 80 MB is never held twice, by the engine or by the browser', async ({
  page,
  site,
  models,
}) => {
  test.skip(!nativeBuilt, NO_NATIVE);
  const name = makeBigModel();
  models.models.set(name.file, name.path);
  await harness(page, site);
  const load = (url: string): Promise<{ bytes: number; heap: number; plan: number }> =>
    page.evaluate(async (url) => {
      const engine = await window.library.Engine.load(url, { contextSize: 256 });
      await engine.ready;
      const { bytes, memory } = engine.info;
      const found = { bytes, heap: engine.stats.heapBytes, plan: memory?.total ?? 0 };
      await engine.close();
      return found;
    }, url);
  // What code, workers and threads take in the browser, whatever the model.
  for (let i = 0; i < 4; ++i) await load(models.good('stories.gguf'));
  const renderers = await Renderers.of(page);
  renderers.resetPeak();
  const before = renderers.residentBytes();
  const { bytes, heap, plan } = await load(models.good(name.file));
  const peak = renderers.peakBytes() - before;
  console.log(
    `file ${MB(bytes)}, heap ${MB(heap)} of ${MB(plan)} planned, process grew by ${MB(peak)} at its peak`,
  );
  expect(heap).toBeLessThanOrEqual(plan);
  expect(peak).toBeLessThan(1.5 * bytes);
});

test('20 loads and closes leave nothing behind', async ({ page, site, models }) => {
  await harness(page, site);
  const renderers = await Renderers.of(page);
  const sizes: number[] = [];
  let heap = 0;
  // The first few fill what the browser keeps for later: code, thread stacks, pools.
  const warmUp = 14;
  for (let i = 0; i < warmUp + 20; ++i) {
    heap = await page.evaluate(async (url) => {
      const engine = await window.library.Engine.load(url);
      await engine.ready;
      for await (const token of engine.generate('Once', { maxTokens: 4 })) void token;
      const { heapBytes } = engine.stats;
      await engine.close();
      return heapBytes;
    }, models.good('stories.gguf'));
    sizes.push(await renderers.privateBytes());
  }
  const mean = (values: number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
  const early = mean(sizes.slice(warmUp, warmUp + 5));
  const late = mean(sizes.slice(-5));
  console.log(
    `heap of one engine ${MB(heap)}; private memory after each close: ${sizes.map(MB).join(', ')}`,
  );
  // Fifteen loads lie between the two: had each left a third of its heap behind, this would fail.
  expect(late - early).toBeLessThan((15 * heap) / 3);
});

test('the bundled model is the one whose card lies beside it', async () => {
  const card = JSON.parse(fs.readFileSync(BUNDLED.replace('-q8_0.gguf', '.card.json'), 'utf8')) as {
    files: Record<string, { bytes: number; sha256: string }>;
  };
  const { createHash } = await import('node:crypto');
  const bytes = fs.readFileSync(BUNDLED);
  expect(card.files['stories-q8_0.gguf']).toEqual({
    bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  });
});
