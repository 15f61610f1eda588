// The fixtures of every test: the servers, the page, and a console in which nothing may appear.
import {
  test as base,
  expect,
  type ConsoleMessage,
  type Locator,
  type Page,
} from '@playwright/test';
import { holdAgain, holdTextAfter, isHeld, letGo } from './held';
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
  /** What is going on, beside the button. */
  readonly state: Locator;
  /** How the text ended, below it. */
  readonly ending: Locator;
  /** On the chip: the model in use. */
  readonly modelName: Locator;
  readonly chip: Locator;
  /** The sheet of models, if it is open. */
  readonly sheet: Locator;
  readonly problem: Locator;
  readonly offer: Locator;
  /** The line about the present load, or the one that is paused, beside the field. */
  readonly loading: Locator;

  constructor(
    readonly page: Page,
    readonly site: Site,
  ) {
    this.prompt = page.getByLabel('Prompt', { exact: true });
    this.button = page.locator('.composer button.primary');
    this.text = page.locator('#written');
    this.state = page.locator('.composer .state');
    this.ending = page.locator('.how');
    this.chip = page.locator('.chip');
    this.modelName = page.locator('.chip-name');
    this.sheet = page.locator('dialog[open]').filter({ has: page.locator('.model') });
    this.problem = page.locator('.notice.wrong');
    this.offer = page.getByRole('region', { name: /This link asks/ });
    this.loading = page.locator('.loading');
  }

  /** Opens the page, with a fragment maybe, and waits for the bundled model. The view is Write unless the fragment has one. */
  async open(fragment = ''): Promise<void> {
    await this.page.goto(this.site.url + this.begins(fragment));
    await this.ready();
  }

  protected begins(fragment: string): string {
    if (/[#&](view|prompt)=/.test(fragment)) return fragment;
    return fragment.includes('#') ? `${fragment}&view=write` : `${fragment}#view=write`;
  }

  /** Waits until a model is loaded and nothing runs. */
  async ready(name: string | RegExp = 'Sluice Stories'): Promise<void> {
    await expect(this.modelName).toHaveText(name);
    await expect(this.loading).toHaveCount(0);
    await expect(this.button).toHaveText('Write');
  }

  /** Waits until the page has the script of all its parts: from then on it needs no network. */
  async partsAreThere(): Promise<void> {
    await this.page.waitForFunction(() => {
      const names = performance.getEntriesByType('resource').map(({ name }) => name);
      const parts = [
        /\/later-settings-[\w-]+\.js$/,
        /\/later-writing-[\w-]+\.js$/,
        /\/models-later-[\w-]+\.js$/,
        /\/later-find-[\w-]+\.js$/,
        /\/later-list-[\w-]+\.js$/,
        /\/later-card-[\w-]+\.js$/,
        /\/later-load-[\w-]+\.js$/,
        /\/later-(?!settings-|writing-|find-|list-|card-|load-|inside-)[\w-]+\.js$/,
      ];
      return parts.every((part) => names.some((name) => part.test(name)));
    });
  }

  /** Presses the button and waits for the text's end. */
  async write(): Promise<string> {
    await this.button.click();
    return this.written();
  }

  /** Waits for the end of a text and returns it. */
  async written(): Promise<string> {
    await expect(this.ending).toBeVisible();
    await expect(this.button).toHaveText('Write');
    return (await this.text.textContent()) ?? '';
  }

  /** Holds each text after so many tokens, until it is released. Must be called before the page is opened. */
  async holdTextAfter(tokens: number): Promise<void> {
    await holdTextAfter(this.page, tokens);
  }

  /** Waits until a text is held and the tokens before that are drawn. */
  async textIsHeld(): Promise<void> {
    await isHeld(this.page);
  }

  /** From now on texts come whole. */
  async releaseText(): Promise<void> {
    await letGo(this.page);
  }

  /** The texts that begin from now on are held as well. */
  async holdAgain(): Promise<void> {
    await holdAgain(this.page);
  }

  /** Ends the engine's worker. Nobody is told. */
  async endEngineWorker(): Promise<void> {
    const engine = this.page.workers().find((worker) => worker.url().includes('engine-worker'));
    expect(engine).toBeDefined();
    await engine?.evaluate(() => {
      setTimeout(() => self.close());
    });
  }

  /** A button below the text that has ended. */
  afterwards(name: string): Locator {
    return this.page.locator('.ending').getByRole('button', { name, exact: true });
  }

  /** Opens the settings, with all samplers. */
  async openSettings(): Promise<void> {
    await this.page.locator('.settings-button').click();
    const samplers = this.page.locator('.settings details').first();
    await expect(samplers).toBeVisible();
    if ((await samplers.getAttribute('open')) === null)
      await samplers.locator('summary').first().click();
    await expect(this.page.getByLabel('Temperature')).toBeVisible();
  }

  /** In the settings: loads the model with them, waits for it and closes the settings. */
  async loadAgain(): Promise<void> {
    const again = this.page.getByRole('button', { name: 'Load the model again' });
    await again.click();
    await expect(this.page.locator('.load-again')).toHaveText(/is loaded with these/);
    await this.closeDialog();
    await this.ready();
  }

  /** Opens the details of the figures. */
  async openFigures(): Promise<void> {
    await this.page.locator('.figures-more').click();
    await expect(this.page.locator('.figures-details')).toBeVisible();
  }

  /** Closes the dialog that is open. */
  async closeDialog(): Promise<void> {
    await this.page.locator('dialog[open] .dialog-head button').click();
    await expect(this.page.locator('dialog[open]')).toHaveCount(0);
  }

  /** Opens the sheet of models, if it isn't open. */
  async openSheet(): Promise<Locator> {
    if (!(await this.sheet.isVisible())) await this.chip.click();
    await expect(this.sheet).toBeVisible();
    return this.sheet;
  }

  async closeSheet(): Promise<void> {
    if (await this.sheet.isVisible()) {
      await this.sheet.locator('.dialog-head').getByRole('button', { name: 'Close' }).click();
    }
    await expect(this.sheet).toHaveCount(0);
  }

  /** Opens what is folded in the sheet, which must be open. */
  async unfold(title: 'Layers' | 'More about this model'): Promise<void> {
    const summary = this.sheet.locator('summary').filter({ hasText: new RegExp(`^${title}`) });
    const open = await summary.evaluate(({ parentElement }) => parentElement?.hasAttribute('open'));
    if (open !== true) await summary.click();
  }

  /** Opens the picture of the layers, in the sheet. */
  async openLayers(): Promise<void> {
    await this.openSheet();
    await this.unfold('Layers');
    await this.page.locator('.layers').scrollIntoViewIfNeeded();
  }

  async loadAddress(address: string): Promise<void> {
    await this.openSheet();
    await this.sheet.getByLabel('Address').fill(address);
    await this.sheet.locator('.by-address button').click();
  }

  async chooseFile(files: Parameters<Locator['setInputFiles']>[0]): Promise<void> {
    await this.openSheet();
    await this.sheet.getByLabel('Choose a model file').setInputFiles(files);
  }

  /** Goes back to the bundled model. */
  async goBack(): Promise<void> {
    await this.openSheet();
    await this.sheet.getByRole('button', { name: 'Back to the model of this page' }).click();
  }

  /** One of the figures, whose details must be open. */
  figure(label: string): Locator {
    const named = this.page.locator('dt', { hasText: new RegExp(`^${label}$`) });
    return this.page.locator('.figure').filter({ has: named }).locator('dd').first();
  }

  /** A fact about the model in use, in the sheet, which must be open. */
  fact(label: string): Locator {
    return this.sheet
      .locator('.current .four > div, .current .facts > div')
      .filter({ has: this.page.getByText(label, { exact: true }) })
      .locator('dd');
  }

  /** Opens the sheet, waits for the fact about the model in use, and closes the sheet again. */
  async hasFact(label: string, fact: string | RegExp): Promise<void> {
    await this.openSheet();
    await this.unfold('More about this model');
    await expect(this.fact(label)).toHaveText(fact);
    await this.closeSheet();
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
