// The room Find for tests: the page with an embedding model, and files to find in.
import fs from 'node:fs';
import path from 'node:path';
import type { Locator, Page } from '@playwright/test';
import { AppPage, expect, test as base } from './fixtures';
import { holdAt, letGo } from './held';
import { ROOT } from './servers';

/** With random weights: the vector of a text says nothing of its meaning, but the same text has the same one. */
export const TINY = path.join(ROOT, '../shared/models/tiny/tiny-bert-f32.gguf');
export const NO_TINY = 'needs ../shared/models/tiny';

/** A file in the browser's hands. */
export interface Given {
  name: string;
  mimeType: string;
  buffer: Buffer;
}

export function fileOf(name: string, content: string | Uint8Array): Given {
  return { name, mimeType: 'text/plain', buffer: Buffer.from(content) };
}

/** Words that most vocabularies have. */
const WORDS =
  'the river house music garden winter letter window market paper stone bread light story bird road'.split(
    ' ',
  );

/** A paragraph of its own for each number, of the length of a passage. */
export function paragraph(n: number): string {
  const words: string[] = [];
  let state = n * 2654435761 + 1;
  for (let i = 0; i < 90; ++i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    words.push(WORDS[(state >>> 16) % WORDS.length] ?? '');
  }
  return `Number ${n}: ${words.join(' ')}.`;
}

export class Find extends AppPage {
  readonly question = this.page.getByLabel('What are you looking for?');
  readonly hits = this.page.locator('.hit');
  readonly heads = this.page.locator('.hit-head');
  readonly files = this.page.locator('.find-files > ul > li');
  readonly progress = this.page.locator('.find-progress');
  readonly refusals = this.page.locator('.refusals');
  readonly said = this.page.locator('#app > [role=status]');

  override async ready(name: string | RegExp = 'Sluice Stories'): Promise<void> {
    await expect(this.modelName).toHaveText(name);
    await expect(this.loading).toHaveCount(0);
    await expect(this.page.locator('.finding')).toBeVisible();
  }

  protected override begins(fragment: string): string {
    return fragment === '' ? '#view=find' : fragment;
  }

  /** Opens the room with the tiny model. */
  async begin(): Promise<void> {
    await this.page.goto(`${this.site.url}#view=find`);
    await expect(this.page.locator('.finding .chip')).toBeVisible();
    await this.chooseFile(TINY);
    await this.closeSheet();
    await this.ready(/bert/i);
  }

  async add(...given: (Given | string)[]): Promise<void> {
    const input = this.page.getByLabel('Add files', { exact: true }).first();
    // By path or by content, as the test has them.
    await input.setInputFiles(given as string[]);
  }

  /** Waits until all files are read. */
  async isRead(files: number): Promise<void> {
    await expect(this.files).toHaveCount(files);
    // Between two steps neither of the others is there.
    await expect(this.page.locator('.find-files')).toHaveAttribute('aria-busy', 'false');
    await expect(this.progress).toHaveCount(0);
    await expect(this.page.locator('.to-read')).toHaveCount(0);
  }

  /** Holds the reading when the page shows this progress, until it is let go. Must be called before the page is opened. */
  async holdReadingAt(progress: string): Promise<void> {
    await holdAt(this.page, '.find-progress', progress);
  }

  async letGo(): Promise<void> {
    await letGo(this.page);
  }

  async ask(text: string): Promise<void> {
    await this.question.fill(text);
    await this.question.press('Enter');
    await expect(this.page.locator('#hits-heading')).toContainText(text.slice(0, 40));
  }

  file(name: string): Locator {
    return this.files.filter({ hasText: name });
  }
}

export const test = base.extend<{ find: Find }>({
  find: async ({ page, site }, use) => use(new Find(page, site)),
});

/** Waits until a service worker controls the page: then it opens without a network. */
export async function isKept(page: Page): Promise<void> {
  await page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');
}

export const hasTiny = fs.existsSync(TINY);
export { expect };
