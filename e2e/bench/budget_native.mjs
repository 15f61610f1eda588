// The program under a memory budget, beside itself with all weights resident: hashes, rates, the most memory. Warm, and
// cold: then the file is taken out of the page cache before the program starts and after each token. And for a model that
// the program keeps in its cache, with the packed copy beside it.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Hub } from '../hub/server.mjs';
import { capture } from '../../scripts/lib.mjs';
import { median } from './figures.mjs';
import { drop_cache, read_rates, run_watched } from './process.mjs';

/** Ids of a prompt. Different salts share no prefix. */
export const ids_of = (length, salt = 0) =>
  Array.from({ length }, (_, k) => 3 + ((k * 29 + salt * 7) % 200));

/** Positions that are computed one at a time for the hash of decoding: each is a pass. */
export const DECODED = 8;

const under = (budget) => (budget === null ? [] : ['--memory-budget', budget]);

/** The program's hashes after a prompt: computed at once, and DECODED ids one at a time. */
export async function hashes_of(program, model, { budget, threads, prompt, contextSize }) {
  const hash = async (ids, more) => {
    const args = ['logits', model, '--tokens', ids.join(','), '--hash', '--json', '-t', threads];
    args.push('-c', contextSize, ...more, ...under(budget));
    const { lines } = await run_watched(program, args);
    return JSON.parse(lines.at(-1).text).hash;
  };
  return {
    prompt: await hash(ids_of(prompt), []),
    decode: await hash(ids_of(DECODED), ['--batch', 1]),
  };
}

/** A prompt and `n` tokens behind it: tokens per second, bytes that were read again, the most memory resident. */
async function text_of(program, model, { budget, threads, prompt, n, contextSize, cold }) {
  if (cold) drop_cache(model);
  const on_line = cold ? () => drop_cache(model) : undefined;
  const run = async (tokens) => {
    const args = ['run', model, '--tokens', ids_of(prompt).join(','), '-n', tokens];
    args.push('--ignore-eos', '--temp', 0, '--json', '-t', threads, '-c', contextSize);
    return run_watched(program, [...args, ...under(budget)], on_line);
  };
  const stats_of = ({ lines }) => JSON.parse(lines.at(-1).text).stats;
  // By itself, because waitedMs counts for a whole run.
  const first = stats_of(await run(1));
  if (cold) drop_cache(model);
  const whole = await run(n + 1);
  const { lines, peak } = whole;
  const stats = stats_of(whole);
  const tokens = lines.slice(0, -1);
  return {
    prompt_tps: (1000 * prompt) / (first.ttftMs + first.waitedMs),
    decode_tps: (1000 * n) / (tokens.at(-1).at - tokens[0].at),
    reread_bytes: stats.rereadBytes,
    waited_ms: stats.waitedMs,
    peak,
  };
}

/** What `inspect` says of the memory under the budget; null if it can't be had. */
export function plan_of(program, model, { budget, contextSize }) {
  const args = ['inspect', model, '--json', '-c', String(contextSize)];
  for (const more of [under(budget).map(String), []]) {
    const { status, stdout } = capture(program, [...args, ...more]);
    if (status === 0) return JSON.parse(stdout).memory;
  }
  return null;
}

/** Runs of the program, of which the median counts. */
const TEXTS = 3;

/** The same as text_of, from several runs: the medians of the rates, and the highest peak. */
async function texts_of(...how) {
  const found = [];
  for (let i = 0; i < TEXTS; ++i) found.push(await text_of(...how));
  const of = (name) => found.map((one) => one[name]);
  return {
    ...found[0],
    prompt_tps: median(of('prompt_tps')),
    decode_tps: median(of('decode_tps')),
    peak: Math.max(...of('peak')),
    samples: found,
  };
}

/** Runs `work` with the address of the model, which the program then has in a cache of its own. */
async function with_kept(model, work) {
  const hub = await Hub.start();
  const before = process.env.XDG_CACHE_HOME;
  const cache = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-kept-'));
  process.env.XDG_CACHE_HOME = cache;
  try {
    return await work(hub.add(path.basename(model), model).url);
  } finally {
    if (before === undefined) delete process.env.XDG_CACHE_HOME;
    else process.env.XDG_CACHE_HOME = before;
    await hub.close();
    fs.rmSync(cache, { recursive: true, force: true });
  }
}

/** Rows for each number of threads, warm and cold, and of a model in the cache. */
export async function measure_native_budget(program, model, how) {
  const { budget, threads, prompt, n, contextSize } = how;
  const rows = [];
  const bytes = fs.statSync(model).size;
  for (const count of threads) {
    console.error(`native, threads: ${count}`);
    const same = { threads: count, prompt, n, contextSize };
    const right = await hashes_of(program, model, { ...same, budget: null });
    const resident = await texts_of(program, model, { ...same, budget: null, cold: false });
    const row = { side: 'native', threads: count, right, resident };
    try {
      const hashes = await hashes_of(program, model, { ...same, budget });
      for (const cold of [false, true]) {
        const reads = read_rates(model, { cold });
        const found = await texts_of(program, model, { ...same, budget, cold });
        // The first pass after the start reads all weights.
        rows.push({ ...row, cold, reads, hashes, ...found, prompt_bytes: bytes, heap: null });
      }
      await with_kept(model, async (url) => {
        const kept_hashes = await hashes_of(program, url, { ...same, budget });
        const reads = read_rates(model, { cold: false });
        const found = await texts_of(program, url, { ...same, budget, cold: false });
        const figures = { reads, hashes: kept_hashes, ...found, prompt_bytes: bytes, heap: null };
        rows.push({ ...row, side: 'kept', cold: false, ...figures });
      });
    } catch (error) {
      rows.push({ ...row, error: error.message });
    }
  }
  return rows;
}
