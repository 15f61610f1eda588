// The first visit of someone who was told "a chat AI in the browser": from the first paint to the first answer.
import fs from 'node:fs';
import type { Locator, Page } from '@playwright/test';
import { expect, test as base } from './fixtures';
import { scriptedModel } from './scripted-model';
import type { Site } from './servers';

/** Enough for the header of the bundled model. */
const HEADER_BYTES = 400_000;
const ANSWER = 'Blue light is scattered most.';

class Visitor {
  presses = 0;
  /** Requests to other hosts than the page's own. */
  readonly elsewhere: string[] = [];
  readonly field: Locator;
  readonly card: Locator;
  readonly download: Locator;
  readonly answer: Locator;

  constructor(
    readonly page: Page,
    readonly site: Site,
  ) {
    this.field = page.getByLabel('Message', { exact: true });
    this.card = page.locator('.first-model');
    this.download = this.card.locator('.primary');
    this.answer = page.locator('.message.assistant');
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== new URL(site.url).origin)
        this.elsewhere.push(request.url());
    });
  }

  async arrive(): Promise<void> {
    await this.page.goto(this.site.url);
    await expect(this.download).toBeVisible();
  }

  async press(name: string | RegExp): Promise<void> {
    this.presses += 1;
    await this.page.getByRole('button', { name }).click();
  }
}

interface Shelf {
  /** Puts the scripted model on the shelf. */
  offer(more?: object): Promise<void>;
}

const test = base.extend<{ visitor: Visitor; shelf: Shelf }>({
  visitor: async ({ page, site }, use) => use(new Visitor(page, site)),
  shelf: async ({ page, hub }, use) => {
    const file = scriptedModel({ name: 'Wise', scripts: [ANSWER] });
    const { size } = fs.statSync(file);
    await use({
      offer: async (more = {}) => {
        const { url } = hub.add('wise.gguf', file);
        const model = {
          ...{ id: 'wise', name: 'Wise 0.6B', kind: 'chat', first: true, recommend: 1 },
          good_for: { en: 'small chat in many languages', de: 'kleine Gespräche' },
          ...{ licence: 'Apache-2.0', terms: null },
          files: [{ type: 'Q4_0', address: url, bytes: size, sha256: null, verified: true }],
          ...more,
        };
        await page.route('**/models/shelf.json', (route) =>
          route.fulfill({ json: { models: [model] } }),
        );
      },
    });
  },
});

test('two presses lead to an answer, and before the first one no other host hears of the visit', async ({
  visitor,
  shelf,
}) => {
  await shelf.offer();
  await visitor.arrive();
  const { page, field } = visitor;
  await expect(page.locator('.chip[data-state=ready]')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Talk', exact: true })).toHaveAttribute(
    'aria-pressed',
    'true',
  );
  await expect(field).toBeFocused();
  const seen = await page.evaluate(() => {
    const { body } = document;
    const hidden = [...body.querySelectorAll<HTMLElement>('.sr-only, details > :not(summary)')];
    for (const each of hidden) each.style.display = 'none';
    const text = body.innerText;
    for (const each of hidden) each.style.display = '';
    return text;
  });
  expect(seen.split(/\s+/).filter(Boolean).length, seen).toBeLessThan(90);
  expect(seen).not.toMatch(/GGUF|\bhub\b|\bLook\b|\bPin\b|\bOwn\b|f16|connect-src/);
  expect(visitor.elsewhere).toEqual([]);

  await page.keyboard.type('Why is the sky blue?');
  await visitor.press(/^Download and start: /);
  await expect(page.locator('.chip-name')).toHaveText('Wise');
  await expect(page.locator('.suggestion').first()).toBeVisible();
  await expect(field).toBeFocused();
  await expect(field).toHaveValue('Why is the sky blue?');
  expect(visitor.presses).toBe(1);
  await visitor.press('Send');
  await expect(visitor.answer).toContainText(ANSWER);
  expect(visitor.presses).toBe(2);
});

test('the card shows the download in place, and ends it', async ({ visitor, shelf, models }) => {
  const { url } = models.gated('stories.gguf', HEADER_BYTES);
  await shelf.offer({ files: [{ type: 'Q8_0', address: url, bytes: 2_580_000, verified: true }] });
  await visitor.arrive();
  const { card, field } = visitor;
  await visitor.press(/^Download and start: /);
  await expect(card.getByRole('progressbar')).toBeVisible();
  await expect(card).toContainText('Wise 0.6B');
  await expect(card).toContainText('KB of 2.58 MB');
  await field.fill('kept');
  await card.getByRole('button', { name: 'Cancel' }).click();
  await expect(visitor.download).toBeVisible();
  await expect(field).toHaveValue('kept');
});

test('a first question is one press', async ({ visitor, shelf }) => {
  await shelf.offer();
  await visitor.arrive();
  await visitor.press(/^Download and start: /);
  await visitor.press('Give me five ideas for a rainy Sunday');
  await expect(visitor.answer).toContainText(ANSWER);
  await expect(visitor.field).toHaveValue('');
});

test('terms are accepted by the press, once', async ({ visitor, shelf }) => {
  const terms = {
    address: 'https://terms.example/',
    short: { en: 'Using it means agreeing.', de: 'Du stimmst zu.' },
  };
  await shelf.offer({ terms });
  await visitor.arrive();
  await expect(visitor.card).toContainText('Using it means agreeing.');
  await expect(visitor.card.getByRole('link')).toHaveAttribute('href', 'https://terms.example/');
  await visitor.press(/^Accept and download: /);
  await expect(visitor.page.locator('.chip-name')).toHaveText('Wise');
  expect(await visitor.page.evaluate(() => localStorage.getItem('sluice.terms'))).toContain(
    'terms.example',
  );
});

test('what is typed before the script has come stays, with the focus and the selection', async ({
  visitor,
  page,
}) => {
  let release = (): void => undefined;
  const held = new Promise<void>((go) => (release = go));
  await page.route(/\/later-(?!settings|writing)[^/]*\.js$/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(visitor.site.url);
  const { field } = visitor;
  await expect(field).toBeFocused();
  await page.keyboard.type('Once upon');
  await page.keyboard.press('ArrowLeft');
  await expect(page.locator('.talk')).toHaveAttribute('aria-busy', 'true');
  release();
  await expect(page.locator('.talk')).not.toHaveAttribute('aria-busy', 'true');
  await expect(field).toBeFocused();
  await expect(field).toHaveValue('Once upon');
  expect(await field.evaluate((at: HTMLTextAreaElement) => at.selectionStart)).toBe(8);
});

test('one press has the story model tell a story', async ({ visitor, shelf }) => {
  await shelf.offer();
  await visitor.arrive();
  await expect(visitor.page.locator('.chip[data-state=ready]')).toBeVisible();
  await visitor.press('Let it tell a story');
  await expect(visitor.page.locator('#written')).not.toBeEmpty();
});
