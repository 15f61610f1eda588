// Compares this checkout with another one that is built, natively and in Chromium: prompt, decode and loading. They run
// in turn, and the result is the median of the pairs' ratios, so that a machine that gets slower or faster affects both.
import fs from 'node:fs';
import path from 'node:path';
import { Failure, ROOT } from '../../scripts/lib.mjs';
import { median } from './figures.mjs';
import { measure_native, measure_native_load } from './programs.mjs';

const FIGURES = ['prompt', 'decode', 'loading'];

/** Runs in a page. Sets globalThis.bench, which measures loading and the rates of a model that stays loaded. */
async function prepare_page({ address, p, n, threads }) {
  const { Engine } = await import('/engine/index.js');
  const url = new URL(address, location.href);
  const options = { threads, contextSize: p + n + 2 };
  const load = async () => {
    const engine = await Engine.load(url, options);
    await engine.ready;
    return engine;
  };
  /** The median of the measurements of half a second: a small model's prompt takes only 5 ms. */
  const often = async (measure) => {
    const found = [];
    const until = performance.now() + 500;
    do found.push(await measure());
    while (performance.now() < until);
    return found.sort((a, b) => a - b)[found.length >> 1];
  };
  let engine = null;
  let salt = 0;
  const write = async (length, tokens) => {
    ++salt;
    const prompt = Array.from({ length }, (_, k) => 3 + ((k * 7 + salt) % 200));
    const how = { maxTokens: tokens + 1, temperature: 0, ignoreEos: true };
    for await (const token of engine.generate(prompt, how)) void token;
    return engine.stats;
  };
  // All figures are rates: loads per second, tokens per second. Loading is measured before any model stays loaded.
  globalThis.bench = {
    loading: async () => ({
      loading: await often(async () => {
        const loaded = await load();
        const { loadMs } = loaded.stats;
        await loaded.close();
        return 1000 / loadMs;
      }),
    }),
    rates: async () => ({
      prompt: await often(async () => (await write(p, 0)).promptTokensPerSecond),
      decode: await often(async () => (await write(1, n)).tokensPerSecond),
    }),
    // Loads the model that stays, and writes until the browser has compiled the hot code.
    open: async () => {
      engine = await load();
      const until = performance.now() + 2000;
      do await globalThis.bench.rates();
      while (performance.now() < until);
      return engine.stats.flavour;
    },
  };
}

/** Opens a page with the library of each side, and calls body(call): call(side, name) calls a function of the bench there. */
async function in_pages(browser, checkouts, model, how, body) {
  const [own, other] = Object.entries(checkouts);
  const pages = {};
  const open = ([side, checkout], then) =>
    browser.serving(model, checkout, async ({ url, address }) => {
      const context = await browser.handle.newContext();
      try {
        const page = await context.newPage();
        await page.goto(url, { waitUntil: 'networkidle' });
        await page.evaluate(prepare_page, { address, ...how });
        pages[side] = page;
        return await then();
      } finally {
        await context.close();
      }
    });
  const call = (side, name) => pages[side].evaluate((f) => globalThis.bench[f](), name);
  return open(own, () => open(other, () => body(call)));
}

/** The samples of each side: the results of measure(side) in `rounds` pairs. Each side is first in every other pair. */
async function in_turn(rounds, measure) {
  const samples = { this: [], against: [] };
  for (let round = 0; round < rounds; ++round) {
    const order = round % 2 === 0 ? ['this', 'against'] : ['against', 'this'];
    for (const side of order) samples[side].push(await measure(side));
  }
  return samples;
}

/** For each figure in the samples {ratio, ratios}: this side's divided by the other's, the median and each pair's. */
export function ratios_of(samples) {
  const ratios = {};
  for (const figure of FIGURES) {
    const pairs = samples.this.map((mine, i) => mine[figure] / samples.against[i][figure]);
    if (pairs.every(Number.isFinite)) ratios[figure] = { ratio: median(pairs), ratios: pairs };
  }
  return ratios;
}

async function chromium_pairs(browser, checkouts, model, { rounds, ...how }) {
  return in_pages(browser, checkouts, model, how, async (call) => {
    for (const side of ['this', 'against']) await call(side, 'loading');
    const loading = await in_turn(rounds, (side) => call(side, 'loading'));
    await call('against', 'open');
    const kernels = await call('this', 'open');
    const rates = await in_turn(rounds, (side) => call(side, 'rates'));
    return { kernels, ...ratios_of(rates), ...ratios_of(loading) };
  });
}

async function native_pairs(checkouts, model, { rounds, p, n, threads }) {
  let kernels = '';
  const samples = await in_turn(rounds, (side) => {
    const program = path.join(checkouts[side], 'build/release/sluice');
    const { figures, facts } = measure_native(program, model, { p, n, depth: 0, threads });
    if (side === 'this') kernels = facts.kernels;
    const { prompt_tps: prompt, decode_tps: decode } = figures;
    return { prompt, decode, loading: 1000 / measure_native_load(program, model, threads) };
  });
  return { kernels, ...ratios_of(samples) };
}

/** Throws a Failure if another checkout is not built for the comparison. */
export function check_checkout(dir, sides) {
  const wanted = { native: 'build/release/sluice', chromium: 'web/engine/dist/index.js' };
  for (const side of sides) {
    if (fs.existsSync(path.join(dir, wanted[side]))) continue;
    throw new Failure(`${dir} has no ${wanted[side]}: run npm run build there`);
  }
}

/**
 * A model's rows {side: 'native' | 'chromium', threads, kernels, prompt, decode, loading}. Each of the last three is
 * {ratio, ratios}; above 1, this checkout is faster.
 */
export async function measure_against(model, { browser, against, sides, threads, ...how }) {
  const checkouts = { this: ROOT, against };
  const rows = [];
  for (const side of sides) {
    for (const count of threads) {
      console.error(`${path.basename(model)}: ${side}, threads: ${count}`);
      const options = { ...how, threads: count };
      const found =
        side === 'native'
          ? await native_pairs(checkouts, model, options)
          : await chromium_pairs(browser, checkouts, model, options);
      rows.push({ side, threads: count, ...found });
    }
  }
  return { model: path.basename(model), rounds: how.rounds, rows };
}
