// The files of the cache in a browser with a profile on disk: written, followed, killed, read again, deleted.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { chromium, type BrowserContext, type Page } from '@playwright/test';
import { buildSync } from 'esbuild';
import { expect, test as base } from './fixtures';
import { importLibrary, type LibraryWindow } from './library';
import { ROOT, servePage, type Site } from './servers';

declare const window: LibraryWindow & {
  tabs: Map<string, (name: string, argument?: unknown) => Promise<unknown>>;
  workers: Map<string, Worker>;
};

const ADDRESS = 'https://models.example/a/model%20one.gguf';
const TOTAL = 20_000_000;
const BLOCK = 512 << 10;
const BLOCKS = Math.ceil(TOTAL / BLOCK);
const all = Array.from({ length: BLOCKS }, (_, i) => i);

/** A page that starts workers, each as the loader worker of a tab. */
class Tabs {
  constructor(readonly page: Page) {}

  async start(name: string): Promise<void> {
    await this.page.evaluate((name) => {
      const worker = new Worker('/store/store-worker.js', { type: 'module' });
      const waiting = new Map<number, [(value: unknown) => void, (error: Error) => void]>();
      let serial = 0;
      worker.addEventListener('message', ({ data }) => {
        const [resolve, reject] = waiting.get(data.id) ?? [];
        if (data.error === undefined) resolve?.(data.value);
        else reject?.(new Error(data.error));
      });
      (window.workers ??= new Map()).set(name, worker);
      (window.tabs ??= new Map()).set(name, (name, argument) => {
        const id = ++serial;
        worker.postMessage({ id, name, argument });
        return new Promise((resolve, reject) => waiting.set(id, [resolve, reject]));
      });
    }, name);
  }

  /** Calls one of the worker's functions. */
  call(tab: string, name: string, argument?: unknown): Promise<unknown> {
    return this.page.evaluate(
      ([tab, name, argument]) => window.tabs.get(tab as string)?.(name as string, argument),
      [tab, name, argument],
    );
  }

  /** Starts a call and kills the worker after some time. */
  async kill(tab: string, name: string, argument: unknown, after: number): Promise<void> {
    await this.page.evaluate(
      async ([tab, name, argument, after]) => {
        void window.tabs.get(tab as string)?.(name as string, argument);
        await new Promise((resolve) => setTimeout(resolve, after as number));
        window.workers.get(tab as string)?.terminate();
      },
      [tab, name, argument, after],
    );
  }

  async open(tab: string, address = ADDRESS): Promise<unknown> {
    await this.start(tab);
    return this.call(tab, 'open', address);
  }
}

interface Fixtures {
  /** Opens a browser with the test's profile. */
  browse: () => Promise<{ context: BrowserContext; tabs: Tabs }>;
}

const test = base.extend<Fixtures>({
  browse: async ({ isolation, launchOptions }, use) => {
    const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-profile-'));
    const built = path.join(profile, 'store');
    buildSync({
      entryPoints: [path.join(ROOT, 'e2e/store/store-worker.js')],
      outdir: built,
      bundle: true,
      format: 'esm',
    });
    const site: Site = await servePage(isolation, { '/store/': built });
    const contexts: BrowserContext[] = [];
    await use(async () => {
      const context = await chromium.launchPersistentContext(profile, launchOptions);
      contexts.push(context);
      const page = context.pages()[0] ?? (await context.newPage());
      await page.goto(`${site.url}harness/`);
      return { context, tabs: new Tabs(page) };
    });
    for (const context of contexts) await context.close();
    await site.close();
    fs.rmSync(profile, { recursive: true, force: true });
  },
});

async function writeAndRead(browse: Fixtures['browse']): Promise<void> {
  const first = await browse();
  expect(await first.tabs.open('a')).toBe('writer');
  expect(await first.tabs.call('a', 'begin', TOTAL)).toBe(BLOCKS);
  await first.tabs.call('a', 'write', { blocks: [...all].reverse(), seed: 1 });
  expect(await first.tabs.call('a', 'read', 1)).toEqual(all);
  await first.context.close();
  const second = await browse();
  expect(await second.tabs.open('a')).toBe('complete');
  expect(await second.tabs.open('b')).toBe('complete');
  for (const tab of ['a', 'b']) expect(await second.tabs.call(tab, 'read', 1)).toEqual(all);
}

test('what one browser wrote, the next one reads', async ({ browse }) => {
  await writeAndRead(browse);
});

test.describe('without cross-origin isolation', () => {
  test.use({ isolation: false });

  test('what one browser wrote, the next one reads', async ({ browse }) => {
    await writeAndRead(browse);
  });
});

test('a second tab follows, and goes on when the first is killed', async ({ browse }) => {
  const { tabs } = await browse();
  expect(await tabs.open('a')).toBe('writer');
  expect(await tabs.open('b')).toBe('follower');
  await tabs.call('a', 'begin', TOTAL);
  const some = all.slice(0, 10);
  await tabs.call('a', 'write', { blocks: some, seed: 2 });
  await expect
    .poll(async () => ((await tabs.call('b', 'state')) as { missing: number }).missing)
    .toBe(BLOCKS - 10);
  const reading = tabs.call('b', 'read', 2);
  await tabs.kill('a', 'write', { blocks: all.slice(10), seed: 2, slowly: true }, 60);
  expect(await reading).toEqual(expect.arrayContaining(some));
  expect(await tabs.call('b', 'turn')).toBe(true);
  const { missing, writable } = (await tabs.call('b', 'state')) as {
    missing: number;
    writable: boolean;
  };
  expect(writable).toBe(true);
  const there = (await tabs.call('b', 'read', 2)) as number[];
  expect(there).toHaveLength(BLOCKS - missing);
  await tabs.call('b', 'begin', TOTAL);
  const left = all.filter((block) => !there.includes(block));
  await tabs.call('b', 'write', { blocks: left, seed: 2 });
  expect(await tabs.call('b', 'state')).toMatchObject({ complete: true });
  await tabs.call('b', 'close');
  expect(await tabs.open('c')).toBe('complete');
  expect(await tabs.call('c', 'read', 2)).toEqual(all);
});

test('a follower reads while the other tab writes on', async ({ browse }) => {
  const { tabs } = await browse();
  await tabs.open('a');
  await tabs.call('a', 'begin', TOTAL);
  await tabs.call('a', 'write', { blocks: [0, 1, 2], seed: 3 });
  expect(await tabs.open('b')).toBe('follower');
  const writing = tabs.call('a', 'write', { blocks: all.slice(3), seed: 3, slowly: true });
  for (let i = 0; i < 10; ++i)
    expect(await tabs.call('b', 'read', 3)).toEqual(expect.arrayContaining([0, 1, 2]));
  await writing;
  await expect.poll(() => tabs.call('b', 'state')).toMatchObject({ complete: true });
  expect(await tabs.call('b', 'read', 3)).toEqual(all);
});

test('the calls of `cache` name, check, hand out and delete what is there', async ({ browse }) => {
  const { tabs } = await browse();
  await tabs.page.evaluate(importLibrary);
  const cached = (call: string, ...args: unknown[]): Promise<unknown> =>
    tabs.page.evaluate(
      ([call, args]) =>
        (window.library.cache as unknown as Record<string, (...args: unknown[]) => unknown>)[
          call as string
        ]?.(...(args as unknown[])),
      [call, args],
    );
  expect(await cached('list')).toEqual([]);
  await tabs.open('a');
  await tabs.call('a', 'begin', TOTAL);
  await tabs.call('a', 'write', { blocks: all.slice(1), seed: 4 });
  expect(await cached('has', ADDRESS)).toBe(false);
  await expect(cached('delete', ADDRESS)).rejects.toThrow(/is in use/);
  await tabs.call('a', 'write', { blocks: [0], seed: 4 });
  await tabs.call('a', 'close');
  expect(await cached('has', `${ADDRESS}#part`)).toBe(true);
  await cached('pin', ADDRESS);
  expect(await cached('list')).toEqual([
    expect.objectContaining({
      source: ADDRESS,
      name: 'model one.gguf',
      bytes: TOTAL,
      stored: TOTAL,
      complete: true,
      pinned: true,
      inUse: false,
    }),
  ]);
  expect(await cached('clear')).toBe(0);
  const verified = (await cached('verify', ADDRESS)) as { sha256: string };
  expect(verified).toMatchObject({ ok: true, bytes: TOTAL, damaged: [] });
  const sha256 = await tabs.page.evaluate(async (address) => {
    const blob = await window.library.cache.export(address);
    const hash = await crypto.subtle.digest('SHA-256', await blob.arrayBuffer());
    return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  }, ADDRESS);
  expect(verified.sha256).toBe(sha256);
  const { usage, evictable } = (await cached('room')) as { usage: number; evictable: number };
  expect(usage).toBeGreaterThan(TOTAL);
  expect(evictable).toBe(0);
  expect(await cached('delete', ADDRESS)).toBe(true);
  expect(await cached('list')).toEqual([]);
  expect(await cached('delete', ADDRESS)).toBe(false);
});
