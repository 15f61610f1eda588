// Someone who knows nothing of models, for tests: what they press and read, and a hub of ours in the place of the shelf's.
import fs from 'node:fs';
import path from 'node:path';
import type { BrowserContext, Locator, Page } from '@playwright/test';
import { AppPage, expect, test as base } from './fixtures';
import type { Hub } from './hub/server.mjs';
import type { Plan } from './hub/served.mjs';
import { scriptedModel } from './scripted-model';
import { ROOT, type Site } from './servers';

/** What the models of the shelf answer here. */
export const ANSWER = 'Blue light is scattered most.';
export const WISE = scriptedModel({ name: 'Wise', scripts: [ANSWER] });

export class Visitor extends AppPage {
  presses = 0;
  /** Each line that was in sight, once. */
  readonly read = new Set<string>();
  /** Requests to other hosts than the page's own. */
  readonly elsewhere: string[] = [];
  readonly field = this.page.getByLabel(/^(Message|Nachricht)$/);
  readonly send = this.page.locator('.send');
  /** The model that suits the device, or how far it is. */
  readonly card = this.page.locator('.first-model');
  readonly download = this.card.locator('.primary');
  readonly others = this.card.getByRole('button', { name: /^(Others|Andere)/ });
  readonly answers = this.page.locator('.message.assistant');
  readonly facts = this.page.locator('.field-facts');

  constructor(page: Page, site: Site) {
    super(page, site);
    const { origin } = new URL(site.url);
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== origin) this.elsewhere.push(request.url());
    });
  }

  /** Opens the page, which offers a model, and waits until its own one is there. */
  async arrive(): Promise<void> {
    await this.page.goto(this.site.url);
    await expect(this.download).toBeVisible();
    await expect(this.page.locator('.chip[data-state=ready]')).toBeVisible();
  }

  /** Reads what is in sight, and presses. `how`: with a finger, for example. */
  async press(what: Locator, how: (what: Locator) => Promise<void> = (what) => what.click()) {
    await this.look();
    this.presses += 1;
    await how(what);
  }

  /** Reads what is in sight. */
  async look(): Promise<void> {
    for (const line of await this.page.evaluate(linesInSight)) this.read.add(line);
  }

  /** How many words were read. */
  get words(): number {
    return [...this.read].join(' ').split(/\s+/).filter(Boolean).length;
  }

  async uses(name: string): Promise<void> {
    await expect(this.modelName).toHaveText(name);
    await expect(this.page.locator('.chip[data-state=ready]')).toBeVisible();
  }

  /** Waits for the end of an answer. */
  async answered(text = ANSWER): Promise<void> {
    await expect(this.answers.last()).toContainText(text);
    await expect(this.send).toHaveAttribute('data-stops', 'false');
  }

  /** Lets a file fall on the page. */
  async drop(name: string, content: Buffer): Promise<void> {
    const dataTransfer = await this.page.evaluateHandle(
      ([name, text]) => {
        const data = new DataTransfer();
        data.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
        return data;
      },
      [name, content.toString('base64')] as const,
    );
    await this.page.dispatchEvent('body', 'drop', { dataTransfer });
  }
}

/** The texts in the window. What lies behind a dialog isn't in sight. */
function linesInSight(): string[] {
  const within = document.querySelector('dialog[open]') ?? document.body;
  const nodes = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
  const lines: string[] = [];
  while (nodes.nextNode()) {
    const { textContent, parentElement: holder } = nodes.currentNode;
    const line = textContent?.trim() ?? '';
    if (line === '' || holder === null || !holder.checkVisibility()) continue;
    if (holder.closest('.sr-only, .skip, noscript, details:not([open]) > :not(summary)') !== null)
      continue;
    const { top, bottom } = holder.getBoundingClientRect();
    if (bottom > 0 && top < window.innerHeight) lines.push(line);
  }
  return lines;
}

/** What is asked of the hub goes on to ours, as hubs send on to where their files are. */
export async function playHub(context: BrowserContext, hub: Hub): Promise<void> {
  await context.route('https://huggingface.co/**', async (route) => {
    const { pathname, search } = new URL(route.request().url());
    const headers = { Location: hub.url + pathname + search, 'Access-Control-Allow-Origin': '*' };
    await route.fulfill({ status: 302, headers });
  });
}

interface ShelfModel {
  id: string;
  files: { address: string; sha256: string | null }[];
}

/** The page's own shelf. */
const SHELF = path.join(ROOT, 'web/app/public/models/shelf.json');

interface Played {
  /** Files in the place of models, by their ids. Default: WISE */
  files?: Record<string, string>;
  plan?: Plan;
  /** Models besides; nothing is at their addresses. */
  also?: object[];
}

interface Shelf {
  /** The hub has all models of the shelf, at the addresses that it names. */
  play(as?: Played): Promise<void>;
}

const ADDRESS = /^hf:([^:@]+):([^@]+)@?(.*)$/;

export const test = base.extend<{ visitor: Visitor; shelf: Shelf }>({
  visitor: async ({ page, site }, use) => use(new Visitor(page, site)),
  shelf: async ({ page, context, hub }, use) => {
    await use({
      play: async ({ files = {}, plan = () => ({}), also = [] } = {}) => {
        const { models } = JSON.parse(fs.readFileSync(SHELF, 'utf8')) as { models: ShelfModel[] };
        for (const model of models) {
          const served = hub.add('model.gguf', files[model.id] ?? WISE, { plan });
          for (const file of model.files) {
            const [, name = '', at = '', revision] = ADDRESS.exec(file.address) ?? [];
            const revisions = { main: revision || '0'.repeat(40) };
            hub.api.repository(name, { [at]: served }, { revisions });
            if (file.sha256 !== null) file.sha256 = served.content.sha256;
          }
        }
        // Of this page alone: the service worker knows what the file must be.
        await page.route('**/models/shelf.json', (route) =>
          route.fulfill({ json: { models: [...also, ...models] } }),
        );
        await playHub(context, hub);
      },
    });
  },
});

export { expect };
