// Loads that are aborted or closed in every phase: the promise is settled at once, nothing stays locked or half-written,
// and the same address loads again. Many loads and closes leave nothing behind.
import type { Plan } from './hub/served.mjs';
import type { Hub } from './hub/server.mjs';
import type { Ended, Options } from './loads';
import { BUNDLED, NO_NATIVE, makeBigModel, nativeBuilt } from './models';
import { BLOCK, bundledHash, expect, test, type Held, type Tab } from './profile';
import { Renderer, openHandles } from './renderer';
import { MORE } from './tags';

test.skip(!nativeBuilt, NO_NATIVE);

/** The server holds back the file for as long as the test wants. */
const PATIENT = { stallTimeout: 120_000 };

/**
 * The time that is stated is 50 ms. On a busy machine the page itself may get no time for so long, but then it gets no
 * turn, either: the promise must be settled before the page's next turn, which is less.
 */
function expectAtOnce(ended: Ended): void {
  expect(ended.turns, `turns of the page's loop, ${ended.ms.toFixed(1)} ms`).toBeLessThanOrEqual(1);
}

/** What must be so after a load was ended: the server sends all from now on. */
async function checkAfter(tab: Tab, { served, release }: Held): Promise<void> {
  const { code } = await tab.outcome();
  expect(code).toBe('aborted');
  await expect.poll(() => tab.locks(), { message: 'locks' }).toEqual([]);
  const kept = await tab.kept(served.url);
  const whole = BLOCK * Math.floor(served.counts.sent.size / BLOCK);
  expect(kept?.stored ?? 0, 'bytes that are kept').toBe(whole);
  if (kept !== null) expect(await tab.verify(served.url), 'the blocks that are there').toBe(true);
  release();
  const again = await tab.load(served.url);
  expect(again).toMatchObject({ hash: bundledHash(), code: '' });
  expect(served.counts.again, 'bytes sent again').toBeLessThanOrEqual(BLOCK);
  expect(await tab.verify(served.url)).toBe(true);
  await expect.poll(() => tab.locks(), { message: 'locks' }).toEqual([]);
}

const SIZE = 2_578_944;

/** Phases with the server's plan for them, and what is waited for. */
const PHASES: Record<
  string,
  { plan: Plan; there: (tab: Tab, held: Held, hub: Hub) => Promise<void> }
> = {
  'before the first answer': {
    plan: () => ({ silent: true }),
    there: (_, { served }) => expect.poll(() => served.counts.requests).toBe(1),
  },
  'in the header': {
    plan: () => ({ stall: 1000 }),
    there: (_, { served }) => expect.poll(() => served.counts.bytes).toBe(1000),
  },
  ...Object.fromEntries(
    [0.1, 0.5, 0.9].map((part) => [
      `at ${100 * part}%`,
      {
        plan: () => ({ stall: Math.floor(part * SIZE) }),
        there: (tab: Tab) => tab.has(Math.floor(part * SIZE)),
      },
    ]),
  ),
  'while it waits to try again': {
    plan: () => ({ status: 503 }),
    there: (tab) => tab.waits(/answered 503/),
  },
  'while the server asks to wait': {
    plan: () => ({ status: 429, retryAfter: 30 }),
    there: (tab) => tab.waits(/asks to wait 30 s/),
  },
  'while it waits to go on': {
    plan: ({ number }) => (number === 0 ? { stall: 1_000_000 } : { status: 503 }),
    there: async (tab, _, hub) => {
      await tab.has(1_000_000);
      hub.drop_connections();
      await tab.waits(/answered 503/);
    },
  },
};

for (const [phase, { plan, there }] of Object.entries(PHASES)) {
  const tag = /10%|90%|try again/.test(phase) ? MORE : [];
  test(
    `a load that is aborted ${phase} is over at once, and nothing of it stays`,
    { tag },
    async ({ profile, serving, sites }) => {
      for (const how of ['abort', 'close'] as const) {
        // Before the header is read there is nothing that could be closed.
        if (how === 'close' && !/%|go on/.test(phase)) continue;
        let well = false;
        const served = serving.hub.add('model.gguf', BUNDLED, {
          plan: (asked) => (well ? {} : plan(asked)),
        });
        const held: Held = {
          served,
          release: () => {
            well = true;
            serving.hub.drop_connections();
          },
        };
        const tab = await profile.open(sites.isolated);
        await tab.begin(served.url, PATIENT);
        await there(tab, held, serving.hub);
        expectAtOnce(await tab.end(how));
        await checkAfter(tab, held);
        await tab.close();
      }
    },
  );
}

test('a load that is aborted while it follows another tab is over at once', async ({
  profile,
  serving,
  sites,
}) => {
  for (const place of [1000, 4 * BLOCK + 1000]) {
    const held = serving.hold(place);
    const { url, counts } = held.served;
    const first = await profile.open(sites.isolated);
    await first.begin(url, PATIENT);
    await expect.poll(() => counts.bytes).toBe(place);
    const second = await profile.open(sites.isolated);
    await second.begin(url, PATIENT);
    if (place > BLOCK) await second.has(4 * BLOCK);
    // It has the lock for reading, and waits for the one for writing.
    else await expect.poll(async () => (await second.locks()).length).toBe(4);
    expectAtOnce(await second.end());
    expect((await second.outcome()).code).toBe('aborted');
    await expect.poll(async () => (await first.locks()).length).toBe(2);
    held.release();
    expect(await first.outcome()).toMatchObject({ hash: bundledHash(), code: '' });
    expect(await second.load(url)).toMatchObject({ hash: bundledHash(), source: 'cache' });
    expect(counts.again).toBe(0);
  }
});

test('a load that is aborted while its sha256 is computed is over at once', async ({
  profile,
  serving,
  sites,
}) => {
  const served = serving.hub.add('model.gguf', makeBigModel().path);
  const options: Options = { contextSize: 256 };
  const { sha256 } = served.content;
  const tab = await profile.open(sites.isolated);
  const first = await tab.load(served.url, options);
  expect(first.code, first.message).toBe('');
  expectAtOnce(await tab.endAt('verify', served.url, { ...options, sha256 }));
  await expect.poll(() => tab.locks()).toEqual([]);
  expect(await tab.kept(served.url)).toMatchObject({ complete: true, verified: false });
  const { counts } = served;
  const { requests } = counts;
  const outcome = await tab.load(served.url, { ...options, sha256 });
  expect(outcome).toMatchObject({ hash: first.hash, code: '', source: 'cache' });
  await expect.poll(() => tab.locks()).toEqual([]);
  expect(await tab.kept(served.url)).toMatchObject({ complete: true, verified: true });
  expect(counts.requests).toBe(requests);
  expect(await tab.delete(served.url)).toBe(true);
});

const MB = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

test('50 loads and closes leave nothing behind', async ({ profile, serving, sites }) => {
  const served = serving.hub.add('model.gguf', BUNDLED);
  const slow = serving.hold(4 * BLOCK + 1000);
  const tab = await profile.open(sites.isolated);
  const browser = profile.context.browser();
  if (browser === null) throw new Error('the browser is gone');
  const renderer = await Renderer.of(tab.page);
  const seen: { memory: number; heap: number; handles: number }[] = [];
  const loads = 50;
  for (let i = 0; i < loads; ++i) {
    // Three are kept already, one is ended in its middle.
    if (i % 4 < 3) {
      expect(await tab.load(served.url)).toMatchObject({ hash: bundledHash(), code: '' });
    } else {
      await tab.begin(slow.served.url, PATIENT);
      await tab.has(4 * BLOCK);
      await tab.end(i % 8 < 4 ? 'abort' : 'close');
      expect((await tab.outcome()).code).toBe('aborted');
    }
    if (i < 10 || i >= loads - 10) {
      await expect.poll(() => tab.locks()).toEqual([]);
      await expect.poll(() => renderer.workers()).toBe(0);
      const heap = await renderer.heapBytes();
      seen.push({
        memory: await renderer.privateBytes(),
        heap,
        handles: await openHandles(browser),
      });
    }
  }
  const [early, late] = [seen.slice(0, 10), seen.slice(10)];
  console.log(
    seen.map(({ memory, heap, handles }) => `${MB(memory)} ${MB(heap)} ${handles}`).join(', '),
  );
  const least = (part: typeof seen, name: keyof (typeof seen)[0]): number =>
    Math.min(...part.map((one) => one[name]));
  // There are 40 loads between the two. The first ones fill the browser's caches.
  expect(late.length).toBe(10);
  expect(least(late, 'handles') - least(early.slice(5), 'handles')).toBeLessThan(20);
  expect(least(late, 'heap') - least(early.slice(5), 'heap')).toBeLessThan(1e6);
  expect(least(late, 'memory') - least(early.slice(5), 'memory')).toBeLessThan(10e6);
});
