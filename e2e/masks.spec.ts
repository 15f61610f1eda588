// The writing view of a model that fills in masked words.
import fs from 'node:fs';
import path from 'node:path';
import type { Locator } from '@playwright/test';
import { AppPage, expect, test as base } from './fixtures';
import { isKept } from './find';
import { HEIGHTS, overflow, violations } from './looks';
import { NO_NATIVE, nativeBuilt, sluice } from './models';
import { ROOT } from './servers';

/** A tiny one with random weights, as its makers keep it. */
const FOLDER = path.join(ROOT, '../shared/models/hf/bert');

class Masks extends AppPage {
  readonly field = this.page.getByLabel('Text with masks');
  readonly choices = this.page.locator('.word-choice');

  override async ready(name: string | RegExp = 'Sluice Stories'): Promise<void> {
    await expect(this.modelName).toHaveText(name);
    await expect(this.loading).toHaveCount(0);
  }

  /** Fills the field, and waits for words for so many masks. */
  async find(text: string, masks: number): Promise<void> {
    await this.field.fill(text);
    await this.page.getByRole('button', { name: 'Find words' }).click();
    await expect(this.page.locator('.mask-choices')).toHaveCount(masks);
  }

  choicesFor(mask: number): Locator {
    return this.page.locator('.mask-choices').nth(mask).locator('.word-choice');
  }
}

const test = base.extend<{ masks: Masks }>({
  masks: async ({ page, site }, use, info) => {
    test.skip(!fs.existsSync(FOLDER), 'needs ../shared/models/hf');
    test.skip(!nativeBuilt, NO_NATIVE);
    const file = info.outputPath('tiny-masked.gguf');
    fs.mkdirSync(path.dirname(file), { recursive: true });
    sluice('convert', FOLDER, file);
    const masks = new Masks(page, site);
    await masks.page.goto(`${site.url}#view=talk`);
    await masks.ready();
    await masks.chooseFile(file);
    await masks.closeSheet();
    await expect(masks.field).toBeVisible();
    await use(masks);
  },
});

test('words are found for each mask, chosen, and taken back', async ({ masks, page }) => {
  // The conversation is no place for it: the page has gone to the writing view.
  await expect(page).toHaveURL(/view=write/);
  await masks.find('the [MASK] of the [MASK] .', 2);
  await expect(masks.choicesFor(0)).toHaveCount(5);
  await expect(masks.choicesFor(0).first().locator('.word-share')).toHaveText(
    /^[\d.<]+ ?[\d.]* %$/,
  );
  const status = page.locator('#app > [role=status]');
  await expect(status).toHaveText(/^The likeliest: /);
  await masks.choicesFor(1).first().click();
  await expect(page.locator('.mask-choices')).toHaveCount(1);
  await expect(masks.field).toHaveValue(/^the \[MASK\] of the ?(?!\[MASK\]).* \.$/);
  await masks.choices.nth(1).click();
  await expect(page.getByText('All masks are filled in.')).toBeVisible();
  await expect(masks.field).not.toHaveValue(/MASK/);
  await page.getByRole('button', { name: 'Take the last word back' }).click();
  await expect(page.locator('.mask-choices')).toHaveCount(1);
  await expect(masks.field).toHaveValue(/^the \[MASK\] of the/);
});

test.describe('with what is kept of the page', () => {
  test.use({ serviceWorkers: 'allow' });

  test('words are found without a network, though none were asked for before', async ({
    masks,
    page,
    context,
  }) => {
    await isKept(page);
    await context.setOffline(true);
    await masks.find('the [MASK] of the sea .', 1);
    await expect(masks.choicesFor(0)).toHaveCount(5);
  });
});

test('a mask is put where the caret is, and keys do the rest', async ({ masks, page }) => {
  await masks.field.fill('the  of france');
  await masks.field.press('Home');
  for (let i = 0; i < 4; ++i) await page.keyboard.press('ArrowRight');
  await page.getByRole('button', { name: 'Insert [MASK]' }).click();
  await expect(masks.field).toHaveValue('the [MASK] of france');
  await expect(masks.field).toBeFocused();
  await page.keyboard.press('Control+Enter');
  await expect(masks.choices).toHaveCount(5);
  await masks.choices.first().focus();
  await page.keyboard.press('Enter');
  await expect(page.getByText('All masks are filled in.')).toBeVisible();
});

test('without a mask it offers beginnings, and finds nothing', async ({ masks, page }) => {
  await expect(page.getByRole('button', { name: 'Find words' })).toBeDisabled();
  await page.getByRole('button', { name: 'Paris is the [MASK] of France.' }).click();
  await expect(masks.choices).toHaveCount(5);
});

/** The pixels between the model's name on its chip and the arrow. */
function besideName(): number {
  const [name, arrow] = ['.chip-name', '.chip-more'].map(
    (part) => document.querySelector(part)?.getBoundingClientRect() ?? new DOMRect(),
  );
  return (arrow?.left ?? Infinity) - (name?.right ?? 0);
}

test('looks good at every width', async ({ masks, page }) => {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  for (const [name, text] of [
    ['empty', ''],
    ['found', 'the [MASK] of the [MASK] .'],
  ] as const) {
    if (text !== '') await masks.find(text, 2);
    for (const [width, height] of Object.entries({ 320: 640, ...HEIGHTS })) {
      await page.setViewportSize({ width: Number(width), height });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        const seen = `${name}-${width}-${colorScheme}`;
        await page.screenshot({ path: `screenshots/masks-${seen}.png`, fullPage: true });
        expect(await overflow(page), seen).toBe(0);
        // A short name is as close to the arrow as a long one.
        expect(await page.evaluate(besideName), seen).toBeLessThan(12);
        expect(await violations(page, true), seen).toEqual([]);
      }
    }
  }
});
