// While the page's thread is busy or the page is hidden, the engine worker goes on writing. (npm run bench -- --page
// measures how fast.)
import type { Page, Worker } from '@playwright/test';
import type * as Library from '@sluice/engine';
import { Tabs } from './bench/tabs.mjs';
import { expect, test } from './fixtures';

const TOKENS = 100;

interface Window {
  library: typeof Library;
  engine: Library.Engine;
}
declare const window: Window & typeof globalThis;

async function load(
  page: Page,
  site: { url: string },
  model: string,
  threads: number,
): Promise<void> {
  await page.goto(`${site.url}harness/`);
  await page.evaluate(
    async ({ model, threads }) => {
      const address = '/engine/index.js';
      const { Engine } = (await import(address)) as typeof Library;
      window.engine = await Engine.load(model, { threads });
      await window.engine.ready;
    },
    { model, threads },
  );
}

/** The engine worker, which from now on counts the messages that it sends the page. */
async function watchedWorker(page: Page): Promise<Worker> {
  const worker = page.workers().find((one) => one.url().endsWith('/engine-worker.js'));
  if (worker === undefined) throw new Error('the page has no engine worker');
  await worker.evaluate(() => {
    const post = globalThis.postMessage.bind(globalThis) as (message: unknown) => void;
    const told = { tokens: 0, done: false };
    Object.assign(globalThis, {
      told,
      postMessage: (message: { type: string; tokens?: unknown[] }) => {
        told.tokens += message.tokens?.length ?? 0;
        told.done ||= message.type === 'done';
        post(message);
      },
    });
  });
  return worker;
}

for (const threads of [1, 2]) {
  test(`a text is written to its end while the page's own thread is blocked, ${threads} threads`, async ({
    page,
    site,
    models,
    allowed,
  }) => {
    // The browser warns of the way in which the page is blocked here.
    allowed.push(/Synchronous XMLHttpRequest/);
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    await page.route('**/gate', async (route) => {
      await opened;
      await route.fulfill({ body: 'open' });
    });
    await load(page, site, models.good('stories.gguf'), threads);
    const worker = await watchedWorker(page);
    const told = (): Promise<{ tokens: number; done: boolean }> =>
      worker.evaluate(
        () => (globalThis as unknown as { told: { tokens: number; done: boolean } }).told,
      );

    const written = page.evaluate(async (maxTokens) => {
      const text = window.engine.generate('Once upon a time', { maxTokens, ignoreEos: true });
      // The first call posts the request. Then nothing runs on this thread until the gate opens.
      const first = text.next();
      const gate = new XMLHttpRequest();
      gate.open('GET', '/gate', false);
      gate.send();
      const answer = gate.responseText;
      let tokens = (await first).done === true ? 0 : 1;
      for await (const token of text) tokens += token.id >= 0 ? 1 : 0;
      return { answer, tokens, finish: window.engine.stats.finish };
    }, TOKENS);
    await expect.poll(told).toEqual({ tokens: TOKENS, done: true });
    open();
    expect(await written).toEqual({ answer: 'open', tokens: TOKENS, finish: 'length' });
  });
}

test('a hidden page writes its text to the end', async ({ browser, site, models }) => {
  const tabs = await Tabs.in(browser);
  const tab = await tabs.open(`${site.url}harness/`);
  const cover = await tabs.open(`${site.url}harness/`);
  await cover.show();
  await tab.hidden();
  const found = await tab.evaluate(
    async ({ url, maxTokens }) => {
      const states = new Set<string>([document.visibilityState]);
      document.addEventListener('visibilitychange', () => states.add(document.visibilityState));
      const address = '/engine/index.js';
      const { Engine } = (await import(address)) as typeof Library;
      const engine = await Engine.load(url);
      await engine.ready;
      let tokens = 0;
      for await (const token of engine.generate('Once upon a time', {
        maxTokens,
        ignoreEos: true,
      })) {
        tokens += token.id >= 0 ? 1 : 0;
      }
      await engine.close();
      return { tokens, states: [...states] };
    },
    { url: models.good('stories.gguf'), maxTokens: TOKENS },
  );
  await tabs.close();
  expect(found).toEqual({ tokens: TOKENS, states: ['hidden'] });
});
