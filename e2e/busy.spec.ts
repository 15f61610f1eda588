// While the page's thread is busy or the page is hidden, the engine worker goes on writing. (npm run bench -- --page
// measures how fast.)
import type { Page } from '@playwright/test';
import type * as Library from '@sluice/engine';
import { Tabs } from './bench/tabs.mjs';
import { expect, test } from './fixtures';
import { PLAIN_TEMPLATE, harness } from './library';

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
  await harness(page, site);
  await page.evaluate(
    async ({ model, threads }) => {
      window.engine = await window.library.Engine.load(model, { threads });
      await window.engine.ready;
    },
    { model, threads },
  );
}

for (const threads of [1, 2]) {
  test(`an answer is written to its end while the page's own thread is blocked, ${threads} threads`, async ({
    context,
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
    const other = await context.newPage();
    await harness(other, site);

    const written = page.evaluate(
      async ({ maxTokens, chatTemplate }) => {
        const parts = window.engine.answer({
          messages: [{ role: 'user', content: 'Once upon a time' }],
          ...{ maxTokens, ignoreEos: true, chatTemplate, state: 'busy' },
        });
        // The first call posts the request, before any other task. Then nothing runs on this thread until the gate opens.
        const first = parts.next();
        for (let i = 0; i < 100; ++i) await null;
        const gate = new XMLHttpRequest();
        gate.open('GET', '/gate', false);
        gate.send();
        const answer = gate.responseText;
        await first;
        for await (const _ of parts);
        const { tokens, finish, stats } = await parts.ending;
        return { answer, tokens: tokens.length, finish, prompt: stats.promptTokens };
      },
      { maxTokens: TOKENS, chatTemplate: PLAIN_TEMPLATE },
    );
    // The engine worker keeps the conversation when its answer is whole; another tab sees that.
    const kept = (): Promise<number> =>
      other.evaluate(async () => (await window.library.states.list())[0]?.tokens ?? 0);
    await expect.poll(kept).toBeGreaterThanOrEqual(TOKENS);
    const inAll = await kept();
    open();
    const { prompt, ...rest } = await written;
    expect(rest).toEqual({ answer: 'open', tokens: TOKENS, finish: 'length' });
    // The last token is in no state.
    expect(inAll).toBe(prompt + TOKENS - 1);
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
