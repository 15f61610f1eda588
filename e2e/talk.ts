// The conversation view for tests: the page with a model whose answers are known.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Locator, Page } from '@playwright/test';
import { AppPage, expect, test as base } from './fixtures';
import { scriptedModel } from './scripted-model';
import { ROOT, servePage, type Site } from './servers';

/** The answers, by the last digit of the message. */
export const ANSWERS = {
  hello: 'Hello there. This is the first answer.',
  markdown: [
    '## Rivers',
    '',
    '| River | Length |\n|---|---|\n| Elbe | 1094 km |',
    '',
    '```js\nconst river = "Elbe";\n```',
    '',
    '- one bank\n- another **bank**',
    '',
    'Euler: $e^{i\\pi} + 1 = 0$.',
    '',
    '<img src=x onerror=alert(1)>',
  ].join('\n'),
  thinking: '<think>\nFirst I count the stones.\n</think>\n\nThere are **seven** stones.',
  long: Array.from({ length: 120 }, (_, i) => `Line ${i} of the long answer.`).join('\n\n'),
  short: 'Quite short.',
};
export const MODEL = {
  name: 'Scripted',
  thinking: true,
  scripts: [ANSWERS.hello, ANSWERS.markdown, ANSWERS.thinking, ANSWERS.long, ANSWERS.short],
};
/** Its context is soon full. */
const SMALL = { ...MODEL, name: 'Small', contextLength: 400 };

/** Serves the page with another model in the place of its own. */
async function serveWith(model: typeof MODEL): Promise<Site> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'talk-'));
  fs.copyFileSync(scriptedModel(model), path.join(dir, 'stories-q8_0.gguf'));
  fs.copyFileSync(
    path.join(ROOT, 'web/app/public/models/shelf.json'),
    path.join(dir, 'shelf.json'),
  );
  const site = await servePage(true, { '/models/': dir });
  return {
    url: site.url,
    close: async () => {
      await site.close();
      fs.rmSync(dir, { recursive: true });
    },
  };
}

/** The conversation's parts, found by their labels and roles. */
export class Talk extends AppPage {
  readonly field = this.page.getByLabel('Message', { exact: true });
  readonly send = this.page.locator('.send');
  readonly mine = this.page.locator('.message.user');
  readonly answers = this.page.locator('.message.assistant');
  readonly facts = this.page.locator('.field-facts');
  readonly list = this.page.getByRole('navigation', { name: 'Conversations' });
  readonly items = this.list.locator('.item');
  readonly status = this.page.locator('p.sr-only[role=status]');

  protected override begins(fragment: string): string {
    return fragment;
  }

  override async ready(): Promise<void> {
    await expect(this.modelName).toHaveText(/^(Scripted|Small)$/);
    await expect(this.loading).toHaveCount(0);
  }

  /** Sends a message, without waiting for the answer. */
  async begin(text: string): Promise<void> {
    await this.field.fill(text);
    await this.field.press('Enter');
  }

  /** Waits until no answer is being written, and returns the last one. */
  async answered(): Promise<Locator> {
    await expect(this.send).toHaveAttribute('data-stops', 'false');
    await expect(this.answers.last().locator('.message-foot')).toBeVisible();
    return this.answers.last();
  }

  async say(text: string): Promise<Locator> {
    const before = await this.answers.count();
    await this.begin(text);
    await expect(this.answers).toHaveCount(before + 1);
    return this.answered();
  }

  /** A button of a message. It shows under the pointer. */
  async press(message: Locator, name: string): Promise<void> {
    await message.hover();
    await message.getByRole('button', { name, exact: true }).click();
  }

  /** Chooses from the menu with this name. */
  async choose(menu: string, item: string): Promise<void> {
    await this.page.getByRole('button', { name: menu, exact: true }).click();
    await this.page.getByRole('menuitem', { name: item, exact: true }).click();
  }

  /** Chooses from the menu of a conversation in the list. */
  async chooseFor(title: string, item: string): Promise<void> {
    await this.items.filter({ hasText: title }).hover();
    await this.choose(`More for ${title}`, item);
  }
}

/** Reads what a download holds. */
export async function downloaded(
  page: Page,
  act: () => Promise<void>,
): Promise<{ name: string; text: string }> {
  const [download] = await Promise.all([page.waitForEvent('download'), act()]);
  return {
    name: download.suggestedFilename(),
    text: fs.readFileSync(await download.path(), 'utf8'),
  };
}

interface Fixtures {
  talk: Talk;
}
interface WorkerFixtures {
  talkSites: { scripted: Site; small: Site };
}

export { expect };
export const test = base.extend<Fixtures, WorkerFixtures>({
  talkSites: [
    async ({}, use) => {
      const [scripted, small] = await Promise.all([serveWith(MODEL), serveWith(SMALL)]);
      await use({ scripted, small });
      await Promise.all([scripted.close(), small.close()]);
    },
    { scope: 'worker' },
  ],
  talk: async ({ page, talkSites }, use) => {
    await use(new Talk(page, talkSites.scripted));
  },
});
