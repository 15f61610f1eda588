// The page's languages: French, from its file, as one that was added last. It is fetched when it is wanted, chosen by the browser
// or the reader, and where it can't be fetched the page stays as it was.
import type { Page } from '@playwright/test';
import { expect, test, type AppPage } from './fixtures';
import { overflow, textsCutOff, violations } from './looks';

const SCRIPT = '**/assets/fr-*.js';

/** Opens the settings, and chooses a language there. */
async function choose(page: Page, name: string): Promise<void> {
  if ((await page.locator('dialog[open]').count()) === 0)
    await page.locator('.settings-button').click();
  await page
    .locator('dialog[open] input[name=language]')
    .and(page.getByRole('radio', { name, exact: true }))
    .check({ force: true });
}

const spoken = (page: Page) => page.locator('html');

/** Collects what the buttons of the views were called, from the first drawing on. */
function watchViews(): void {
  const called: string[] = [];
  Object.assign(window, { called });
  new MutationObserver(() => {
    const text = document.querySelector('.view-button')?.textContent ?? '';
    if (text !== '' && called.at(-1) !== text) called.push(text);
  }).observe(document, { childList: true, characterData: true, subtree: true });
}

test.describe('in a French browser', () => {
  test.use({ locale: 'fr-FR' });

  test('the page speaks French from its first drawing on, writes, and shows its settings', async ({
    app,
    page,
  }) => {
    await page.addInitScript(watchViews);
    await page.goto(`${app.site.url}#length=12&seed=3&view=write`);
    await expect(app.button).toHaveText('Écrire');
    await expect(app.button).toBeEnabled();
    await expect(spoken(page)).toHaveAttribute('lang', 'fr');
    await expect(page).toHaveTitle(/sur votre appareil/);
    expect(await page.evaluate(() => (window as unknown as { called: string[] }).called)).toEqual([
      'Discuter',
    ]);
    await app.button.click();
    await expect(app.ending).toHaveText(/^Arrêté à la longueur réglée\s: 12 tokens/);
    await page.locator('.settings-button').click();
    const dialog = page.getByRole('dialog', { name: 'Réglages' });
    await expect(dialog.getByRole('radio', { name: 'Équilibré' })).toBeChecked();
    await expect(dialog.locator('output').first()).toHaveText('0,8');
    await expect(dialog.getByRole('radio', { name: 'Français' })).toHaveCount(1);
    expect(await violations(page)).toEqual([]);
  });

  test('without the script of its language it is English, and works', async ({
    app,
    page,
    allowed,
  }) => {
    allowed.push(/net::ERR_FAILED|Failed to fetch dynamically/);
    await page.route(SCRIPT, (route) => route.abort());
    await app.open('#length=8');
    await expect(spoken(page)).toHaveAttribute('lang', 'en');
    expect(await app.write()).not.toBe('');
    await page.unroute(SCRIPT);
    await choose(page, 'English');
    await choose(page, 'Français');
    await expect(spoken(page)).toHaveAttribute('lang', 'fr');
  });
});

test('another language comes without a reload, and is kept', async ({ app, page }) => {
  let come = (): void => {};
  const held = new Promise<void>((resolve) => (come = resolve));
  await page.route(SCRIPT, async (route) => {
    await held;
    await route.continue();
  });
  await app.open();
  await page.evaluate(() => Object.assign(window, { same: true }));
  const dialog = (name: string) => page.getByRole('dialog', { name });
  await choose(page, 'Deutsch');
  await expect(dialog('Einstellungen')).toBeVisible();
  const asked = page.waitForRequest(SCRIPT);
  await choose(page, 'Français');
  await asked;
  // Until it has come, the page speaks as before.
  await expect(dialog('Einstellungen')).toBeVisible();
  come();
  await expect(dialog('Réglages')).toBeVisible();
  await expect(spoken(page)).toHaveAttribute('lang', 'fr');
  expect(await page.evaluate(() => 'same' in window)).toBe(true);
  await page.reload();
  await expect(spoken(page)).toHaveAttribute('lang', 'fr');
  await expect(app.button).toHaveText('Écrire');
  await choose(page, 'Automatique');
  await expect(spoken(page)).toHaveAttribute('lang', 'en');
});

/** How many pixels of an open dialog lie beside it, or of a choice's words beside their place. */
function wider(): number {
  const places = document.querySelectorAll('dialog[open] .dialog-body, .choice-row label');
  return Math.max(0, ...[...places].map((at) => at.scrollWidth - at.clientWidth));
}

/** The least space between the words of two views, in pixels, and whether the head lies within the window. */
function headRoom(): { between: number; inside: boolean } {
  const range = document.createRange();
  const words = [...document.querySelectorAll('.view-button')].map((button) => {
    range.selectNodeContents(button);
    return range.getBoundingClientRect();
  });
  const spaces = words.slice(1).map(({ left }, i) => left - (words[i]?.right ?? 0));
  const last = document.querySelector('.head-right > :last-child')?.getBoundingClientRect();
  return { between: Math.min(...spaces), inside: (last?.right ?? Infinity) <= innerWidth - 8 };
}

for (const locale of ['de-DE', 'fr-FR']) {
  test.describe(`in a browser of ${locale}`, () => {
    test.use({ locale });
    test('the views stand apart on a phone', async ({ page, site }) => {
      // In the page's own font, also where it comes late.
      await page.route('**/*.css', async (route) => {
        const response = await route.fetch();
        const body = (await response.text()).replaceAll(
          'font-display:optional',
          'font-display:block',
        );
        await route.fulfill({ response, body });
      });
      await page.setViewportSize({ width: 320, height: 700 });
      await page.goto(`${site.url}#view=talk`);
      await expect(page.locator('.first-model .primary')).toBeVisible();
      await page.evaluate(() => document.fonts.ready);
      for (const width of [320, 345, 353, 360, 375, 390, 414]) {
        await page.setViewportSize({ width, height: 700 });
        const { between, inside } = await page.evaluate(headRoom);
        expect.soft(between, `${width}`).toBeGreaterThanOrEqual(8);
        expect.soft(inside, `${width}`).toBe(true);
        expect.soft(await overflow(page), `${width}`).toBe(0);
      }
    });
  });
}

/** What is looked at; French is the longest of the languages. */
const STATES: Record<string, (app: AppPage) => Promise<void>> = {
  talk: async ({ page, site }) => {
    await page.goto(site.url);
    await expect(page.locator('.first-model .primary')).toBeVisible();
  },
  write: async ({ page, site, button, ending }) => {
    await page.goto(`${site.url}#length=12&seed=3&view=write`);
    await expect(button).toBeEnabled();
    await button.click();
    await expect(ending).toBeVisible();
  },
  find: async ({ page, site }) => {
    await page.goto(`${site.url}#view=find`);
    await expect(page.locator('.find-files')).toBeVisible();
  },
  settings: async ({ page, site }) => {
    await page.goto(`${site.url}#view=write`);
    await page.locator('.settings-button').click();
    await expect(page.locator('dialog[open] .dialog-body')).not.toBeEmpty();
    for (const folded of await page.locator('dialog[open] summary').all()) await folded.click();
  },
  models: async ({ page, site, button }) => {
    await page.goto(`${site.url}#view=write`);
    await expect(button).toBeEnabled();
    await page.locator('.chip').click();
    await expect(page.locator('dialog[open] .shelf li').first()).toBeVisible();
  },
};

test.describe('French has room', () => {
  test.use({ locale: 'fr-FR' });
  for (const [name, show] of Object.entries(STATES)) {
    test(name, async ({ app, page }) => {
      await show(app);
      await page.evaluate(() => document.fonts.ready);
      for (const width of [320, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
          await page.evaluate(() =>
            document.querySelector('input[name=language]')?.closest('fieldset')?.scrollIntoView(),
          );
          const look = `french-${name}-${width}-${colorScheme}`;
          await page.screenshot({ path: `screenshots/${look}.png` });
          expect.soft(await overflow(page), look).toBe(0);
          expect.soft(await textsCutOff(page), look).toEqual([]);
          expect.soft(await page.evaluate(wider), look).toBe(0);
          if ((width === 320) === (colorScheme === 'light'))
            expect.soft(await violations(page), look).toEqual([]);
        }
      }
    });
  }
});
