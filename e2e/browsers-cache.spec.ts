// What Firefox and WebKit keep of models: filled, resumed after a kill, used without the server, in two tabs, deleted. Where
// nothing can be kept, models load all the same, and a note says so.
import fs from 'node:fs';
import path from 'node:path';
import type { Tab } from './browsers/driver';
import { Firefox } from './browsers/firefox';
import { LAPTOP, expect, test as base } from './browsers/fixtures';
import { WebKit } from './browsers/webkit';
import { Hub } from './hub/server.mjs';
import type { Served } from './hub/served.mjs';
import { importLibrary } from './library';
import {
  begin,
  deleteKept,
  endLoad,
  defineEnd,
  keepWorkers,
  keptOf,
  killWorker,
  locksOf,
  outcomeOf,
  progressOf,
  verifyKept,
  type Outcome,
} from './loads';
import { BUNDLED, IDS, NO_NATIVE, nativeBuilt } from './models';
import { BLOCK, bundledHash } from './profile';
import { KEEPS, ONCE } from './tags';

base.skip(!nativeBuilt, NO_NATIVE);

/** In the fifth block. */
const PLACE = 4 * BLOCK + 100_000;

/** Calls of the library in a tab. */
class Caller {
  constructor(readonly tab: Tab) {}

  static async in(tab: Tab): Promise<Caller> {
    await tab.evaluate(keepWorkers, undefined);
    await tab.evaluate(defineEnd, undefined);
    await tab.evaluate(importLibrary, undefined);
    return new Caller(tab);
  }

  begin(url: string): Promise<void> {
    const options = { stallTimeout: 120_000, threads: 2 };
    return this.tab.evaluate(begin, { url, options, ids: IDS, calm: true });
  }

  outcome(): Promise<Outcome> {
    return this.tab.evaluate(outcomeOf, undefined);
  }

  async load(url: string): Promise<Outcome> {
    await this.begin(url);
    return this.outcome();
  }

  async has(bytes: number): Promise<void> {
    await expect
      .poll(async () => (await this.tab.evaluate(progressOf, undefined))?.loaded ?? 0, {
        intervals: [50],
      })
      .toBeGreaterThanOrEqual(bytes);
  }

  async unlocked(): Promise<void> {
    await expect.poll(() => this.tab.evaluate(locksOf, undefined)).toEqual([]);
  }
}

interface Fixtures {
  /** Opens a tab with the library. */
  caller: () => Promise<Caller>;
  hub: Hub;
}

const test = base.extend<Fixtures>({
  caller: async ({ open }, use) => {
    await use(async () => Caller.in(await open('harness/')));
  },
  hub: async ({}, use) => {
    const hub = await Hub.start();
    await use(hub);
    await hub.close();
  },
});

/** A file that is sent up to PLACE, until it is released. */
function hold(hub: Hub): { served: Served; release: () => void } {
  let released = false;
  const served = hub.add('model.gguf', BUNDLED, {
    plan: ({ sent }) => (released ? {} : { stall: Math.max(0, PLACE - sent) }),
  });
  const release = (): void => {
    released = true;
    hub.drop_connections();
  };
  return { served, release };
}

const GOOD = { code: '', message: '' };

test('a model is kept, used without the server, and deleted; or a note says that it is not kept', async ({
  caller,
  way,
  allowed,
  hub,
}) => {
  allowed.push(/Cross-Origin Request Blocked/);
  const { url, counts, size } = hub.add('model.gguf', BUNDLED);
  const tab = await caller();
  const first = await tab.load(url);
  expect(first).toMatchObject({ ...GOOD, hash: bundledHash() });
  if (way.keepsNothing !== null) {
    expect(first.notes.map(({ message }) => message).join('\n')).toMatch(way.keepsNothing);
    expect(await tab.load(url)).toMatchObject({ ...GOOD, hash: bundledHash() });
    expect(counts.bytes).toBe(2 * size);
    expect(await tab.tab.evaluate(keptOf, url)).toBeNull();
    expect(await tab.tab.evaluate(deleteKept, url)).toBe(false);
    return;
  }
  await tab.unlocked();
  await hub.close();
  const again = await tab.load(url);
  expect(again).toMatchObject({
    ...GOOD,
    hash: bundledHash(),
    source: 'cache',
    cachedBytes: size,
  });
  // Another tab, too.
  const other = await caller();
  expect(await other.load(url)).toMatchObject({ ...GOOD, hash: bundledHash(), source: 'cache' });
  expect(await tab.tab.evaluate(verifyKept, url)).toBe(true);
  expect(await tab.tab.evaluate(deleteKept, url)).toBe(true);
  expect(await other.tab.evaluate(keptOf, url)).toBeNull();
});

for (const how of ['at once', 'closed', 'killed', 'aborted'] as const) {
  test(
    `two tabs: one downloads, the other follows, ${how}`,
    { tag: ONCE },
    async ({ caller, way, hub }) => {
      const { served, release } = hold(hub);
      const { url, counts, size } = served;
      const keeps = way.keepsNothing === null;
      const first = await caller();
      const second = await caller();
      if (how === 'at once') release();
      await first.begin(url);
      if (how !== 'at once') await first.has(PLACE);
      await second.begin(url);
      if (how !== 'at once') await second.has(keeps ? 4 * BLOCK : 0);
      if (how === 'closed') await first.tab.close();
      if (how === 'killed') await first.tab.evaluate(killWorker, 'sluice-loader');
      if (how === 'aborted') await first.tab.evaluate(endLoad, 'abort');
      if (how !== 'at once') {
        await expect.poll(() => counts.requests).toBe(2);
        release();
      }
      expect(await second.outcome()).toMatchObject({ ...GOOD, hash: bundledHash() });
      if (how === 'at once')
        expect(await first.outcome()).toMatchObject({ ...GOOD, hash: bundledHash() });
      expect(counts.sent.size).toBe(size);
      if (!keeps) return;
      expect(counts.again, 'bytes sent again').toBeLessThanOrEqual(how === 'at once' ? 0 : BLOCK);
      await second.unlocked();
      expect(await second.tab.evaluate(verifyKept, url)).toBe(true);
      expect(await second.tab.evaluate(deleteKept, url)).toBe(true);
    },
  );
}

test('a killed browser goes on at a block', { tag: [KEEPS, ONCE] }, async ({ site, hub }, info) => {
  const profile = path.join(info.outputDir, 'killed');
  fs.mkdirSync(profile, { recursive: true });
  const { served, release } = hold(hub);
  const { url, counts } = served;
  let firefox = await Firefox.launch(profile);
  try {
    const tab = await Caller.in(await firefox.open(`${site.url}harness/`, LAPTOP));
    await tab.begin(url);
    await tab.has(PLACE);
    await firefox.kill();
    release();
    firefox = await Firefox.launch(profile);
    const next = await Caller.in(await firefox.open(`${site.url}harness/`, LAPTOP));
    const outcome = await next.load(url);
    expect(outcome).toMatchObject({ ...GOOD, hash: bundledHash(), cachedBytes: 4 * BLOCK });
    expect(counts.again, 'bytes sent again').toBe(PLACE - 4 * BLOCK);
    expect(await next.tab.evaluate(verifyKept, url)).toBe(true);
  } finally {
    await firefox.close();
  }
});

test(
  'a private window loads without the cache, and says so',
  { tag: ONCE },
  async ({ way, site, hub }, info) => {
    const { url, counts, size } = hub.add('model.gguf', BUNDLED);
    const profile = path.join(info.outputDir, 'private');
    fs.mkdirSync(profile, { recursive: true });
    const features = 'StorageAPI,StorageAPIEstimate,FileSystem,AccessHandle';
    const browser =
      way.browser === 'firefox'
        ? await Firefox.launch(profile, true)
        : await WebKit.launch(way.sharedMemory === true, features);
    try {
      const tab = await Caller.in(await browser.open(`${site.url}harness/`, LAPTOP));
      for (let i = 0; i < 2; ++i) {
        const { code, message, hash, notes } = await tab.load(url);
        expect({ code, message, hash }).toEqual({ ...GOOD, hash: bundledHash() });
        expect(notes.map((note) => note.message).join('\n')).toMatch(
          /isn't kept on this device: this browser lets the page keep no files \(.*private window/,
        );
      }
      expect(counts.bytes).toBe(2 * size);
    } finally {
      await browser.close();
    }
  },
);
