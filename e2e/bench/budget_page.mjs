// The library in Chromium under a memory budget: from the cache on disk and from a File of the user's. Each measurement has a
// tab of its own, whose process is watched.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Failure, ROOT } from '../../scripts/lib.mjs';
import { serve } from '../../scripts/serve.mjs';
import { Hub } from '../hub/server.mjs';
import { DECODED, ids_of } from './budget_native.mjs';
import { launch_profile } from './chromium.mjs';
import { PIECES, memory_of, reset_peak } from './process.mjs';

/** The ways of reading, by where the model is. */
const WAYS = { opfs: ['handle'], file: ['sync', 'slices'] };

/** Runs in the page: keeps the model on the device, under the budget if there is one. */
async function keep_in_page({ url, options }) {
  const { Engine, cache } = await import('/engine/index.js');
  const engine = await Engine.load(url, { ...options, cache: 'opfs' });
  await engine.ready;
  while (!(await cache.has(url))) await new Promise((later) => setTimeout(later, 100));
  await engine.close();
}

/** Runs in the page, which has a chooser with the file in it. Leaves the engine open. */
async function measure_in_page({ url, source, options, hashed, prompts, decoded, n }) {
  const { Engine } = await import('/engine/index.js');
  const from = source === 'opfs' ? url : document.querySelector('input').files[0];
  const { memory } = await Engine.probe(from, options);
  const began = performance.now();
  const engine = await Engine.load(from, options);
  await engine.ready;
  const load_ms = performance.now() - began;
  const hash = async (ids, batch) => (await engine.logits(ids, { batch })).hash;
  const hashes = { prompt: await hash(hashed, 0), decode: await hash(decoded, 1) };
  const write = async (ids, tokens) => {
    const begun = performance.now();
    let [first, last] = [0, 0];
    const how = { maxTokens: tokens, temperature: 0, ignoreEos: true };
    for await (const token of engine.generate(ids, how)) {
      last = token.id < 0 ? last : performance.now();
      first ||= last;
    }
    return { prompt_ms: first - begun, text_ms: last - first };
  };
  const [prompt_ms, text_ms] = [[], []];
  for (const ids of prompts) prompt_ms.push((await write(ids, 1)).prompt_ms);
  for (let i = 0; i < 3; ++i) text_ms.push((await write([5 + i], n + 1)).text_ms);
  const middle = (times) => times.sort((a, b) => a - b)[times.length >> 1];
  const { rereadBytes, waitedMs, heapBytes, notes, threads, kernels } = engine.stats;
  globalThis.engine = engine;
  return {
    memory,
    load_ms,
    hashes,
    threads,
    kernels,
    notes,
    prompt_tps: (1000 * prompts[0].length) / middle(prompt_ms),
    decode_tps: (1000 * n) / middle(text_ms),
    reread_bytes: rereadBytes,
    waited_ms: waitedMs,
    heap: heapBytes,
  };
}

/** Runs in the page: bytes per second of reading the file in each way and size of piece. */
async function rates_in_page({ file, ways, pieces }) {
  const rates = {};
  for (const way of ways) {
    for (const piece of pieces) {
      const from = way === 'handle' ? file : document.querySelector('input').files[0];
      globalThis.reader.postMessage({ way, file: from, piece });
      const answer = await new Promise((resolve) => {
        globalThis.reader.onmessage = ({ data }) => resolve(data);
      });
      if (typeof answer !== 'number') throw new Error(`reading by ${way}: ${answer}`);
      rates[`${piece >> 20} ${way}`] = answer;
    }
  }
  return rates;
}

/** The number of the process in which the page's worker runs. */
async function process_of(context) {
  const session = await context.browser().newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const tasks_of = (pid) =>
    fs.existsSync(`/proc/${pid}`) ? fs.readdirSync(`/proc/${pid}/task`) : [];
  const is_worker = (pid, task) => {
    try {
      return fs
        .readFileSync(`/proc/${pid}/task/${task}/comm`, 'utf8')
        .startsWith('DedicatedWorker');
    } catch {
      return false; // it has ended
    }
  };
  const has_worker = ({ id }) => tasks_of(id).some((task) => is_worker(id, task));
  const found = processInfo.filter(({ type }) => type === 'renderer').filter(has_worker);
  if (found.length !== 1) throw new Failure(`${found.length} processes have a worker instead of 1`);
  return found[0].id;
}

/** A browser with its profile on disk, and a model that it keeps. */
export class BudgetPages {
  /** `options`: of the load that keeps the model. */
  static async open(model, options) {
    const pages = new BudgetPages();
    pages.model = model;
    pages.profile = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-budget-'));
    const mounts = {
      '/engine/': path.join(ROOT, 'web/engine/dist'),
      '/bench/': path.join(ROOT, 'e2e/bench'),
    };
    pages.hub = await Hub.start();
    pages.site = await serve({ dir: path.join(ROOT, 'e2e/harness'), port: 0, mounts });
    pages.context = await launch_profile(pages.profile);
    pages.url = pages.hub.add(path.basename(model), model).url;
    pages.keep_options = options;
    return pages;
  }

  /** Downloads the model into the cache. */
  async keep() {
    console.error('keeping the model on the device');
    await this.#in_tab((page) =>
      page.evaluate(keep_in_page, { url: this.url, options: this.keep_options }),
    );
  }

  async #in_tab(body) {
    const page = await this.context.newPage();
    try {
      await page.goto(this.site.url, { waitUntil: 'networkidle' });
      await page.evaluate(() => document.body.append(document.createElement('input')));
      await page.evaluate(() => (document.querySelector('input').type = 'file'));
      await page.setInputFiles('input', this.model);
      return await body(page);
    } finally {
      await page.close();
    }
  }

  /** Measures once. `source`: 'opfs' or 'file'. `reading`: also the rates of reading, in the same tab. */
  async measure(source, { options, prompt, n, reading }) {
    const argument = {
      url: this.url,
      source,
      options,
      n,
      hashed: ids_of(prompt),
      decoded: ids_of(DECODED),
      prompts: [1, 2, 3].map((salt) => ids_of(prompt, salt)),
    };
    return this.#in_tab(async (page) => {
      await page.evaluate(() => {
        globalThis.reader = new Worker('/bench/rate_worker.js', { type: 'module' });
      });
      // A read of nothing: the worker has made its memory.
      await page.evaluate(
        () =>
          new Promise((resolve) => {
            globalThis.reader.onmessage = resolve;
            globalThis.reader.postMessage({ way: 'sync', file: new Blob([]), piece: 1 });
          }),
      );
      const pid = await process_of(this.context);
      const before = memory_of(pid, 'VmRSS');
      reset_peak(pid);
      const found = await page.evaluate(measure_in_page, argument);
      const grown = memory_of(pid, 'VmHWM') - before;
      const digest = createHash('sha256').update(this.url).digest('hex').slice(0, 32);
      const how = { file: `${digest}.gguf`, ways: WAYS[source], pieces: PIECES };
      const reads = reading ? await page.evaluate(rates_in_page, how) : {};
      await page.evaluate(() => globalThis.engine.close());
      return { ...found, grown, reads };
    });
  }

  async close() {
    await this.context.close();
    await Promise.all([this.site.close(), this.hub.close()]);
    fs.rmSync(this.profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Rows for each number of threads and each source, with the program's hashes as the right ones. */
export async function measure_page_budget(model, how) {
  const { budget, threads, prompt, n, contextSize, right } = how;
  const pages = await BudgetPages.open(model, { contextSize });
  const rows = [];
  try {
    await pages.keep();
    for (const count of threads) {
      const same = { prompt, n };
      const options = { contextSize, threads: count };
      console.error(`Chromium, threads: ${count}`);
      const resident = await pages.measure('opfs', { ...same, options, reading: false });
      for (const source of Object.keys(WAYS)) {
        const row = { side: source, threads: count, cold: false, right, resident };
        const under = { ...options, memoryBudget: budget };
        try {
          const found = await pages.measure(source, { ...same, options: under, reading: true });
          const prompt_bytes = found.memory?.rereadBytes ?? NaN;
          rows.push({ ...row, ...found, prompt_bytes, peak: found.grown });
        } catch (error) {
          rows.push({ ...row, error: error.message.split('\n')[0] });
        }
      }
    }
    return rows;
  } finally {
    await pages.close();
  }
}
