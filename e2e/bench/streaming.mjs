// Measures the time to the first token of a model that is being downloaded, in Chromium with its profile on disk. A prompt is
// given as soon as the header is there. Beside it in the same run: a plain fetch of the file over the same line, the same
// library when it waits for all weights first, the prompt on weights that are there, and wllama.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Failure, ROOT } from '../../scripts/lib.mjs';
import { serve } from '../../scripts/serve.mjs';
import { Link } from '../hub/link.mjs';
import { Hub } from '../hub/server.mjs';
import { chromium_lacks, launch_profile, wllama_lacks } from './chromium.mjs';
import { median } from './figures.mjs';
import { BUNDLED, made_model, text_of_tokens } from './models.mjs';

/** Prompts on resident weights, of which the median counts. */
const RESIDENT = 3;

/** A rate that jumps, and brings `bytes` in so many seconds: parts of the time, and the rates there. */
function jumping(bytes, seconds) {
  const parts = [
    [0.2, 1],
    [0.13, 3],
    [0.2, 0.3],
    [0.1, 2],
    [0.17, 0.5],
    [0.2, 1.5],
  ];
  const whole = parts.reduce((sum, [part, rate]) => sum + part * rate, 0);
  let from = 0;
  return parts.map(([part, rate]) => {
    const entry = [from * seconds * 1000, (rate * bytes) / whole / seconds];
    from += part;
    return entry;
  });
}

/** The rate of named models, in bytes per second: about that of the others, which come in 15 s. */
const RATE = 24e6;

/**
 * The cases: {name, file, seconds, tokens, ranges, jumps, peer}. `peer`: with wllama, which takes minutes for each prompt.
 * `named`: the files of models; none: a made model in several ways.
 */
async function cases_of(named, quick) {
  if (quick || named.length > 0) {
    const files = named.length > 0 ? named : [BUNDLED];
    return files.map((file) => ({
      name: 'ranges',
      file,
      ranges: true,
      peer: true,
      seconds: quick ? 1 : fs.statSync(file).size / RATE,
      tokens: quick ? 100 : 200,
    }));
  }
  const usual = await made_model('qwen3-0.6b', 'Q4_0');
  const reversed = await made_model('qwen3-0.6b', 'Q4_0', { reversed: true });
  const cases = [
    { name: 'ranges', file: usual, tokens: 200, ranges: true, peer: true },
    { name: 'ranges, last tensor first', file: reversed, tokens: 200, ranges: true },
    { name: 'no ranges', file: usual, tokens: 200, ranges: false },
    { name: 'ranges, a rate that jumps', file: usual, tokens: 200, ranges: true, jumps: true },
    { name: 'ranges, 1000 tokens', file: usual, tokens: 1000, ranges: true },
  ];
  return cases.map((one) => ({ ...one, seconds: 15 }));
}

// --- what runs in the page; times are Date.now(), which is the server's clock, too --------------------------------

async function fetch_in_page({ url }) {
  const began = Date.now();
  const reader = (await fetch(url, { cache: 'no-store' })).body.getReader();
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
  }
  return { began, last: Date.now(), bytes };
}

/** `overlap`: the prompt is given when `load` resolves, otherwise when `ready` does. `resident`: prompts for afterwards. */
async function sluice_in_page({ url, prompt, resident, contextSize, overlap }) {
  const { Engine, cache } = await import('/engine/index.js');
  const first_token = async (engine, text) => {
    const how = { maxTokens: 1, temperature: 0, ignoreEos: true };
    const begun = Date.now();
    let first = 0;
    for await (const token of engine.generate(text, how)) first ||= token.id < 0 ? 0 : Date.now();
    if (first === 0) throw new Error('there was no token');
    return { begun, first };
  };
  const began = Date.now();
  const engine = await Engine.load(url, { contextSize });
  let ready = 0;
  const whole = engine.ready.then(() => (ready = Date.now()));
  if (!overlap) await whole;
  const { first } = await first_token(engine, prompt);
  const { promptTokens, waitedMs, threads, kernels, flavour } = engine.stats;
  await whole;
  const found = { began, first, ready, promptTokens, waitedMs, threads };
  const resident_ms = [];
  for (const text of resident) {
    const run = await first_token(engine, text);
    resident_ms.push(run.first - run.begun);
  }
  await engine.close();
  await cache.delete(url);
  return { ...found, resident_ms, kernels: `${kernels}, ${flavour}` };
}

/** As its users load a model: from its address, into its own cache. */
async function wllama_in_page({ url, prompt, contextSize }) {
  const { Wllama } = await import('/wllama/index.js');
  const silent = () => {};
  const wllama = new Wllama(
    { default: '/wllama/wasm/wllama.wasm' },
    {
      suppressNativeLog: true,
      logger: { debug: silent, log: silent, warn: silent, error: silent },
    },
  );
  const began = Date.now();
  await wllama.loadModelFromUrl(url, {
    n_gpu_layers: 0,
    n_ctx: contextSize + 64,
    n_batch: 1024,
    n_ubatch: 512,
    n_parallel: 1,
  });
  const ready = Date.now();
  const how = { prompt, max_tokens: 1, temperature: 0, top_k: 1, ignore_eos: true };
  const { timings } = await wllama.createCompletion(how);
  const first = Date.now();
  const found = { began, first, ready, promptTokens: timings.prompt_n };
  const threads = wllama.getNumThreads();
  await wllama.exit();
  await wllama.cacheManager.clear();
  return { ...found, threads };
}

// -------------------------------------------------------------------------------------------------------------------

const BODIES = { plain: fetch_in_page, overlap: sluice_in_page, 'in turn': sluice_in_page };

/** A browser, the library's site, and a hub. */
class Bench {
  static async open() {
    const bench = new Bench();
    bench.profile = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-streaming-'));
    bench.hub = await Hub.start();
    bench.site = await serve({
      dir: path.join(ROOT, 'e2e/harness'),
      port: 0,
      mounts: {
        '/engine/': path.join(ROOT, 'web/engine/dist'),
        '/wllama/': path.join(ROOT, 'node_modules/@wllama/wllama/esm'),
      },
    });
    // wllama starts its workers from blobs, which the served policy forbids.
    bench.context = await launch_profile(bench.profile, [], undefined, { bypassCSP: true });
    try {
      // A server has cores of its own: this one is to keep its rate while the page computes.
      os.setPriority(-5);
    } catch {
      // only the administrator may
    }
    return bench;
  }

  /** Runs one side in a new page, over a new line. Returns its times in ms from its own beginning. */
  async measure(side, { file, ranges, rate }, argument) {
    const link = new Link(rate);
    const plan = () => ({ link, ...(ranges ? {} : { ignoreRange: true }) });
    const served = this.hub.add(path.basename(file), file, { plan });
    const page = await this.context.newPage();
    try {
      await page.goto(this.site.url, { waitUntil: 'networkidle' });
      const body = BODIES[side] ?? wllama_in_page;
      const found = await page.evaluate(body, { url: served.url, ...argument });
      const { counts } = served;
      if (counts.sent.size !== served.size) {
        throw new Failure(`${counts.sent.size} of ${served.size} bytes were sent`);
      }
      const { began, first, ready, last, ...facts } = found;
      return {
        ...facts,
        // A plain fetch ends when the page has the bytes; the others' last byte is when the server has sent it.
        last_byte_ms: (last ?? counts.lastByte) - began,
        ...(first === undefined ? {} : { first_token_ms: first - began, ready_ms: ready - began }),
        requests: counts.requests,
        sent_again: counts.again,
      };
    } finally {
      await page.close();
    }
  }

  async close() {
    await this.context?.close();
    await Promise.all([this.site.close(), this.hub.close()]);
    fs.rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A side's row: medians over its rounds, what they mean beside the plain fetch and the resident prompt, and the samples. */
function row_of(side, samples, { plain_ms, resident_ms }) {
  const of = (name) => median(samples.map((sample) => sample[name]));
  const [last_byte_ms, first_token_ms] = [of('last_byte_ms'), of('first_token_ms')];
  const late = samples.map(
    (one) => one.first_token_ms - Math.max(one.last_byte_ms, resident_ms ?? 0),
  );
  return {
    side,
    last_byte_ms,
    first_token_ms,
    ready_ms: of('ready_ms'),
    last_to_plain: last_byte_ms / plain_ms,
    after_last_ms: median(samples.map((one) => one.first_token_ms - one.last_byte_ms)),
    // After the later of the last byte and the time that the prompt takes alone.
    late_ms: median(late),
    samples,
  };
}

async function measure_case(bench, one, { program, rounds, peer }) {
  const { seconds } = one;
  const sides = ['plain', 'overlap', 'in turn', ...(one.peer && peer ? ['wllama'] : [])];
  const bytes = fs.statSync(one.file).size;
  const how = { ...one, rate: one.jumps ? jumping(bytes, seconds) : bytes / seconds };
  const texts = Array.from({ length: RESIDENT + 1 }, (_, salt) =>
    text_of_tokens(program, one.file, one.tokens, salt),
  );
  const [prompt, ...resident] = texts;
  const contextSize = one.tokens + 8;
  const argument = { prompt, contextSize };
  const samples = Object.fromEntries(sides.map((side) => [side, []]));
  const left_out = {};
  for (let round = 0; round < rounds; ++round) {
    for (const side of sides.filter((name) => left_out[name] === undefined)) {
      console.error(`${one.name}, round ${round + 1} of ${rounds}: ${side}`);
      const overlap = side === 'overlap';
      const more = overlap ? { overlap, resident } : { overlap, resident: [] };
      try {
        samples[side].push(await bench.measure(side, how, { ...argument, ...more }));
      } catch (error) {
        if (side !== 'wllama') throw error;
        left_out[side] = error.message.split('\n')[0];
      }
    }
  }
  const plain_ms = median(samples.plain.map(({ last_byte_ms }) => last_byte_ms));
  const resident_ms = median(samples.overlap.flatMap(({ resident_ms: ms }) => ms));
  const { promptTokens, threads, kernels } = samples.overlap[0];
  const rows = Object.entries(samples)
    .filter(([side, list]) => side !== 'plain' && list.length > 0)
    .map(([side, list]) => row_of(side, list, { plain_ms, resident_ms }));
  return {
    case: one.name,
    model: path.basename(one.file),
    bytes,
    seconds,
    rounds,
    prompt_tokens: promptTokens,
    threads,
    kernels,
    plain_ms,
    resident_ms,
    rows,
    left_out,
    plain: samples.plain,
  };
}

/** All cases, one after another; `tell` is called with each. `named`: files of models; none: the usual cases. */
export async function measure_streaming({ program, named, quick, rounds, tell }) {
  if (chromium_lacks() !== '') throw new Failure(`Chromium is not there: ${chromium_lacks()}`);
  const lacks = wllama_lacks();
  if (lacks !== '') console.log(`wllama is left out: ${lacks}`);
  const cases = await cases_of(named, quick);
  const bench = await Bench.open();
  try {
    for (const one of cases) {
      tell(await measure_case(bench, one, { program, rounds, peer: lacks === '' }));
    }
  } finally {
    await bench.close();
  }
}
