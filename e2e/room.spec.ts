// Where there is little room for the cache, or none at all: a quota that is nearly full, one that runs out in the middle,
// private windows, blocked storage, pages without a secure context. Loads go on without the cache, and say so.
import fs from 'node:fs';
import type { Outcome } from './loads';
import { BUNDLED, NO_NATIVE, nativeBuilt } from './models';
import { Profile, Tab, bundledHash, expect, test } from './profile';
import { servePage, type Site } from './servers';
import { MORE } from './tags';

test.skip(!nativeBuilt, NO_NATIVE);

const SIZE = fs.statSync(BUNDLED).size;
/** Chromium tells every site the same quota, of some GB, and refuses what is beyond the real one. */
const FIGURES =
  /the cache needs 2\.58 MB more, and the browser refuses that, though it says that \d/;

/** A tab at an origin of its own, which may keep so many bytes. */
async function tabWithQuota(
  profile: Profile,
  bytes: number,
): Promise<{ tab: Tab; site: Site; grant(bytes: number): Promise<void> }> {
  const site = await servePage(true);
  const tab = await profile.open(site);
  const session = await tab.page.context().newCDPSession(tab.page);
  const grant = async (quotaSize: number): Promise<void> => {
    const { origin } = new URL(site.url);
    await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize });
  };
  await grant(bytes);
  return { tab, site, grant };
}

function expectNote({ hash, code, notes }: Outcome, note: RegExp, reason = 'storage_full'): void {
  expect({ hash, code }).toEqual({ hash: bundledHash(), code: '' });
  expect(notes.map(({ message }) => message).join('\n')).toMatch(note);
  expect(notes.at(-1)).toMatchObject({ code: 'model_not_kept', facts: { reason } });
}

for (const quota of [1000, 2e6, SIZE]) {
  test(
    `with a quota of ${quota} bytes a load goes on without the cache, or fails if it was asked for`,
    { tag: quota === 1000 ? MORE : [] },
    async ({ profile, serving }) => {
      const { tab, site } = await tabWithQuota(profile, quota);
      const served = serving.hub.add('model.gguf', BUNDLED);
      const { url, counts } = served;
      // With 1000 bytes there is not even room for the journal.
      const figures = quota > 1000 ? FIGURES : /the cache needs 16384 bytes more/;
      expectNote(await tab.load(url), figures);
      expect(counts.bytes, 'bytes sent').toBe(served.size);
      await expect.poll(() => tab.locks()).toEqual([]);
      expect(await tab.kept(url)).toBeNull();
      const asked = await tab.load(url, { cache: 'opfs' });
      expect(asked.code, asked.message).toBe('storage_full');
      expect(asked.message).toMatch(figures);
      await expect.poll(() => tab.locks()).toEqual([]);
      expect(await tab.kept(url)).toBeNull();
      await site.close();
    },
  );
}

test('the model that was not used for longest makes room, unless it is pinned', async ({
  profile,
  serving,
}) => {
  // For two models: while a file is written, Chromium counts up to twice its size.
  const { tab, site } = await tabWithQuota(profile, 3.5 * SIZE);
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(
    (name) => serving.hub.add(`${name}.gguf`, BUNDLED).url,
  ) as [string, string, string, string];
  const kept = async (): Promise<boolean[]> =>
    Promise.all([a, b, c, d].map(async (url) => (await tab.kept(url))?.complete === true));
  for (const url of [a, b, a]) expect((await tab.load(url, {}, true)).hash).toBe(bundledHash());
  expect(await kept()).toEqual([true, true, false, false]);
  await expect.poll(() => tab.locks()).toEqual([]);
  expect((await tab.load(c, { cache: 'opfs' })).hash).toBe(bundledHash());
  expect(await kept()).toEqual([true, false, true, false]);
  await tab.pin(a);
  await expect.poll(() => tab.locks()).toEqual([]);
  expect((await tab.load(d)).hash).toBe(bundledHash());
  expect(await kept()).toEqual([true, false, false, true]);
  await tab.pin(d);
  await expect.poll(() => tab.locks()).toEqual([]);
  expect((await tab.load(c, { cache: 'opfs' })).code).toBe('storage_full');
  expectNote(await tab.load(c), FIGURES);
  expect(await kept()).toEqual([true, false, false, true]);
  await site.close();
});

test('a quota that runs out in the middle', async ({ profile, serving }) => {
  const { tab, site } = await tabWithQuota(profile, 2e6);
  // A server that doesn't tell the length.
  const served = serving.hub.add('model.gguf', BUNDLED, {
    plan: () => ({ ignoreRange: true, lengthBy: null }),
  });
  const { url, counts } = served;
  expectNote(await tab.load(url), /isn't kept on this device: the cache needs/);
  expect(counts.bytes, 'bytes sent').toBe(served.size);
  await expect.poll(() => tab.locks()).toEqual([]);
  expect(await tab.kept(url)).toBeNull();
  expect((await tab.load(url, { cache: 'opfs' })).code).toBe('storage_full');
  await expect.poll(() => tab.locks()).toEqual([]);
  expect(await tab.kept(url)).toBeNull();
  await site.close();
});

test('a private window keeps models until it is closed', async ({ browser, sites, serving }) => {
  const served = serving.hub.add('model.gguf', BUNDLED);
  const { url, counts } = served;
  for (const visit of [1, 2]) {
    const context = await browser.newContext();
    const tabs = [
      await Tab.in(await context.newPage(), sites.isolated),
      await Tab.in(await context.newPage(), sites.isolated),
    ] as const;
    for (const outcome of await Promise.all(tabs.map((tab) => tab.load(url)))) {
      expect(outcome).toMatchObject({ hash: bundledHash(), code: '' });
    }
    expect(await tabs[0].verify(url)).toBe(true);
    expect(await tabs[0].load(url)).toMatchObject({ hash: bundledHash(), source: 'cache' });
    expect(counts.bytes, 'bytes sent').toBe(visit * served.size);
    await context.close();
  }
});

/** Two loads, each of which downloads, because nothing is kept. */
async function loadsWithoutCache(
  tab: Tab,
  url: string,
  note: RegExp,
  reason: string,
): Promise<void> {
  for (let i = 0; i < 2; ++i) expectNote(await tab.load(url), note, reason);
  const asked = await tab.load(url, { cache: 'opfs' });
  expectNote(asked, note, reason);
}

test('a page without a secure context keeps nothing, and says so', async ({ serving, sites }) => {
  const profile = await new Profile().start({
    args: ['--host-resolver-rules=MAP insecure.test 127.0.0.1'],
  });
  try {
    const { port } = new URL(sites.isolated.url);
    const tab = await profile.open({ ...sites.isolated, url: `http://insecure.test:${port}/` });
    const served = serving.hub.add('model.gguf', BUNDLED);
    await loadsWithoutCache(
      tab,
      served.url,
      /isn't kept on this device: .*secure context/,
      'insecure',
    );
    expect(served.counts.bytes).toBe(3 * served.size);
  } finally {
    await profile.close();
  }
});

test(
  'a site whose storage is blocked keeps nothing, and says so',
  { tag: MORE },
  async ({ serving, sites }) => {
    const blocked = { profile: { default_content_setting_values: { cookies: 2 } } };
    const profile = await new Profile().start({ preferences: blocked });
    try {
      const tab = await profile.open(sites.isolated);
      const served = serving.hub.add('model.gguf', BUNDLED);
      await loadsWithoutCache(tab, served.url, /isn't kept on this device: /, 'refused');
      expect(served.counts.bytes).toBe(3 * served.size);
    } finally {
      await profile.close();
    }
  },
);
