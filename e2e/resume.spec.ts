// A download that is cut, or whose tab or browser is killed, goes on where it was: little comes twice. What is kept is
// used without the network.
import type { Route } from '@playwright/test';
import { BUNDLED, NO_NATIVE, makeBigModel, nativeBuilt } from './models';
import { BLOCK, Profile, bundledHash, expect, test } from './profile';
import { servePage } from './servers';

test.skip(!nativeBuilt, NO_NATIVE);

/** The server holds back the file for as long as the test wants. */
const PATIENT = { stallTimeout: 120_000 };

for (const cache of ['opfs', 'none'] as const) {
  test(`lost connections go on where they stopped, cache: '${cache}'`, async ({
    profile,
    serving,
    sites,
  }) => {
    for (const site of [sites.isolated, sites.plain]) {
      let place = 0;
      const served = serving.hub.add('model.gguf', BUNDLED, {
        plan: ({ range }) => ({ stall: place - Number(/\d+/.exec(range ?? '')?.[0]) }),
      });
      const { url, counts, size } = served;
      const tab = await profile.open(site);
      for (place of [100_000, BLOCK, 3 * BLOCK + 5, size - 1, size]) {
        if (place === 100_000) await tab.begin(url, { ...PATIENT, cache });
        else serving.hub.drop_connections();
        if (place < size) await tab.has(place);
      }
      expect(await tab.outcome()).toMatchObject({ hash: bundledHash(), code: '' });
      expect(counts.requests).toBe(5);
      expect(counts.again, 'bytes sent again').toBe(0);
      if (cache === 'opfs') expect(await tab.verify(url)).toBe(true);
      await tab.close();
    }
  });
}

test('a killed browser: at most one block a connection comes again', async ({ serving, sites }) => {
  const profile = await new Profile().start();
  try {
    const held = serving.hold(5 * BLOCK + 200_000);
    const { url, counts } = held.served;
    const tab = await profile.open(sites.isolated);
    await tab.begin(url, PATIENT);
    await tab.has(5 * BLOCK + 200_000);
    await profile.kill();
    await profile.start();
    held.release();
    const next = await profile.open(sites.isolated);
    expect(await next.kept(url)).toMatchObject({ stored: 5 * BLOCK, complete: false });
    expect(await next.load(url)).toMatchObject({ hash: bundledHash(), code: '' });
    expect(counts.again, 'bytes sent again').toBe(200_000);
    expect(await next.verify(url)).toBe(true);
  } finally {
    await profile.close();
  }
});

test('a killed tab with several connections: at most one block each comes again', async ({
  profile,
  serving,
  sites,
}) => {
  let released = false;
  // A block and a half, and less than any request asks for.
  const each = 3_000_001;
  const model = makeBigModel().path;
  const served = serving.hub.add('model.gguf', model, {
    plan: () => (released ? {} : { stall: each }),
  });
  const { url, counts, size } = served;
  const options = { ...PATIENT, contextSize: 256 };
  const tab = await profile.open(sites.isolated);
  await tab.begin(url, options);
  const connections = 4;
  await tab.has(connections * each);
  expect(counts.most, 'connections at a time').toBe(connections);
  await tab.crash();
  released = true;
  serving.hub.drop_connections();
  const next = await profile.open(sites.isolated);
  const block = 2 << 20;
  const kept = await next.kept(url);
  expect(kept?.bytes).toBe(size);
  expect(kept?.stored).toBeGreaterThan(counts.sent.size - connections * block);
  expect((await next.load(url, options)).code).toBe('');
  expect(counts.sent.size).toBe(size);
  expect(counts.again, 'bytes sent again').toBeLessThanOrEqual(connections * block);
  expect(await next.verify(url)).toBe(true);
  expect(await next.delete(url)).toBe(true);
});

/** Answers a page that is offline. */
async function bring(route: Route): Promise<void> {
  const answer = await fetch(route.request().url());
  const headers = Object.fromEntries(answer.headers);
  delete headers['content-encoding'];
  await route.fulfill({
    status: answer.status,
    headers,
    body: Buffer.from(await answer.arrayBuffer()),
  });
}

test('a model that is kept needs no network', async ({ profile, serving }) => {
  for (const isolation of [true, false]) {
    const site = await servePage(isolation);
    const served = serving.hub.add('model.gguf', BUNDLED);
    const { url, counts } = served;
    const tab = await profile.open(site);
    expect(await tab.load(url)).toMatchObject({ hash: bundledHash(), source: 'network' });
    await expect.poll(() => tab.locks()).toEqual([]);
    const { requests } = counts;
    const asked: string[] = [];
    profile.context.on('request', (request) => asked.push(request.url()));
    // The library's own files are not the cache's matter.
    await profile.context.route(`${site.url}**`, bring);
    await profile.context.setOffline(true);
    try {
      const outcome = await tab.load(url, {}, true);
      expect(outcome).toMatchObject({
        hash: bundledHash(),
        code: '',
        source: 'cache',
        cachedBytes: served.size,
      });
      expect(counts.requests, 'requests').toBe(requests);
      expect(asked.filter((address) => address.includes('.gguf'))).toEqual([]);
      // What isn't kept says that the device is offline.
      const other = serving.hub.add('other.gguf', BUNDLED);
      expect((await tab.load(other.url)).code).toBe('offline');
    } finally {
      await profile.context.setOffline(false);
      profile.context.removeAllListeners('request');
      // A request that is under way is answered first.
      await profile.context.unrouteAll({ behavior: 'wait' });
    }
    await tab.close();
    await site.close();
  }
});
