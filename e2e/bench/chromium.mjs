// The sides of the bench that run in Chromium: Sluice's library and wllama, from one server, in one browser.
import fs from 'node:fs';
import path from 'node:path';
import { Failure, IS_ROOT, ROOT, read_json, which } from '../../scripts/lib.mjs';
import { serve } from '../../scripts/serve.mjs';
import { Tabs, UNTHROTTLED } from './tabs.mjs';

const WLLAMA = path.join(ROOT, 'node_modules/@wllama/wllama');
const FLAGS = [
  ...(IS_ROOT ? ['--no-sandbox'] : []),
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-gpu',
  '--disable-sync',
  '--no-first-run',
];

/** How to install Chromium; '' if it is installed. */
export function chromium_lacks() {
  return find_chromium() === null ? 'node scripts/setup.mjs chromium installs it' : '';
}

/** How to install wllama; '' if it is installed. */
export function wllama_lacks() {
  return fs.existsSync(path.join(WLLAMA, 'esm/wasm/wllama.wasm')) ? '' : 'npm ci installs it';
}

export function find_chromium() {
  return which('chromium') ?? which('chromium-browser') ?? which('google-chrome');
}

/**
 * Starts Chromium with its profile and caches in `dir`, and further flags. Returns Playwright's BrowserContext; closing that
 * ends it. `timeout`: milliseconds until it must have started. `options`: of the context.
 * @param {string} dir
 * @param {string[]} [flags]
 * @param {number} [timeout]
 * @param {import('playwright-core').BrowserContextOptions} [options]
 */
export async function launch_profile(dir, flags = [], timeout = 180_000, options = {}) {
  const executablePath = find_chromium();
  if (executablePath === null) throw new Failure(`Chromium is not there: ${chromium_lacks()}`);
  const { chromium } = await import('playwright-core');
  return chromium.launchPersistentContext(dir, {
    executablePath,
    args: [...FLAGS, ...flags],
    ignoreDefaultArgs: UNTHROTTLED,
    timeout,
    ...options,
  });
}

/** A browser, and servers of a library and a model for its pages. */
export class Browser {
  static async launch() {
    const executablePath = find_chromium();
    if (executablePath === null) throw new Failure(`Chromium is not there: ${chromium_lacks()}`);
    const { chromium } = await import('playwright-core');
    const browser = new Browser();
    browser.handle = await chromium.launch({
      executablePath,
      args: FLAGS,
      ignoreDefaultArgs: UNTHROTTLED,
    });
    return browser;
  }

  get version() {
    return this.handle.version();
  }

  /** Calls body({url, address}) while a checkout's library and the model are served. `url`: of an empty page. */
  async serving(model, checkout, body) {
    const server = await serve({
      dir: path.join(ROOT, 'e2e/harness'),
      port: 0,
      mounts: {
        '/engine/': path.join(checkout, 'web/engine/dist'),
        '/wllama/': path.join(WLLAMA, 'esm'),
        '/models/': path.dirname(model),
      },
    });
    try {
      return await body({ url: server.url, address: `/models/${path.basename(model)}` });
    } finally {
      await server.close();
    }
  }

  /** Runs `body` in a new page. `bypassCSP`: wllama starts its workers from blobs, which the served policy forbids. */
  async run(model, body, argument, { bypassCSP = false } = {}) {
    return this.serving(model, ROOT, async ({ url, address }) => {
      const context = await this.handle.newContext({ bypassCSP });
      try {
        const page = await context.newPage();
        // Once the network is quiet for half a second, the browser has finished its own start.
        await page.goto(url, { waitUntil: 'networkidle' });
        return await page.evaluate(body, { ...argument, address });
      } finally {
        await context.close();
      }
    });
  }

  close() {
    return this.handle.close();
  }
}

/**
 * Runs in the page. Writes for half a second before it measures, until the browser has compiled the hot code. Every
 * prompt begins differently, so that none is in the cache.
 */
async function sluice_in_page({ address, p, n, depth, threads }) {
  const { Engine } = await import('/engine/index.js');
  const contextSize = Math.max(p, depth) + n + 2;
  const engine = await Engine.load(new URL(address, location.href), { threads, contextSize });
  await engine.ready;
  const figures = { load_ms: engine.stats.loadMs };
  let salt = 0;
  const write = async (length, tokens) => {
    ++salt;
    const prompt = Array.from({ length }, (_, k) => 3 + ((k * 7 + salt) % 200));
    const options = { maxTokens: tokens + 1, temperature: 0, ignoreEos: true };
    for await (const token of engine.generate(prompt, options)) void token;
    return engine.stats;
  };
  const until = performance.now() + 500;
  do await write(Math.min(p, 32), 8);
  while (performance.now() < until);
  figures.prompt_tps = (await write(p, 0)).promptTokensPerSecond;
  // From an empty context, as llama-bench and sluice bench do.
  figures.decode_tps = (await write(1, n)).tokensPerSecond;
  if (depth > 0) figures.deep_tps = (await write(depth, n)).tokensPerSecond;
  const { flavour, kernels, threads: used } = engine.stats;
  await engine.close();
  return { figures, facts: { kernels: `${kernels}, ${flavour}`, threads: used } };
}

export function measure_sluice(browser, model, { p, n, depth, threads }) {
  return browser.run(model, sluice_in_page, { p, n, depth, threads });
}

/** The same with wllama. The times are llama.cpp's own (`timings`), without the cost of wllama's interface. */
async function wllama_in_page({ address, texts, p, n, threads }) {
  const { Wllama } = await import('/wllama/index.js');
  const silent = () => {};
  const wllama = new Wllama(
    { default: '/wllama/wasm/wllama.wasm' },
    {
      suppressNativeLog: true,
      logger: { debug: silent, log: silent, warn: silent, error: silent },
    },
  );
  const started = performance.now();
  const blob = await (await fetch(address)).blob();
  await wllama.loadModel([blob], {
    n_gpu_layers: 0,
    n_threads: threads,
    n_ctx: p + n + 64,
    n_batch: Math.max(p, 512),
    n_ubatch: Math.max(p, 512),
    n_parallel: 1,
  });
  const figures = { load_ms: performance.now() - started };
  const write = async (prompt, tokens) => {
    const { timings } = await wllama.createCompletion({
      prompt,
      max_tokens: tokens + 1,
      temperature: 0,
      top_k: 1,
      ignore_eos: true,
      cache_prompt: false,
    });
    if (timings.cache_n !== 0) throw new Error('wllama took a prompt from its cache');
    if (timings.predicted_n !== tokens + 1) throw new Error('wllama ended its text early');
    return timings;
  };
  const until = performance.now() + 500;
  do await write(texts.warm, 8);
  while (performance.now() < until);
  const timings = await write(texts.prompt, 0);
  figures.prompt_tps = (timings.prompt_n / timings.prompt_ms) * 1e3;
  // The decode time starts after the first token. wllama takes no prompt of one token, so this is a short one.
  figures.decode_tps = (n / (await write(texts.warm, n)).predicted_ms) * 1e3;
  const facts = {
    kernels: wllama.isMultithread() ? 'multi-thread' : 'single-thread',
    threads: wllama.getNumThreads(),
    prompt_tokens: timings.prompt_n,
    llama_cpp: Wllama.getLibllamaVersion(),
  };
  await wllama.exit();
  return { figures, facts };
}

/** `texts`: two prompts that begin differently, `warm` of at most 32 tokens and `prompt` of p. */
export async function measure_wllama(browser, model, { p, n, threads, texts }) {
  const argument = { p, n, threads, texts };
  const result = await browser.run(model, wllama_in_page, argument, { bypassCSP: true });
  const { version } = read_json(path.join(WLLAMA, 'package.json'));
  const { llama_cpp, ...facts } = result.facts;
  return {
    figures: result.figures,
    facts: { ...facts, version: `${version} (llama.cpp ${llama_cpp})` },
  };
}

// --- a page that is hidden, or whose own thread is busy ----------------------------------------------------------

async function load_in_tab({ address, threads, contextSize }) {
  const { Engine } = await import('/engine/index.js');
  const engine = await Engine.load(new URL(address, location.href), { threads, contextSize });
  await engine.ready;
  globalThis.engine = engine;
  return engine.stats.threads;
}

/** Decodes n tokens. After the first one the page's own thread is busy for busy_ms. Returns tokens per second. */
async function decode_in_tab({ n, busy_ms }) {
  const { engine } = globalThis;
  const run = engine.generate([3, 4, 5], { maxTokens: n + 1, temperature: 0, ignoreEos: true });
  await run.next();
  const until = performance.now() + busy_ms;
  while (performance.now() < until);
  for await (const token of run) void token;
  return engine.stats.tokensPerSecond;
}

/**
 * Decodes r times in each state of a tab, in turn: visible, hidden behind another tab and, with one thread, with its own
 * thread busy all the time. Returns {threads, visible, hidden, busy: [tokens per second]}.
 */
export async function measure_page(browser, model, { n, r, threads }) {
  return browser.serving(model, ROOT, async ({ url, address }) => {
    const tabs = await Tabs.in(browser.handle);
    try {
      const tab = await tabs.open(url);
      const cover = await tabs.open(url);
      await tab.show();
      const used = await tab.evaluate(load_in_tab, { address, threads, contextSize: n + 8 });
      const decode = (busy_ms) => tab.evaluate(decode_in_tab, { n, busy_ms });
      await decode(0);
      const rates = { visible: [], hidden: [], ...(used === 1 ? { busy: [] } : {}) };
      for (let i = 0; i < r; ++i) {
        await tab.show();
        const visible = await decode(0);
        rates.visible.push(visible);
        // Busy for twice as long as the text should take, so that the text ends first.
        if (used === 1) rates.busy.push(await decode((2e3 * n) / visible));
        await cover.show();
        await tab.hidden();
        rates.hidden.push(await decode(0));
      }
      return { threads: used, ...rates };
    } finally {
      await tabs.close();
    }
  });
}
