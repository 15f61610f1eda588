// @ts-check
// A Chromium with its profile on disk, in whose tabs the library loads models.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ROOT } from '../../scripts/lib.mjs';
import { serve } from '../../scripts/serve.mjs';
import { launch_profile } from '../bench/chromium.mjs';
import { IDS } from './models.mjs';

/**
 * @typedef {import('playwright-core').BrowserContext} BrowserContext
 * @typedef {import('playwright-core').Page} Page
 * @typedef {import('./judge.mjs').Outcome} Outcome
 */

/** A load that takes longer than this, ms, counts as hanging: far more than any takes on a busy machine. */
export const HANGING = 150_000;

/** The library without the page, with and without cross-origin isolation. */
export class Sites {
  /** @type {{url: string, close(): Promise<void>}[]} */
  #sites = [];

  static async open() {
    const sites = new Sites();
    for (const isolation of [true, false]) {
      const mounts = { '/engine/': path.join(ROOT, 'web/engine/dist') };
      const dir = path.join(ROOT, 'e2e/harness');
      sites.#sites.push(await serve({ dir, port: 0, isolation, mounts }));
    }
    return sites;
  }

  /** @param {boolean} isolation */
  url(isolation) {
    return this.#sites[isolation ? 0 : 1]?.url ?? '';
  }

  async close() {
    await Promise.all(this.#sites.map((site) => site.close()));
  }
}

/** Runs in the tab, before any script of it: keeps the workers, so that one of them can be killed. */
function keep_workers() {
  const { Worker } = window;
  /** @type {Worker[]} */
  const workers = [];
  Object.assign(window, { workers });
  window.Worker = class extends Worker {
    /** @param {string | URL} url @param {WorkerOptions} [options] */
    constructor(url, options) {
      super(url, options);
      workers.push(this);
    }
  };
}

/**
 * Runs in the tab: loads a model and returns the hash of its logits, or the error. `early`: asks for the logits before all
 * weights are there. `window.loaded`: the bytes that have come so far.
 * @param {{address: string, options: object, early: boolean, ids: number[]}} about
 * @returns {Promise<Outcome>}
 */
async function load_in_tab({ address, options, early, ids }) {
  const { Engine } = await import(/** @type {string} */ ('/engine/index.js'));
  /** @type {Outcome} */
  const outcome = {};
  Object.assign(window, { loaded: 0 });
  const onProgress = (/** @type {{loaded: number}} */ { loaded }) =>
    Object.assign(window, { loaded });
  try {
    const engine = await Engine.load(address, { ...options, onProgress });
    try {
      if (!early) await engine.ready;
      outcome.hash = (await engine.logits(ids)).hash;
      await engine.ready;
    } finally {
      await engine.close();
    }
  } catch (error) {
    const { code, message } = /** @type {{code?: string, message?: string}} */ (error);
    outcome.code = code ?? 'no code';
    outcome.message = message ?? String(error);
  }
  return outcome;
}

/**
 * Runs in the tab: calls a function of the cache.
 * @param {{name: 'has' | 'verify' | 'delete' | 'list', address: string, options: object}} call
 */
async function call_cache({ name, address, options }) {
  const { cache } = await import(/** @type {string} */ ('/engine/index.js'));
  return name === 'list' ? cache.list() : cache[name](address, options);
}

/**
 * Resolves with `late` if the work takes longer than `limit` ms.
 * @template T
 * @param {Promise<T>} work
 * @param {T} late
 * @param {number} [limit]
 * @returns {Promise<T>}
 */
export async function within(work, late, limit = HANGING) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const end = new Promise((/** @type {(late: T) => void} */ resolve) => {
    timer = setTimeout(() => resolve(late), limit);
  });
  try {
    return await Promise.race([work, end]);
  } finally {
    clearTimeout(timer);
  }
}

/** A tab with the library in it. */
export class Tab {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
  }

  /**
   * @param {string} address
   * @param {object} options of Engine.load
   * @param {boolean} early
   * @returns {Promise<Outcome>}
   */
  load(address, options, early) {
    const work = this.page
      .evaluate(load_in_tab, { address, options, early, ids: IDS })
      .catch((/** @type {Error} */ { message }) => ({ code: 'the tab', message }));
    return within(work, { hangs: true, message: `no end after ${HANGING / 1000} s` });
  }

  /**
   * A function of the cache; {error} if it throws.
   * @param {'has' | 'verify' | 'delete' | 'list'} name
   * @param {string} address
   * @param {object} [options]
   * @returns {Promise<any>}
   */
  cache(name, address, options = {}) {
    const work = this.page
      .evaluate(call_cache, { name, address, options })
      .catch((/** @type {Error} */ error) => ({ error: error.message.split('\n')[0] }));
    return within(work, { error: 'it hangs' });
  }

  /** Bytes that the load has reported. @returns {Promise<number>} */
  loaded() {
    return this.page.evaluate(() => /** @type {any} */ (window).loaded ?? 0);
  }

  /** Ends one of the tab's workers, as the browser does when it needs their memory. @param {number} choice from 0 to 1 */
  kill_worker(choice) {
    return this.page.evaluate((choice) => {
      const { workers } = /** @type {{workers: Worker[]} & Window} */ (/** @type {any} */ (window));
      workers[Math.floor(choice * workers.length)]?.terminate();
    }, choice);
  }

  /** Ends the tab's process. */
  async crash() {
    const crashed = new Promise((resolve) => this.page.once('crash', resolve));
    const session = await this.page.context().newCDPSession(this.page);
    // It is never answered.
    session.send('Page.crash').catch(() => {});
    await crashed;
  }

  async close() {
    await this.page.close();
  }
}

/** How often Chromium is started, if it doesn't start within LAUNCH ms: on a busy machine it sometimes never does. */
const LAUNCHES = 3;
const LAUNCH = 60_000;

/** @param {string} dir */
async function launch(dir) {
  for (let i = 1; ; ++i) {
    try {
      const context = await launch_profile(dir, [], LAUNCH);
      await context.addInitScript(keep_workers);
      return context;
    } catch (error) {
      if (i === LAUNCHES) throw error;
    }
  }
}

export class Browser {
  /** @type {BrowserContext} */
  #context;
  #dir;

  /** @param {BrowserContext} context @param {string} dir */
  constructor(context, dir) {
    this.#context = context;
    this.#dir = dir;
  }

  /** With a new profile. */
  static async start() {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-profile-'));
    return new Browser(await launch(dir), dir);
  }

  /** @param {string} url of the library's site */
  async open(url) {
    const page = await this.#context.newPage();
    await page.goto(url, { timeout: HANGING });
    return new Tab(page);
  }

  /** Kills its process, as a crash does, and starts another one with the same profile. */
  async kill() {
    const session = await this.#context.browser()?.newBrowserCDPSession();
    const { processInfo } = (await session?.send('SystemInfo.getProcessInfo')) ?? {
      processInfo: [],
    };
    const own = processInfo.find(({ type }) => type === 'browser');
    if (own === undefined) throw new Error("Chromium doesn't tell the number of its process");
    const gone = new Promise((resolve) => this.#context.once('close', resolve));
    process.kill(own.id, 'SIGKILL');
    await gone;
    this.#context = await launch(this.#dir);
  }

  async close() {
    await this.#context.close();
    fs.rmSync(this.#dir, { recursive: true, force: true, maxRetries: 5 });
  }
}
