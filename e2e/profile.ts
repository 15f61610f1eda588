// A Chromium whose profile lies on disk, and tabs in it that load models from a server which counts. There the cache
// outlives its tabs and the browser; in Playwright's own contexts it lies in memory.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { BrowserContext, Page } from '@playwright/test';
import type * as Library from '@sluice/engine';
import { launch_profile } from './bench/chromium.mjs';
import { inTime } from './browsers/driver';
import { expect, test as base } from './fixtures';
import type { Served, Source } from './hub/served.mjs';
import { Hub } from './hub/server.mjs';
import { harness } from './library';
import {
  begin,
  defineEnd,
  deleteKept,
  endLoad,
  endedOf,
  keepWorkers,
  keptOf,
  killWorker,
  locksOf,
  outcomeOf,
  pinKept,
  progressOf,
  verifyKept,
  type Ended,
  type Options,
  type Outcome,
} from './loads';
import { BUNDLED, IDS, sluice } from './models';
import type { Site } from './servers';

export { expect };

/** Blocks of the bundled model in the cache: the smallest that there are. */
export const BLOCK = 256 << 10;

/** The program's hash of the bundled model's logits after IDS. */
export const bundledHash = (() => {
  let hash = '';
  return (): string => {
    const tokens = IDS.join(',');
    hash ||= (
      JSON.parse(sluice('logits', BUNDLED, '--tokens', tokens, '--hash', '--json')) as {
        hash: string;
      }
    ).hash;
    return hash;
  };
})();

/** A tab with the library, which loads one model at a time. */
export class Tab {
  constructor(readonly page: Page) {}

  /** Opens the library in a page. */
  static async in(page: Page, site: { url: string }): Promise<Tab> {
    await page.addInitScript(keepWorkers);
    await page.addInitScript(defineEnd);
    await harness(page, site);
    return new Tab(page);
  }

  /** Begins a load. `calm`: the engine is closed only when nothing is read or written any more. */
  begin(url: string, options: Options = {}, calm = false): Promise<void> {
    return this.page.evaluate(begin, { url, options, ids: IDS, calm });
  }

  outcome(): Promise<Outcome> {
    return this.page.evaluate(outcomeOf);
  }

  async load(url: string, options: Options = {}, calm = false): Promise<Outcome> {
    await this.begin(url, options, calm);
    return this.outcome();
  }

  progress(): Promise<Library.LoadProgress | null> {
    return this.page.evaluate(progressOf);
  }

  /** Waits until so many bytes have arrived, from the network or from the device. */
  async has(bytes: number): Promise<void> {
    await expect
      .poll(async () => (await this.progress())?.loaded ?? 0, { intervals: [20] })
      .toBeGreaterThanOrEqual(bytes);
  }

  /** Waits until the load says that it waits for something. */
  async waits(reason: RegExp): Promise<void> {
    await expect
      .poll(async () => (await this.progress())?.waiting ?? '', { intervals: [20] })
      .toMatch(reason);
  }

  /** Ends the load that was begun, by its signal or by close(). */
  end(how: 'abort' | 'close' = 'abort'): Promise<Ended> {
    return this.page.evaluate(endLoad, how);
  }

  /** Loads, and aborts that when a phase is reached. */
  async endAt(phase: Library.LoadProgress['phase'], url: string, options: Options): Promise<Ended> {
    const endAt = phase;
    await this.page.evaluate(begin, { url, options, ids: IDS, calm: false, endAt });
    await this.outcome();
    const ended = await this.page.evaluate(endedOf);
    if (ended === null) throw new Error(`the load never came to the phase ${phase}`);
    return ended;
  }

  kept(url: string): Promise<Library.CachedModel | null> {
    return this.page.evaluate(keptOf, url);
  }

  pin(url: string): Promise<void> {
    return this.page.evaluate(pinKept, url);
  }

  verify(url: string): Promise<boolean> {
    return this.page.evaluate(verifyKept, url);
  }

  delete(url: string): Promise<boolean | string> {
    return this.page.evaluate(deleteKept, url);
  }

  locks(): Promise<string[]> {
    return this.page.evaluate(locksOf);
  }

  killLoader(): Promise<void> {
    return this.page.evaluate(killWorker, 'sluice-loader');
  }

  /** Kills the tab's process. */
  async crash(): Promise<void> {
    const crashed = new Promise((resolve) => this.page.once('crash', resolve));
    const session = await this.page.context().newCDPSession(this.page);
    // It is never answered.
    session.send('Page.crash').catch(() => {});
    await crashed;
  }

  close(): Promise<void> {
    return this.page.close();
  }
}

interface Start {
  args?: string[];
  preferences?: object;
}

/** A browser with a profile of its own, which can be killed and started again. */
export class Profile {
  readonly #dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-profile-'));
  #context!: BrowserContext;

  /** `args`: further flags. `preferences`: of the browser, as its file for them has them. */
  async start({ args = [], preferences = {} }: Start = {}): Promise<this> {
    const file = path.join(this.#dir, 'Default/Preferences');
    if (!fs.existsSync(file)) {
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, JSON.stringify(preferences));
    }
    this.#context = await launch_profile(this.#dir, args);
    return this;
  }

  get context(): BrowserContext {
    return this.#context;
  }

  async open(site: Site): Promise<Tab> {
    return Tab.in(await this.#context.newPage(), site);
  }

  /** Kills the browser as a power cut does, without a word. */
  async kill(): Promise<void> {
    const session = await this.#context.browser()?.newBrowserCDPSession();
    const { processInfo = [] } = (await session?.send('SystemInfo.getProcessInfo')) ?? {};
    const own = processInfo.find(({ type }) => type === 'browser');
    if (own === undefined) throw new Error("Chromium doesn't tell the number of its process");
    const gone = new Promise((resolve) => this.#context.once('close', resolve));
    process.kill(own.id, 'SIGKILL');
    await gone;
  }

  async closeTabs(): Promise<void> {
    const [first, ...others] = this.#context.pages();
    for (const page of others) await page.close();
    await first?.goto('about:blank').catch(() => {});
  }

  async close(): Promise<void> {
    // A browser under load may never answer.
    await inTime('closing Chromium', this.#context.close(), 20_000).catch(() => this.kill());
    fs.rmSync(this.#dir, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A file that the server sends up to a place, and no further before it is released. */
export interface Held {
  served: Served;
  /** Cuts the connections that wait; from now on the server sends all. */
  release(): void;
}

export interface Serving {
  hub: Hub;
  /** `place`: bytes of the file. */
  hold(place: number, source?: Source): Held;
}

/** Runs each test with a server and a browser of its worker. */
export const test = base.extend<{ closing: void }, { profile: Profile; serving: Serving }>({
  closing: [
    async ({ profile }, use) => {
      await use();
      await profile.closeTabs();
    },
    { auto: true },
  ],

  profile: [
    async ({}, use) => {
      const profile = await new Profile().start();
      await use(profile);
      await profile.close();
    },
    { scope: 'worker' },
  ],

  serving: [
    async ({}, use) => {
      const hub = await Hub.start();
      const hold = (place: number, source: Source = BUNDLED): Held => {
        let released = false;
        const served = hub.add('model.gguf', source, {
          plan: ({ sent }) => (released ? {} : { stall: Math.max(0, place - sent) }),
        });
        const release = (): void => {
          released = true;
          hub.drop_connections();
        };
        return { served, release };
      };
      await use({ hub, hold });
      await hub.close();
    },
    { scope: 'worker' },
  ],
});
