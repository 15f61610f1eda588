// The writing view: going on with a text, writing it again, links, earlier texts, beginnings, the field.
import type { Page } from '@playwright/test';
import { BUNDLED } from './models';
import { expect, test, type AppPage } from './fixtures';
import { LONG } from './in-page';
import { violations } from './looks';

const LIKELIEST = 'temperature=0';

/** The whole text, with its prompt. */
function whole(page: Page): Promise<string | null> {
  return page.locator('#text').textContent();
}

/** Lets the page copy, and returns what it copied last. */
async function watchCopies(page: Page): Promise<() => Promise<string>> {
  await page.addInitScript(() => {
    const copies: string[] = [];
    Object.assign(window, { copies });
    navigator.clipboard.writeText = (text) => {
      copies.push(text);
      return Promise.resolve();
    };
  });
  return () => page.evaluate(() => (window as unknown as { copies: string[] }).copies.at(-1) ?? '');
}

/** Presses a button below the text, and waits for the text's end. */
async function press(app: AppPage, name: string): Promise<string> {
  await app.afterwards(name).click();
  return app.written();
}

test('Continue gives the text of one longer run, and computes only what is new', async ({
  app,
  page,
}) => {
  await app.open(`#${LIKELIEST}&length=60`);
  const long = await app.write();
  await app.open(`#${LIKELIEST}&length=20`);
  const first = await app.write();
  await expect(app.ending).toContainText('20 tokens');
  expect(await press(app, 'Continue')).toMatch(new RegExp(`^${first}`));
  const third = await press(app, 'Continue');
  expect(third).toBe(long);
  await expect(app.ending).toContainText('60 tokens');
  await expect(page.locator('.given')).toHaveText('Once upon a time');
  await app.openFigures();
  // Of the prompt that the last run went on from, all but a token or two were there.
  const [read = 0, cached = 0] = (
    (await app.figure('Prompt’s tokens').textContent())?.match(/\d+/g) ?? []
  ).map(Number);
  expect(read).toBeGreaterThan(40);
  expect(read - cached).toBeLessThanOrEqual(3);
});

test('a text that came to its end is not gone on with', async ({ app }) => {
  await app.open(`#${LIKELIEST}&length=1&prompt=Once%20upon%20a%20time`);
  await app.write();
  await expect(app.afterwards('Continue')).toBeVisible();
  await app.open(`#${LIKELIEST}&length=4096&seed=1`);
  await app.write();
  await expect(app.ending).toContainText(/came to its end|context is full/);
  await expect(app.afterwards('Continue')).toHaveCount(0);
  await expect(app.afterwards('Again')).toBeVisible();
});

test('Again writes another text from the same prompt, or the same one with a seed that is set', async ({
  app,
  page,
}) => {
  await app.open('#length=40&prompt=A%20dog');
  const first = await app.write();
  await app.prompt.fill('What is typed meanwhile');
  const second = await press(app, 'Again');
  expect(second).not.toBe(first);
  await expect(app.prompt).toHaveValue('A dog');
  await page.getByRole('button', { name: 'Keep this seed' }).click();
  await expect(app.afterwards('Again')).toBeFocused();
  await expect(page.locator('.settings-button')).toContainText('seed');
  expect(await press(app, 'Again')).toBe(second);
});

test('Copy copies the prompt and the text', async ({ app, page }) => {
  const copied = await watchCopies(page);
  await app.open('#length=20&prompt=A%20dog');
  const text = await app.write();
  await app.afterwards('Copy').click();
  await expect(page.locator('.said')).toHaveText('Copied');
  expect(await copied()).toBe(`A dog${text}`);
});

test('a copied link writes the text again in another tab', async ({ app, page }) => {
  const copied = await watchCopies(page);
  await app.open('#length=30&temperature=1.2&prompt=A%20cat%20%26%20a%20%22dog%22');
  await app.write();
  for (const more of [false, true]) {
    if (more) await press(app, 'Continue');
    const text = await whole(page);
    await app.afterwards('Copy link').click();
    await expect(page.locator('.said')).toHaveText('Link copied');
    const link = await copied();
    expect(link).toContain('seed=');
    expect(link).toContain('view=write');
    const tab = await page.context().newPage();
    await tab.goto(link);
    const button = tab.locator('.composer button.primary');
    await expect(button).toBeEnabled();
    await button.click();
    await expect(tab.locator('.how')).toBeVisible();
    // The last words are shown with the next frame.
    await expect.poll(() => whole(tab)).toBe(text);
    await tab.close();
  }
});

test('a link says that it leaves out a model that is a file here', async ({ app, page }) => {
  const copied = await watchCopies(page);
  await app.open('#length=5');
  await app.chooseFile(BUNDLED);
  await app.hasFact('From', /this device/);
  await app.ready();
  await app.write();
  await app.afterwards('Copy link').click();
  await expect(page.locator('.said')).toContainText('Sluice Stories is a file on this device');
  expect(await copied()).not.toContain('model=');
});

test('earlier texts are there to go back to, also after a reload', async ({ app, page }) => {
  await app.open('#length=12&seed=1&prompt=A%20dog');
  const pager = page.getByRole('group', { name: 'Texts of this visit' });
  const texts = [await app.write()];
  await expect(pager).toHaveCount(0);
  for (const prompt of ['A cat', 'A bird']) {
    await app.prompt.fill(prompt);
    texts.push(await app.write());
  }
  await expect(pager).toContainText('3 of 3');
  await app.prompt.fill('A bird that is not written yet');
  await pager.getByRole('button', { name: 'Earlier text' }).click();
  await expect(pager).toContainText('2 of 3');
  await expect(app.prompt).toHaveValue('A cat');
  await expect.poll(() => whole(page)).toBe(`A cat${texts[1]}`);
  await expect(app.ending).toContainText('12 tokens, seed 1');
  await page.keyboard.press('ArrowLeft');
  await expect(pager).toContainText('1 of 3');
  // There is no earlier one: nothing happens, and the focus stays.
  await page.keyboard.press('Enter');
  await expect(pager).toContainText('1 of 3');
  await expect.poll(() => whole(page)).toBe(`A dog${texts[0]}`);

  const longer = await press(app, 'Continue');
  expect(longer.length).toBeGreaterThan(texts[0]?.length ?? 0);
  await expect(pager).toContainText('1 of 3');
  await expect(page).toHaveURL(/prompt=A%20dog/);
  await page.reload();
  await app.ready();
  await expect(pager).toContainText('1 of 3');
  await expect(app.prompt).toHaveValue('A dog');
  await expect.poll(() => whole(page)).toBe(`A dog${longer}`);
  await expect(app.ending).toContainText('24 tokens, seed 1');
  for (const _ of [1, 2]) await pager.getByRole('button', { name: 'Later text' }).click();
  await expect.poll(() => whole(page)).toBe(`A bird${texts[2]}`);
});

test('what was typed beside a text comes back with it', async ({ app, page }) => {
  await app.open('#length=5&prompt=A%20dog');
  await app.write();
  await app.prompt.fill('A cat');
  await app.write();
  await app.prompt.fill('A cat that is not written yet');
  await page.getByRole('button', { name: 'Earlier text' }).click();
  await expect(app.prompt).toHaveValue('A dog');
  await page.getByRole('button', { name: 'Later text' }).click();
  await expect(app.prompt).toHaveValue('A cat that is not written yet');
});

test('a text that is being written when the page is loaded again is kept as far as it came', async ({
  app,
  page,
}) => {
  await app.holdTextAfter(30);
  await app.open(LONG);
  await app.button.click();
  await app.textIsHeld();
  const part = await app.text.textContent();
  expect(part?.length).toBeGreaterThan(10);
  await page.reload();
  await app.ready();
  await expect(app.ending).toContainText(/^Stopped: \d+ tokens, seed 90/);
  expect(await app.text.textContent()).toBe(part);
});

test('texts that something else has changed are left out', async ({ app, page }) => {
  await page.addInitScript(() => {
    sessionStorage.setItem('sluice-texts', '{"version":1,"at":0,"texts":[{"prompt":5}]}');
  });
  await app.open('#length=5');
  await expect(page.locator('.blank')).toBeVisible();
  await app.write();
});

test('a beginning is written on when it is pressed; the model says what it can’t do', async ({
  app,
  page,
}) => {
  await app.open('#length=20');
  const openings = page
    .getByRole('list', { name: 'Or begin with one of these' })
    .getByRole('button');
  await expect(openings).toHaveCount(3);
  await expect(page.locator('.blank')).toContainText('This model continues stories.');
  await expect(page.getByRole('button', { name: 'Open a chat model' })).toBeVisible();
  const second = openings.nth(1);
  const begin = ((await second.textContent()) ?? '').replace(' …', '');
  await second.click();
  expect((await app.written()).length).toBeGreaterThan(0);
  await expect(app.prompt).toHaveValue(begin);
  await expect(page.locator('.given')).toHaveText(begin);
  await expect(page.locator('.blank')).toHaveCount(0);
});

test('the field grows with its text up to eight lines, and scrolls from then on', async ({
  app,
  page,
}) => {
  for (const width of [360, 1280]) {
    await page.setViewportSize({ width, height: 740 });
    await app.open();
    const measure = (): Promise<{ lines: number; scrolls: boolean }> =>
      app.prompt.evaluate((field: HTMLTextAreaElement) => {
        const { lineHeight, paddingTop, paddingBottom } = getComputedStyle(field);
        const inner = field.clientHeight - parseFloat(paddingTop) - parseFloat(paddingBottom);
        return {
          lines: Math.round((10 * inner) / parseFloat(lineHeight)) / 10,
          scrolls: field.scrollHeight > field.clientHeight + 1,
        };
      });
    const lines = (n: number): string =>
      Array.from({ length: n }, (_, i) => `line ${i}`).join('\n');
    for (const [n, shown] of [
      [1, 2],
      [2, 2],
      [5, 5],
      [8, 8],
      [30, 8],
      [3, 3],
    ] as const) {
      await app.prompt.fill(lines(n));
      expect(await measure(), `${n} lines`).toEqual({ lines: shown, scrolls: n > 8 });
    }
  }
});

test('on a phone whose keyboard is open, field and button are in view', async ({ app, page }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await app.open();
  await app.prompt.fill('Once there was a dog. '.repeat(40));
  await app.prompt.focus();
  // The page is made as high as what the keyboard leaves.
  await page.setViewportSize({ width: 360, height: 400 });
  await app.prompt.press('End');
  await expect(app.prompt).toBeInViewport();
  await app.button.scrollIntoViewIfNeeded();
  await expect(app.button).toBeInViewport({ ratio: 1 });
  await expect(app.prompt).toBeInViewport();
});

test('all of it works from the keyboard', async ({ app, page }) => {
  await app.open('#length=15&seed=5');
  await app.prompt.focus();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('A dog');
  await page.keyboard.press('Control+Enter');
  const first = await app.written();
  const tab = async (name: string): Promise<void> => {
    const wanted = page.getByRole('button', { name, exact: true });
    await expect(async () => {
      await page.keyboard.press('Tab');
      await expect(wanted).toBeFocused({ timeout: 100 });
    }).toPass({ timeout: 30_000, intervals: [0] });
  };
  await tab('Continue');
  await page.keyboard.press('Enter');
  const longer = await app.written();
  expect(longer.startsWith(first) && longer.length > first.length).toBe(true);
  // It went away while the text was written: the focus is on what replaced it.
  await expect(app.button).toBeFocused();
  await tab('Again');
  await page.keyboard.press('Enter');
  expect(await app.written()).toBe(first);
  await tab('Earlier text');
  await page.keyboard.press('Enter');
  await expect(page.locator('.pager')).toContainText('1 of 2');
  await expect(page.getByRole('button', { name: 'Earlier text' })).toBeFocused();
});

test.describe('in German', () => {
  test.use({ locale: 'de-DE' });

  test('the view speaks German, and the stories stay English', async ({ app, page }) => {
    await page.goto(`${app.site.url}#length=12&seed=3&view=write`);
    await expect(app.button).toHaveText('Schreiben');
    await expect(app.button).toBeEnabled();
    await expect(page.getByLabel('Anfang', { exact: true })).toHaveValue('Once upon a time');
    await expect(page.locator('.opening').first()).toHaveAttribute('lang', 'en');
    await expect(page.locator('.blank')).toContainText('englische Geschichten');
    await app.button.click();
    await expect(app.ending).toHaveText(/^Bei der eingestellten Länge angehalten: 12 Token/);
    for (const name of ['Weiter', 'Noch einmal', 'Kopieren', 'Link kopieren'])
      await expect(app.afterwards(name)).toBeVisible();
    await app.afterwards('Noch einmal').click();
    await expect(page.locator('.pager')).toContainText('2 von 2');
    expect(await violations(page, false, '.writing')).toEqual([]);
  });
});
