// Several tabs that load the same address, in every order of starting, closing and killing: the file is downloaded once,
// and each tab that is left gets the right model.
import { Random } from './hub/random.mjs';
import { BUNDLED, NO_NATIVE, nativeBuilt } from './models';
import { MORE } from './tags';
import { BLOCK, bundledHash, expect, test, type Held, type Profile, type Tab } from './profile';
import type { Site } from './servers';

test.skip(!nativeBuilt, NO_NATIVE);

/** In the fifth block. */
const PLACE = 4 * BLOCK + 100_000;
/** The server holds back the file for as long as the test wants. */
const PATIENT = { stallTimeout: 120_000 };

/** Ways in which a tab stops loading. */
const ENDS: Record<string, (tab: Tab) => Promise<unknown>> = {
  'is closed': (tab) => tab.close(),
  'has its process killed': (tab) => tab.crash(),
  'has its loader killed': (tab) => tab.killLoader(),
  'aborts its load': (tab) => tab.end('abort'),
};

/** Two tabs in the middle of the file: the first downloads it, the second follows. */
async function twoTabs(
  profile: Profile,
  site: Site,
  held: Held,
): Promise<{ first: Tab; second: Tab }> {
  const { url } = held.served;
  const first = await profile.open(site);
  const second = await profile.open(site);
  await first.begin(url, PATIENT);
  await first.has(PLACE);
  await second.begin(url, PATIENT);
  // What is there of the file, in whole blocks.
  await second.has(4 * BLOCK);
  expect(held.served.counts.requests, 'requests').toBe(1);
  return { first, second };
}

async function checkKept(tab: Tab, { served }: Held, again: number): Promise<void> {
  const { counts } = served;
  expect(counts.sent.size, 'bytes sent').toBe(served.size);
  expect(counts.again, 'bytes sent again').toBeLessThanOrEqual(again);
  await expect.poll(() => tab.locks(), { message: 'locks' }).toEqual([]);
  expect(await tab.verify(served.url), 'cache.verify').toBe(true);
  const requests = counts.requests;
  const later = await tab.load(served.url);
  expect(later).toMatchObject({ hash: bundledHash(), code: '', source: 'cache' });
  expect(counts.requests, 'requests for a model that is kept').toBe(requests);
  expect(await tab.delete(served.url), 'cache.delete').toBe(true);
}

for (const isolated of [true, false]) {
  const where = isolated ? '' : ', without isolation';
  for (const [how, end] of Object.entries(ENDS)) {
    const tag = isolated || /closed/.test(how) ? [] : MORE;
    test(
      `the tab that downloads ${how}: the other goes on${where}`,
      { tag },
      async ({ profile, serving, sites }) => {
        const held = serving.hold(PLACE);
        const site = isolated ? sites.isolated : sites.plain;
        const { first, second } = await twoTabs(profile, site, held);
        await end(first);
        // The second asks for the rest; it is held back, too.
        await expect.poll(() => held.served.counts.requests).toBe(2);
        held.release();
        expect(await second.outcome()).toMatchObject({ hash: bundledHash(), code: '' });
        await checkKept(second, held, BLOCK);
      },
    );
  }
}

for (const [how, end] of Object.entries(ENDS)) {
  const tag = /process/.test(how) ? [] : MORE;
  test(
    `the tab that follows ${how}: the other goes on`,
    { tag },
    async ({ profile, serving, sites }) => {
      const held = serving.hold(PLACE);
      const { first, second } = await twoTabs(profile, sites.isolated, held);
      await end(second);
      held.release();
      expect(await first.outcome()).toMatchObject({ hash: bundledHash(), code: '' });
      expect(held.served.counts.requests).toBe(2); // the one that was cut, and the one that goes on
      await checkKept(first, held, 0);
    },
  );
}

test('four tabs, of which the one that downloads is killed three times', async ({
  profile,
  serving,
  sites,
}) => {
  let place = 2 * BLOCK + 50_000;
  const served = serving.hub.add('model.gguf', BUNDLED, {
    plan: ({ range }) => ({ stall: place - Number(/\d+/.exec(range ?? '')?.[0]) }),
  });
  const tabs: Tab[] = [];
  for (let i = 0; i < 4; ++i) tabs.push(await profile.open(sites.isolated));
  const [first, ...others] = tabs as [Tab, ...Tab[]];
  await first.begin(served.url, PATIENT);
  await first.has(place);
  for (const tab of others) await tab.begin(served.url, PATIENT);
  let left = tabs;
  for (const end of Object.values(ENDS).slice(0, 3)) {
    // The one that has a part of a block downloads; the others have whole blocks.
    let writer: Tab | undefined;
    const whole = Math.floor(place / BLOCK) * BLOCK;
    await expect
      .poll(async () => {
        const came = await Promise.all(
          left.map(async (tab) => (await tab.progress())?.loaded ?? 0),
        );
        writer = left[came.findIndex((bytes) => bytes > whole)];
        return writer !== undefined && came.every((bytes) => bytes >= whole);
      })
      .toBe(true);
    if (writer === undefined) throw new Error('nobody downloads');
    place = left.length > 2 ? place + 2 * BLOCK : served.size;
    left = left.filter((tab) => tab !== writer);
    await end(writer);
  }
  const [last] = left as [Tab];
  expect(await last.outcome()).toMatchObject({ hash: bundledHash(), code: '' });
  expect(served.counts.requests).toBe(4);
  await checkKept(last, { served, release: () => {} }, 3 * BLOCK);
});

test('two tabs at once: one downloads', async ({ profile, serving, sites }) => {
  for (const site of [sites.isolated, sites.plain]) {
    const served = serving.hub.add('model.gguf', BUNDLED);
    const tabs = [await profile.open(site), await profile.open(site)] as const;
    const outcomes = await Promise.all(tabs.map((tab) => tab.load(served.url)));
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ hash: bundledHash(), code: '' });
    await checkKept(tabs[0], { served, release: () => {} }, 0);
  }
});

test('what another tab loads is in use, and can be deleted afterwards', async ({
  profile,
  serving,
  sites,
}) => {
  const held = serving.hold(PLACE);
  const { url } = held.served;
  const { first, second } = await twoTabs(profile, sites.isolated, held);
  const third = await profile.open(sites.isolated);
  expect(await third.delete(url)).toBe('busy');
  expect(await third.kept(url)).toMatchObject({ complete: false, inUse: true, stored: 4 * BLOCK });
  // The one that follows uses it, too.
  await first.close();
  expect(await third.delete(url)).toBe('busy');
  held.release();
  expect(await second.outcome()).toMatchObject({ hash: bundledHash(), code: '' });
  await expect.poll(() => second.locks()).toEqual([]);
  expect(await third.kept(url)).toMatchObject({ complete: true, inUse: false });
  expect(await third.delete(url)).toBe(true);
  expect(await third.delete(url)).toBe(false);
  expect(await third.kept(url)).toBeNull();
});

for (const seed of [1, 2, 3, 4, 5, 6]) {
  test(
    `tabs that start and end in a random order, seed ${seed}`,
    { tag: MORE },
    async ({ profile, serving, sites }) => {
      const random = new Random(seed);
      const site = random.chance(0.5) ? sites.isolated : sites.plain;
      // Some three seconds for the whole file.
      const served = serving.hub.add('model.gguf', BUNDLED, { plan: () => ({ rate: 900_000 }) });
      const { url } = served;
      let loading: Tab[] = [];
      let ends = 0;
      for (let step = 0; step < 12; ++step) {
        if (loading.length === 0 || (loading.length < 3 && random.chance(0.5))) {
          const tab = await profile.open(site);
          await tab.begin(url);
          loading.push(tab);
        } else {
          const tab = random.pick(loading);
          loading = loading.filter((one) => one !== tab);
          await random.pick(Object.values(ENDS))(tab);
          ++ends;
        }
        await new Promise((later) => setTimeout(later, random.whole(0, 400)));
      }
      const last = await profile.open(site);
      await last.begin(url);
      for (const tab of [...loading, last]) {
        expect(await tab.outcome()).toMatchObject({ hash: bundledHash(), code: '' });
      }
      // Of each download that ended: a part of a block, and what was on its way.
      await checkKept(last, { served, release: () => {} }, 2 * BLOCK * ends);
    },
  );
}
