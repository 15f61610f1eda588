// The settings' dialog: presets, samplers, stop texts, what a load takes, language, colours, view; and how it looks.
import type { Locator, Page } from '@playwright/test';
import { expect, test, type AppPage } from './fixtures';
import { HEIGHTS, violations } from './looks';
import { scriptedModel } from './scripted-model';
import { MORE } from './tags';

function dialog(page: Page): Locator {
  return page.getByRole('dialog', { name: 'Settings' });
}

function radio(page: Page, name: string): Locator {
  return page.locator('dialog[open]').getByRole('radio', { name, exact: true });
}

/** A radio button that lies under its own label. */
async function choose(page: Page, name: string): Promise<void> {
  await radio(page, name).check({ force: true });
}

test('the dialog works from the keyboard, and gives the focus back', async ({ app, page }) => {
  await app.open();
  const button = page.locator('.settings-button');
  await button.focus();
  await page.keyboard.press('Enter');
  await expect(dialog(page)).toBeVisible();
  await expect(dialog(page).getByRole('button', { name: 'Close' })).toBeFocused();
  // Presets: one stop, the arrows choose.
  await page.keyboard.press('Tab');
  await expect(radio(page, 'Balanced')).toBeFocused();
  await page.keyboard.press('ArrowDown');
  await expect(radio(page, 'Wild')).toBeChecked();
  await expect(page).toHaveURL(/[#&]temperature=1\.2&topK=200&topP=0\.98&minP=0\.02$/);
  await page.keyboard.press('Tab');
  const samplers = dialog(page).locator('summary').first();
  await expect(samplers).toBeFocused();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await expect(page.getByLabel('Temperature')).toHaveCount(1);
  await expect(dialog(page).getByRole('button', { name: 'Back to 0.8' })).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.getByLabel('Temperature')).toBeFocused();
  await page.keyboard.press('ArrowRight');
  await expect(page.getByLabel('Temperature')).toHaveValue('0.81');
  await expect(radio(page, 'Custom')).toBeChecked();
  await page.keyboard.press('Escape');
  await expect(dialog(page)).toHaveCount(0);
  await expect(button).toBeFocused();
  await expect(button).toContainText('Custom, up to 256 tokens');
});

test('a preset sets all samplers, and own ones are not lost', async ({ app, page }) => {
  await app.open();
  await app.openSettings();
  await expect(radio(page, 'Balanced')).toBeChecked();
  await expect(radio(page, 'Custom')).toBeDisabled();
  await page.getByLabel('Top-k').fill('7');
  await expect(radio(page, 'Custom')).toBeChecked();
  await choose(page, 'Precise');
  await expect(page.getByLabel('Temperature')).toHaveValue('0.2');
  await expect(page.getByLabel('Top-k')).toHaveValue('40');
  await expect(radio(page, 'Precise')).toHaveAccessibleDescription(/likeliest words/);
  await choose(page, 'Custom');
  await expect(page.getByLabel('Temperature')).toHaveValue('0.8');
  await expect(page.getByLabel('Top-k')).toHaveValue('7');
  await page.getByRole('button', { name: 'Back to the defaults' }).click();
  await expect(radio(page, 'Balanced')).toBeChecked();
  await expect(page).toHaveURL(`${app.site.url}#view=write`);
});

/** Its file recommends samplers. */
const RECOMMENDS = {
  name: 'Own samplers',
  scripts: ['One.', 'Two.'],
  sampling: { temp: 0.6, top_k: 20, top_p: 0.95, min_p: 0, penalty_repeat: 1.05 },
};

test("a model's own samplers are the defaults; what the reader or a link says goes before", async ({
  app,
  page,
  hub,
}) => {
  const file = hub.add('own.gguf', scriptedModel(RECOMMENDS));
  const shows = async (samplers: Record<string, string>): Promise<void> => {
    for (const [label, value] of Object.entries(samplers))
      await expect(page.getByLabel(label)).toHaveValue(value);
  };
  await app.open();
  await app.openSettings();
  await page.getByLabel('Top-k').fill('33');
  await app.closeDialog();
  await app.loadAddress(file.url);
  await app.ready(RECOMMENDS.name);
  await app.openSettings();
  await shows({ Temperature: '0.6', 'Top-k': '33', 'Top-p': '0.95', 'Min-p': '0' });
  await expect(dialog(page)).toContainText('for which this model’s file has values of its own');
  await page.getByLabel('Temperature').fill('0.8');
  const back = dialog(page).getByRole('button', { name: /^Back to [\d.]+$/ });
  await expect(back).toHaveText(['Back to 0.6', 'Back to 20']);
  // What differs from the model's own is in the address, and stays.
  await expect(page).toHaveURL(/[#&]temperature=0\.8&topK=33$/);
  await page.reload();
  await app.ready(RECOMMENDS.name);
  await app.openSettings();
  await shows({ Temperature: '0.8', 'Top-k': '33', 'Top-p': '0.95' });
  await back.first().click();
  await shows({ Temperature: '0.6', 'Top-k': '33' });
  await page.getByRole('button', { name: 'Back to the defaults' }).click();
  await shows({ Temperature: '0.6', 'Top-k': '20', 'Top-p': '0.95' });
  await expect(radio(page, 'Balanced')).toBeChecked();
  await expect(page).not.toHaveURL(/temperature|topK/);
  await app.closeDialog();
  await app.goBack();
  await app.ready();
  await app.openSettings();
  await shows({ Temperature: '0.8', 'Top-k': '40' });
  await expect(dialog(page)).not.toContainText('values of its own');

  // The page's own model is shown until the reader agrees to fetch the link's.
  const other = hub.add('other.gguf', scriptedModel(RECOMMENDS));
  await page.goto('about:blank');
  await app.open(`#temperature=0.8&model=${encodeURIComponent(other.url)}`);
  await app.offer.getByRole('button', { name: 'Show what it is' }).click();
  await app.offer.getByRole('button', { name: /^Download/ }).click();
  await app.ready(RECOMMENDS.name);
  await app.openSettings();
  await shows({ Temperature: '0.8', 'Top-k': '20' });
});

test('the penalties are folded, and change the text', async ({ app, page }) => {
  await app.open('#seed=4&temperature=0&length=60');
  const whole = await app.write();
  await app.openSettings();
  await expect(page.getByLabel('Presence penalty')).toBeHidden();
  await dialog(page).locator('summary', { hasText: 'Against repetition' }).click();
  await page.getByLabel('Presence penalty').fill('1.5');
  await page.getByLabel('Frequency penalty').fill('0.5');
  await page.getByLabel('Repeat window').fill('256');
  await expect(radio(page, 'Custom')).toBeChecked();
  await expect(page).toHaveURL(/&repeatLastN=256&presencePenalty=1\.5&frequencyPenalty=0\.5&/);
  await app.closeDialog();
  const part = await app.write();
  expect(part).not.toBe(whole);
  // The address says it all.
  await page.reload();
  await app.ready();
  expect(await app.write()).toBe(part);
  await app.openSettings();
  await choose(page, 'Balanced');
  await expect(page.getByLabel('Presence penalty')).toHaveValue('0');
});

test('the preset is the reader’s next time, but a link says what it says', async ({
  app,
  page,
}) => {
  await app.open();
  await app.openSettings();
  await choose(page, 'Wild');
  await app.closeDialog();
  await page.goto('about:blank');
  await page.goto(app.site.url);
  await page.getByRole('button', { name: 'Write', exact: true }).click();
  await expect(page.locator('.summary-text')).toContainText('Wild');
  await page.goto('about:blank');
  await app.open('#prompt=Once');
  await expect(page.locator('.summary-text')).toContainText('Balanced');
});

test('a text ends before a stop text', async ({ app, page }) => {
  await app.open('#seed=4&temperature=0.6&length=140');
  const whole = await app.write();
  const word = whole.split(' ')[6] ?? '';
  expect(word).not.toBe('');
  await app.openSettings();
  await page.getByLabel('Stop text 1', { exact: true }).fill(` ${word}`);
  await page.getByRole('button', { name: 'Add a stop text' }).click();
  await expect(page.getByLabel('Stop text 2', { exact: true })).toBeFocused();
  await page.keyboard.type('\\n\\n\\n');
  await app.closeDialog();
  await expect(page).toHaveURL(/&stop=%20[^&]+%7C%5Cn%5Cn%5Cn$/);
  const part = await app.write();
  expect(part).toBe(whole.slice(0, whole.indexOf(` ${word}`)));
  await expect(app.ending).toContainText('Stopped at a stop text');
  // The address says it all.
  await page.reload();
  await app.ready();
  expect(await app.write()).toBe(part);
  await app.openSettings();
  await expect(page.getByLabel('Stop text 2', { exact: true })).toHaveValue('\\n\\n\\n');
  await page.getByRole('button', { name: 'Remove stop text 1' }).click();
  await page.getByRole('button', { name: 'Remove stop text 1' }).click();
  await expect(page.getByLabel('Stop text 1', { exact: true })).toHaveValue('');
  await expect(page.getByLabel('Stop text 1', { exact: true })).toBeFocused();
  await app.closeDialog();
  expect(await app.write()).toBe(whole);
});

test('four stop texts at most, and one that is too long is not used', async ({ app, page }) => {
  await app.open();
  await app.openSettings();
  const add = page.getByRole('button', { name: 'Add a stop text' });
  for (const n of [1, 2, 3, 4]) {
    await page.getByLabel(`Stop text ${n}`, { exact: true }).fill(`<${n}>`);
    if (n < 4) await add.click();
  }
  await expect(add).toHaveCount(0);
  await page.getByLabel('Stop text 4', { exact: true }).fill('x'.repeat(101));
  await expect(page.getByLabel('Stop text 4', { exact: true })).toHaveAttribute(
    'aria-invalid',
    'true',
  );
  await expect(page.getByLabel('Stop text 4', { exact: true })).toHaveAccessibleDescription(
    /100 characters/,
  );
  await expect(page).toHaveURL(/[#&]stop=%3C1%3E%7C%3C2%3E%7C%3C3%3E$/);
});

test('a context tells its memory, and the model takes it when it is loaded again', async ({
  app,
  page,
}) => {
  await app.open('#seed=11&length=30');
  const before = await app.write();
  await app.openSettings();
  const memory = page.locator('.context-memory');
  const field = page.getByLabel('Context', { exact: true });
  await expect(field).toHaveAttribute('placeholder', 'automatic: 512');
  await expect(memory).toHaveText(/^512 tokens take about [\d.]+ [KM]B/);
  const sizeOf = async (): Promise<number> => {
    const [, amount = '', unit] = /about ([\d.]+) ([KM])B/.exec(await memory.innerText()) ?? [];
    return Number(amount) * (unit === 'M' ? 1e6 : 1e3);
  };
  const usual = await sizeOf();
  await field.fill('256');
  await expect(memory).toHaveText(/^256 tokens/);
  expect((await sizeOf()) / usual).toBeCloseTo(0.5, 1);
  await choose(page, 'Double');
  await expect(page.getByText('Exact to the last digit')).toBeVisible();
  expect((await sizeOf()) / usual).toBeCloseTo(1, 1);
  await field.fill('2000');
  await expect(field).toHaveAccessibleDescription(/was trained on 512 tokens/);
  await field.fill('256');
  const again = page.getByRole('button', { name: 'Load the model again' });
  await expect(again).toBeVisible();
  await app.loadAgain();
  await app.openFigures();
  await expect(app.figure('Context')).toHaveText('256 tokens, f32');
  await app.closeDialog();
  // The same settings give the same text, each time.
  const exact = await app.write();
  expect(await app.write()).toBe(exact);
  await page.reload();
  await app.ready();
  expect(await app.write()).toBe(exact);
  await app.openSettings();
  // As before: the first text comes back.
  await choose(page, 'Usual');
  await field.fill('');
  await app.loadAgain();
  expect(await app.write()).toBe(before);
});

test('the page speaks German when it is told to, and keeps to it', async ({ app, page }) => {
  await app.open();
  await app.openSettings();
  await choose(page, 'Deutsch');
  const german = page.getByRole('dialog', { name: 'Einstellungen' });
  await expect(german).toBeVisible();
  await expect(page.locator('html')).toHaveAttribute('lang', 'de');
  await expect(page).toHaveTitle(/eigenen Gerät/);
  await expect(german.getByRole('radio', { name: 'Ausgewogen' })).toBeChecked();
  await expect(german.locator('output').first()).toHaveText('0,8');
  await page.reload();
  await expect(page.locator('html')).toHaveAttribute('lang', 'de');
  await page.locator('.settings-button').click();
  await choose(page, 'English');
  await expect(dialog(page)).toBeVisible();
  await page
    .getByRole('group', { name: 'Language' })
    .getByLabel('Automatic')
    .check({ force: true });
  await expect(page.locator('html')).toHaveAttribute('lang', 'en');
  expect(await page.evaluate(() => localStorage.getItem('sluice.personal'))).toBeNull();
});

test.describe('in a German browser', () => {
  test.use({ locale: 'de-DE' });
  test('the page is German', async ({ page, app }) => {
    await page.goto(`${app.site.url}#view=write`);
    await page.locator('.settings-button').click();
    await expect(page.getByRole('dialog', { name: 'Einstellungen' })).toBeVisible();
    await expect(page.locator('html')).toHaveAttribute('lang', 'de');
  });
});

test('colours follow the device, or the reader’s choice', async ({ app, page }) => {
  await page.emulateMedia({ colorScheme: 'dark' });
  await app.open();
  const paper = (): Promise<string> =>
    page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const bar = (): Promise<string[]> =>
    page.evaluate(() =>
      [...document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]')].map(
        ({ content }) => content,
      ),
    );
  const [dark, own] = [await paper(), await bar()];
  await app.openSettings();
  await page.getByRole('group', { name: 'Colours' }).getByLabel('Light').check({ force: true });
  const light = await paper();
  expect(light).not.toBe(dark);
  await expect.poll(bar).toEqual([own[0], own[0]]);
  await page.reload();
  await app.ready();
  expect(await paper()).toBe(light);
  await app.openSettings();
  await page.emulateMedia({ colorScheme: 'light' });
  await page.getByRole('group', { name: 'Colours' }).getByLabel('Dark').check({ force: true });
  expect(await paper()).toBe(dark);
  await expect.poll(bar).toEqual([own[1], own[1]]);
  await page.getByRole('group', { name: 'Colours' }).getByLabel('Automatic').check({ force: true });
  expect(await paper()).toBe(light);
  await expect.poll(bar).toEqual(own);
});

test('the view is a choice, and reasoning belongs to the conversation', async ({ app, page }) => {
  await app.open();
  await app.openSettings();
  await page.getByRole('group', { name: 'View' }).getByLabel('Writing').check({ force: true });
  await expect(page.getByRole('group', { name: 'Reasoning' })).toHaveCount(0);
  await page.getByRole('group', { name: 'View' }).getByLabel('Conversation').check({ force: true });
  const reasoning = page.getByRole('group', { name: 'Reasoning' });
  await reasoning.getByLabel('Off').check({ force: true });
  await expect(reasoning).toHaveAccessibleDescription(/at once/);
  await page.getByLabel('Tokens to reason').fill('500');
  await expect(page).toHaveURL(/#view=talk&reasoning=off&reasoningBudget=500$/);
  // The view is kept for the next visit, the settings are not.
  await page.goto('about:blank');
  await page.goto(app.site.url);
  await expect(page).toHaveURL(/#view=talk$/);
  await expect(page.getByRole('button', { name: 'Talk' })).toHaveAttribute('aria-pressed', 'true');
});

test('hostile storage changes nothing', async ({ app, page }) => {
  await page.addInitScript(() => {
    localStorage.setItem(
      'sluice.personal',
      '{"language":"<img src=x>","theme":["dark"],"view":"x","preset":"__proto__"}',
    );
  });
  await app.open();
  await expect(page.locator('html')).toHaveAttribute('lang', 'en');
  expect(await page.evaluate(() => document.documentElement.dataset['theme'])).toBeUndefined();
  await expect(page.locator('.summary-text')).toHaveText('Balanced, up to 256 tokens');
});

test('without storage the page works', async ({ app, page }) => {
  await page.addInitScript(() => {
    Object.defineProperty(window, 'localStorage', {
      get: () => {
        throw new DOMException('refused', 'SecurityError');
      },
    });
  });
  await app.open();
  await app.openSettings();
  await choose(page, 'Deutsch');
  await expect(page.locator('html')).toHaveAttribute('lang', 'de');
});

interface State {
  name: string;
  set(app: AppPage): Promise<void>;
}

const STATES: State[] = [
  {
    name: 'settings',
    set: async (app) => {
      await app.open();
      await app.openSettings();
      await app.page.locator('summary', { hasText: 'Against repetition' }).click();
      await app.page.getByLabel('Temperature').fill('1.1');
      await app.page.getByLabel('Length').fill('0');
      await app.page.getByLabel('Memory (MB)').fill('1.5');
    },
  },
  {
    name: 'settings-folded',
    set: async (app) => {
      await app.open('#stop=User:%7C%5Cn%5Cn&context=256');
      await app.openSettings();
      await app.page.locator('.settings summary').first().click();
      await app.page.locator('.dialog-body').evaluate((body) => body.scrollTo(0, 0));
    },
  },
  {
    name: 'settings-german',
    set: async (app) => {
      await app.open();
      await app.openSettings();
      await choose(app.page, 'Deutsch');
    },
  },
  {
    name: 'figures-details',
    set: async (app) => {
      await app.open('#seed=4&length=20');
      await app.write();
      await app.openFigures();
    },
  },
];

for (const [turn, [width, height]] of Object.entries(HEIGHTS).entries()) {
  for (const [i, state] of STATES.entries()) {
    // In the ladder each state is looked at in one width, in turn.
    const tag = i % 3 === turn ? [] : MORE;
    test(`${state.name}, ${width} wide`, { tag }, async ({ app, page }) => {
      await page.setViewportSize({ width: Number(width), height });
      await page.emulateMedia({ reducedMotion: 'reduce' });
      await state.set(app);
      await page.evaluate(() => document.fonts.ready);
      const body = page.locator('dialog[open] .dialog-body');
      for (const look of ['light', 'dark', 'forced'] as const) {
        await page.emulateMedia({
          colorScheme: look === 'dark' ? 'dark' : 'light',
          forcedColors: look === 'forced' ? 'active' : 'none',
        });
        const parts = await body.evaluate((b) => Math.ceil(b.scrollHeight / b.clientHeight));
        for (let part = 0; part < parts; ++part) {
          await body.evaluate((b, part) => b.scrollTo(0, part * b.clientHeight), part);
          await page.screenshot({ path: `screenshots/${state.name}-${width}-${look}-${part}.png` });
        }
        const overflow = await body.evaluate((b) => b.scrollWidth - b.clientWidth);
        expect(overflow, `${look}: nothing is wider than the dialog`).toBe(0);
        // Forced colours are the device's own.
        expect(await violations(page, look !== 'forced'), look).toEqual([]);
      }
      const small = await page.evaluate(() =>
        [
          ...document.querySelectorAll<HTMLElement>(
            'dialog[open] :is(button, summary, select, input)',
          ),
        ]
          .map((element) => {
            // A radio button is as large as its label.
            const touched = element.closest<HTMLElement>('label') ?? element;
            return {
              name: element.id || element.textContent,
              box: touched.getBoundingClientRect(),
            };
          })
          .filter(({ box }) => box.height < 44 || box.width < 44)
          .map(({ name, box }) => `${name}: ${box.width} x ${box.height}`),
      );
      expect(small).toEqual([]);
    });
  }
}

test('a part of the page that can’t be fetched is said to be missing, and can be had again', async ({
  app,
  page,
  allowed,
}) => {
  allowed.push(/later-/);
  let missing = true;
  await page.route(/\/assets\/later-(?!writing)[\w-]+\.js$/, (route) =>
    missing ? route.abort() : route.continue(),
  );
  await app.open();
  await page.locator('.settings-button').click();
  const alert = dialog(page).getByRole('alert');
  await expect(alert).toContainText('This part of the page could not be fetched.');
  await expect(page.getByLabel('Top-k')).toHaveCount(0);
  // While it is missing, another try says so again.
  await alert.getByRole('button', { name: 'Try again' }).click();
  await expect(alert).toContainText('This part of the page could not be fetched.');
  missing = false;
  // A page at rest may fetch it just now as well: then there is nothing left to press.
  await expect(async () => {
    const again = alert.getByRole('button', { name: 'Try again' });
    if (await again.isVisible()) await again.click({ timeout: 2000 });
    await expect(radio(page, 'Balanced')).toBeChecked({ timeout: 5000 });
  }).toPass();
  await expect(alert).toHaveCount(0);
});

test('version and licences are in the settings of the conversation view', async ({ app, page }) => {
  await page.goto(`${app.site.url}#view=talk`);
  await page.getByRole('button', { name: 'Settings' }).click();
  await expect(dialog(page)).toContainText(/Sluice \d+\.\d+\.\d+/);
  await expect(dialog(page).getByRole('link', { name: /Licence/ })).toHaveAttribute(
    'href',
    './LICENSE.txt',
  );
});
