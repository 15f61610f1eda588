// What the page says, in each language: no word of those who make models before something is unfolded, and in a German or a
// French page nothing English.
import fs from 'node:fs';
import type { BrowserContext, Page } from '@playwright/test';
import { expect, test as base } from './fixtures';
import type { Hub } from './hub/server.mjs';
import { scriptedModel } from './scripted-model';

// An isolated page may ask no other site for its list of files.
const test = base.extend({ isolation: false });

/** Words that a stranger doesn't know, or that mean something else to one. */
const JARGON = [
  // Also as a part of a word
  /gguf|quanti[sz]|quantisier|kv.?cache|tensor|sha-?256|webassembly|wasm|tokenizer|sampler|angeheftet/i,
  /\b(hubs?|q8_0|f16|f32|simd|etag|cors|opfs|connect-src|checksum|header|embedding|vocab|unpin(ned)?|pinned)\b/i,
  /\b(Look|Pin|Own)\b/,
  // A plain word does as well.
  /\b(first|each|every|a|erstes|jedes|pro) token(?! is about)\b/i,
];
/** Words that no German text has, and no French one. */
const ENGLISH =
  /\b(the|of|and|your|you|is|are|with|for|this|that|it|from|by|has|have|no|only|what|when|can|or)\b|’s\b/i;

/** All that can be seen, read out, or shown as a tip, without what readers, models and files are called or say. */
function everythingSaid(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    // Stories begin in the language of the model that tells them, and a language is named in itself.
    const left =
      '.opening, #written, label[lang], .chip-name, .item-title, .mine-text, .type, .path, .address, code, kbd';
    const said = [document.title];
    for (const each of document.body.querySelectorAll<HTMLElement>('*')) {
      if (!each.checkVisibility({ visibilityProperty: true }) || each.closest(left) !== null)
        continue;
      for (const name of ['aria-label', 'title', 'placeholder', 'alt'])
        said.push(each.getAttribute(name) ?? '');
      for (const node of each.childNodes)
        if (node.nodeType === Node.TEXT_NODE) said.push(node.textContent ?? '');
    }
    return [...new Set(said.map((text) => text.trim()).filter((text) => text !== ''))];
  });
}

/** Names of models and files. */
const NAMES =
  /Wise( 0\.6B)?|Sluice( Stories)?|[\w.-]+\.gguf|stories-q8_0|: Q8_0$|[\w-]+\/stories|stories/g;
/** The ending of a file is said where that helps to find the right one. */
const ENDING = /(ends?( in| with)|auf|par) \.gguf/g;

class Reader {
  constructor(
    readonly page: Page,
    readonly english: boolean,
  ) {}

  /** Reads all that the page says now. */
  async reads(state: string): Promise<void> {
    const wrong = [...JARGON, ...(this.english ? [] : [ENGLISH])];
    const said = await everythingSaid(this.page);
    const found = said.filter((text) => {
      const words = text.replace(ENDING, '').replace(NAMES, '');
      return wrong.some((word) => word.test(words));
    });
    expect.soft(found, state).toEqual([]);
  }

  async open(keys: string): Promise<void> {
    await this.page.keyboard.press(keys);
    await expect(this.page.locator('dialog[open] .dialog-body')).not.toBeEmpty();
  }

  async close(): Promise<void> {
    await this.page.locator('dialog[open] .dialog-head button').click();
    await expect(this.page.locator('dialog[open]')).toHaveCount(0);
  }
}

/** Our hub in the place of the one that the page knows, and a shelf with one model. */
async function play(context: BrowserContext, hub: Hub): Promise<void> {
  const file = scriptedModel({ name: 'Wise', scripts: ['42.'] });
  const { url } = hub.add('wise.gguf', file);
  hub.api.repository('own/stories', { 'stories-Q8_0.gguf': hub.add('stories.gguf', file) });
  const files = [{ type: 'Q4_0', address: url, bytes: fs.statSync(file).size, verified: true }];
  const model = {
    id: 'wise',
    name: 'Wise 0.6B',
    kind: 'chat',
    first: true,
    recommend: 1,
    files,
    good_for: { en: 'small chat', de: 'kleine Gespräche', fr: 'petites conversations' },
    licence: null,
    terms: null,
  };
  await context.route('**/models/shelf.json', (route) =>
    route.fulfill({ json: { models: [model] } }),
  );
  await context.route('https://huggingface.co/**', async (route) => {
    const { pathname, search } = new URL(route.request().url());
    await route.fulfill({ response: await route.fetch({ url: hub.url + pathname + search }) });
  });
}

/** What is said of a model that is kept always, of one that is found, and of a load that waits. */
const SAID = {
  'en-GB': ['always', 'to download', 'goes on by itself'],
  'de-DE': ['immer', 'zum Herunterladen', 'geht von selbst'],
  'fr-FR': ['toujours', 'à télécharger', 'reprend tout seul'],
} as const;

for (const [locale, [always, download, waits]] of Object.entries(SAID)) {
  const english = locale === 'en-GB';
  test.describe(locale, () => {
    test.use({ locale });

    test('from the first visit to an answer', async ({ page, context, site, hub, allowed }) => {
      allowed.push(/status of 404/);
      await play(context, hub);
      const reader = new Reader(page, english);
      const field = page.locator('#draft');
      await page.goto(site.url);
      await expect(page.locator('html')).toHaveAttribute('lang', locale.slice(0, 2));
      await expect(page.locator('.chip[data-state=ready]')).toBeVisible();
      await expect(page.locator('.first-model .primary')).toBeVisible();
      await reader.reads('the front');

      await reader.open('Control+m');
      await expect(page.locator('.shelf li')).toHaveCount(1);
      await reader.reads('the models');
      const address = page.locator('#address');
      await address.fill('nonsense');
      await address.press('Enter');
      await expect(page.locator('#address-wrong')).toBeVisible();
      await reader.reads('a wrong address');
      await address.fill('own/stories');
      await reader.reads('an address');
      await address.press('Enter');
      await expect(page.locator('.files li')).toHaveCount(1);
      await reader.reads('the files of a page');
      await address.fill(`${hub.url}/file/none/none.gguf`);
      await address.press('Enter');
      await expect(page.locator('.notice.wrong')).toBeVisible();
      await reader.reads('an error');

      await page.locator('.notice.wrong .buttons .quiet').click();
      await page.locator('.view-button').nth(2).click();
      await expect(page.locator('.needs')).toBeVisible();
      await page
        .locator('.find-files input')
        .first()
        .setInputFiles({
          name: 'a.pdf',
          mimeType: 'application/pdf',
          buffer: Buffer.from('%PDF-1.7'),
        });
      await expect(page.locator('.refusals li')).toBeVisible();
      await reader.reads('Find');
      await page.locator('.view-button').first().click();
      await page.locator('.first-model .primary').click();
      await expect(page.locator('.suggestion').first()).toBeVisible();
      await reader.reads('a model');
      await field.fill('42');
      await field.press('Enter');
      await expect(page.locator('.message.assistant .message-foot')).toBeVisible();
      await expect(page.locator('.item')).toHaveCount(1);
      await reader.reads('an answer');
      await page.locator('#search').fill('42');
      await expect(page.locator('.item-excerpt')).toBeVisible();
      await reader.reads('a search');
      await page.locator('.item .menu button').click();
      await reader.reads('a menu');
      await page.keyboard.press('Escape');

      await reader.open('Control+m');
      await expect(page.locator('.kept li')).toHaveCount(1);
      await reader.reads('the models that are kept');
      await page.locator('.kept li button[title]').click();
      await expect(page.locator('.kept li .note')).toContainText(always);
      await reader.reads('a model that is kept always');
      await reader.close();
      await reader.open('Control+,');
      await reader.reads('the settings');
      await page.locator('input[name=kvType]').nth(1).check({ force: true });
      await reader.reads('a choice in the settings');
      await reader.close();
      await reader.open('Control+/');
      await reader.reads('the shortcuts');
      await reader.close();
    });

    test('a link, a wait, a text', async ({ page, context, site, hub, allowed }) => {
      allowed.push(/status of 503/);
      await play(context, hub);
      const reader = new Reader(page, english);
      const file = hub.add('wise.gguf', scriptedModel({ name: 'Wise', scripts: ['42.'] }));
      await page.goto(`${site.url}#temperature=9&length=1&model=${encodeURIComponent(file.url)}`);
      const offer = page.locator('.offer');
      await expect(offer.locator('.secondary')).toBeVisible();
      await reader.reads('a link with a model');
      await offer.locator('.secondary').click();
      await expect(offer).toContainText(download);
      await reader.reads('what the model is');
      file.plan = () => ({ status: 503, retryAfter: 30 });
      await offer.locator('.secondary').click();
      await expect(page.locator('.first-facts')).toContainText(waits);
      await reader.reads('a load that waits');
      await reader.open('Control+m');
      await expect(page.locator('.coming .fold')).toBeVisible();
      await reader.reads('the models, of which one waits');
      await page.locator('.coming .load-buttons button').last().click();
      await reader.close();

      await page.locator('.view-button').nth(1).click();
      await expect(page.locator('.composer .primary')).toBeEnabled();
      await reader.reads('the writing view');
      await page.locator('#prompt').fill('42');
      await page.locator('.composer .primary').click();
      await expect(page.locator('.how')).toBeVisible();
      await reader.reads('a text');
    });
  });
}
