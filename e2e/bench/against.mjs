// This checkout beside another one that is built, natively and in Chromium, in turn: prompt, decode and loading. What
// is told is the median of the ratios of pairs, so that a machine that gets slower or faster counts for both.
import fs from 'node:fs';
import path from 'node:path';
import { Failure, ROOT } from '../../scripts/lib.mjs';
import { median } from './figures.mjs';
import { measure_native } from './programs.mjs';

const FIGURES = ['prompt', 'decode', 'loading'];

/** Runs in a page: loads the model that is measured from then on, and writes until the code is compiled. */
async function open_in_page({ address, p, n, threads }) {
  const { Engine } = await import('/engine/index.js');
  const url = new URL(address, location.href);
  const options = { threads, contextSize: p + n + 2 };
  const load = async () => {
    const engine = await Engine.load(url, options);
    await engine.ready;
    return engine;
  };
  const engine = await load();
  let salt = 0;
  const write = async (length, tokens) => {
    ++salt;
    const prompt = Array.from({ length }, (_, k) => 3 + ((k * 7 + salt) % 200));
    const how = { maxTokens: tokens + 1, temperature: 0, ignoreEos: true };
    for await (const token of engine.generate(prompt, how)) void token;
    return engine.stats;
  };
  // Rates: tokens a second, and loads a second.
  globalThis.measure = async () => ({
    prompt: (await write(p, 0)).promptTokensPerSecond,
    decode: (await write(1, n)).tokensPerSecond,
  });
  globalThis.measure_loading = async () => {
    const another = await load();
    const { loadMs } = another.stats;
    await another.close();
    return { loading: 1000 / loadMs };
  };
  const until = performance.now() + 2000;
  do await globalThis.measure();
  while (performance.now() < until);
  const { flavour, threads: used } = engine.stats;
  return { flavour, threads: used };
}

/** A page of the checkout's library for each side; body({this, against}) may call what open_in_page left. */
async function in_pages(browser, checkouts, model, how, body) {
  const [own, other] = Object.entries(checkouts);
  const open = ([side, checkout], then) =>
    browser.serving(model, checkout, async ({ url, address }) => {
      const context = await browser.handle.newContext();
      try {
        const page = await context.newPage();
        await page.goto(url, { waitUntil: 'networkidle' });
        const facts = await page.evaluate(open_in_page, { address, ...how });
        return await then({ side, page, facts });
      } finally {
        await context.close();
      }
    });
  return open(own, (a) => open(other, (b) => body({ [a.side]: a, [b.side]: b })));
}

/** The samples of each side, `rounds` pairs: measure(side) gives some figures. Each is first in every other pair. */
async function in_turn(rounds, measure) {
  const samples = { this: [], against: [] };
  for (let round = 0; round < rounds; ++round) {
    const order = round % 2 === 0 ? ['this', 'against'] : ['against', 'this'];
    for (const side of order) samples[side].push(await measure(side));
  }
  return samples;
}

/** {figure: {ratio: this to against, the median over pairs; ratios: of each pair}} for the figures in the samples. */
export function ratios_of(samples) {
  const ratios = {};
  for (const figure of FIGURES) {
    const pairs = samples.this.map((mine, i) => mine[figure] / samples.against[i][figure]);
    if (pairs.every(Number.isFinite)) ratios[figure] = { ratio: median(pairs), ratios: pairs };
  }
  return ratios;
}

async function chromium_pairs(browser, checkouts, model, { rounds, ...how }) {
  return in_pages(browser, checkouts, model, how, async (sides) => {
    const call = (name) => (side) => sides[side].page.evaluate((f) => globalThis[f](), name);
    const rates = await in_turn(rounds, call('measure'));
    const loading = await in_turn(rounds, call('measure_loading'));
    const { flavour } = sides.this.facts;
    return { kernels: flavour, ...ratios_of(rates), ...ratios_of(loading) };
  });
}

async function native_pairs(checkouts, model, { rounds, p, n, threads }) {
  let kernels = '';
  const samples = await in_turn(rounds, (side) => {
    const program = path.join(checkouts[side], 'build/release/sluice');
    const { figures, facts } = measure_native(program, model, { p, n, depth: 0, threads });
    kernels = facts.kernels;
    const { prompt_tps: prompt, decode_tps: decode, load_ms } = figures;
    return { prompt, decode, loading: 1000 / load_ms };
  });
  return { kernels, ...ratios_of(samples) };
}

/** What another checkout lacks for a comparison; Failure. */
export function check_checkout(dir, sides) {
  const wanted = { native: 'build/release/sluice', chromium: 'web/engine/dist/index.js' };
  for (const side of sides) {
    if (fs.existsSync(path.join(dir, wanted[side]))) continue;
    throw new Failure(`${dir} has no ${wanted[side]}: run npm run build there`);
  }
}

/**
 * A model's rows {side: 'native' | 'chromium', threads, kernels, prompt, decode, loading}; of the last three each has
 * {ratio, ratios}: above 1 this checkout is faster.
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
