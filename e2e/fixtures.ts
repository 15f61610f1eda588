// The fixtures of every test: the servers, the page, and a console in which nothing may appear.
import {
  test as base,
  expect,
  type ConsoleMessage,
  type Locator,
  type Page,
} from '@playwright/test';
import { Hub } from './hub/server.mjs';
import { makeModels, modelFiles } from './models';
import { ModelServer, servePage, type Site } from './servers';

export interface Options {
  /** Whether the page is served with the headers for cross-origin isolation. */
  isolation: boolean;
}

interface WorkerFixtures {
  sites: { isolated: Site; plain: Site };
  models: ModelServer;
}

interface Fixtures {
  site: Site;
  /** Messages that the console may hold, because the test provokes them. */
  allowed: RegExp[];
  app: AppPage;
  hub: Hub;
}

export { expect };

/** The parts of the page, found by their labels and roles. */
export class AppPage {
  readonly prompt: Locator;
  /** The button: Write, or Stop while the model writes. */
  readonly button: Locator;
  /** What the model has written, without the prompt. */
  readonly text: Locator;
  readonly modelName: Locator;
  readonly problem: Locator;
  readonly offer: Locator;
  readonly loading: Locator;

  constructor(
    readonly page: Page,
    readonly site: Site,
  ) {
    this.prompt = page.getByLabel('Prompt', { exact: true });
    this.button = page.locator('button.primary');
    this.text = page.locator('#written');
    this.modelName = page.locator('.model-name');
    this.problem = page.locator('.notice.wrong');
    this.offer = page.getByRole('region', { name: /This link asks/ });
    this.loading = page.locator('.loading');
  }

  /** Opens the page, with a fragment maybe, and waits for the bundled model. */
  async open(fragment = ''): Promise<void> {
    await this.page.goto(this.site.url + fragment);
    await this.ready();
  }

  /** Waits until a model is loaded and nothing runs. */
  async ready(name: string | RegExp = 'Sluice Stories'): Promise<void> {
    await expect(this.modelName).toHaveText(name);
    await expect(this.loading).toHaveCount(0);
    await expect(this.button).toHaveText('Write');
  }

  /** Presses the button and waits for the text's end. */
  async write(): Promise<string> {
    await this.button.click();
    return this.written();
  }

  /** Waits for the end of a text and returns it. */
  async written(): Promise<string> {
    await expect(this.page.getByRole('button', { name: 'Copy' })).toBeVisible();
    await expect(this.button).toHaveText('Write');
    // Words are shown with the next frame; the button may change before that.
    await this.page.evaluate(() => new Promise((shown) => requestAnimationFrame(shown)));
    return (await this.text.textContent()) ?? '';
  }

  /** Holds back each text after so many tokens, until it is released. Must be called before the page is opened. */
  async holdTextAfter(tokens: number): Promise<void> {
    await this.page.addInitScript((tokens) => {
      const held: (() => void)[] = [];
      let came = 0;
      const release = (): void => {
        came = -Infinity;
        for (const go of held.splice(0)) go();
      };
      Object.assign(window, { held, release });
      const add = Worker.prototype.addEventListener;
      Worker.prototype.addEventListener = function (
        this: Worker,
        type: string,
        listener: EventListenerOrEventListenerObject,
      ) {
        if (type !== 'message' || typeof listener !== 'function')
          return add.call(this, type, listener);
        add.call(this, type, (event) => {
          const { data } = event as MessageEvent<{ type: string; tokens?: unknown[] }>;
          if (held.length > 0 || (data.type === 'tokens' && came >= tokens)) {
            held.push(() => listener(event));
            return;
          }
          came = data.type === 'done' ? 0 : came + (data.tokens?.length ?? 0);
          listener(event);
        });
      };
    }, tokens);
  }

  async textIsHeld(): Promise<void> {
    await this.page.waitForFunction(
      () => (window as unknown as { held: unknown[] }).held.length > 0,
    );
    // Waits until the tokens before that are drawn.
    await this.page.evaluate(
      () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
    );
  }

  async releaseText(): Promise<void> {
    await this.page.evaluate(() => (window as unknown as { release: () => void }).release());
  }

  async openSettings(): Promise<void> {
    await this.page.locator('.settings summary').click();
    await expect(this.page.getByLabel('Seed')).toBeVisible();
  }

  async loadAddress(address: string): Promise<void> {
    await this.page.getByLabel('Address').fill(address);
    await this.page.getByRole('button', { name: 'Load', exact: true }).click();
  }

  figure(label: string): Locator {
    const named = this.page.locator('dt', { hasText: label });
    return this.page.locator('.figure').filter({ has: named }).locator('dd');
  }

  fact(label: string): Locator {
    return this.page
      .locator('.facts div')
      .filter({ has: this.page.getByText(label, { exact: true }) })
      .locator('dd');
  }
}

function describeMessage(message: ConsoleMessage): string {
  return `${message.type()}: ${message.text()} (${message.location().url})`;
}

export const test = base.extend<Fixtures & Options, WorkerFixtures>({
  isolation: [true, { option: true }],

  sites: [
    async ({}, use) => {
      const [isolated, plain] = await Promise.all([servePage(true), servePage(false)]);
      await use({ isolated, plain });
      await Promise.all([isolated.close(), plain.close()]);
    },
    { scope: 'worker' },
  ],

  models: [
    async ({}, use) => {
      makeModels();
      const server = await new ModelServer(modelFiles()).start();
      await use(server);
      await server.close();
    },
    { scope: 'worker' },
  ],

  site: async ({ sites, isolation }, use) => {
    await use(isolation ? sites.isolated : sites.plain);
  },

  allowed: async ({}, use) => {
    await use([]);
  },

  page: async ({ page, allowed }, use) => {
    const messages: string[] = [];
    page.on('console', (message) => {
      // playwright.config.ts
      if (!message.text().startsWith('Service Worker registration blocked by Playwright'))
        messages.push(describeMessage(message));
    });
    page.on('pageerror', (error) => messages.push(`uncaught: ${error.message}`));
    await use(page);
    const unexpected = messages.filter((text) => !allowed.some((pattern) => pattern.test(text)));
    expect(unexpected, 'the console').toEqual([]);
  },

  hub: async ({}, use) => {
    const hub = await Hub.start();
    await use(hub);
    await hub.close();
  },

  app: async ({ page, site }, use) => {
    await use(new AppPage(page, site));
  },
});
