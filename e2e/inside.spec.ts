// The x-ray: what each token was chosen from, live and afterwards, step by step, with other settings, and other texts that
// branch off; beside a text and beside an answer.
import type { Locator, Page } from '@playwright/test';
import { trace } from './bench/page_texts.mjs';
import { expect, test, type AppPage } from './fixtures';
import { harness, type LibraryWindow } from './library';
import { NO_NATIVE, OTHER, nativeBuilt } from './models';
import { ANSWERS, test as talkTest } from './talk';

declare const window: LibraryWindow;

/** The parts of the x-ray, by their labels and roles. */
class Xray {
  readonly view: Locator;
  readonly along: Locator;
  readonly table: Locator;
  readonly rows: Locator;
  readonly taken: Locator;
  readonly progress: Locator;

  constructor(readonly page: Page) {
    this.view = page.getByRole('region', { name: 'X-ray' });
    this.along = this.view.getByRole('slider', { name: 'Along the text' });
    this.table = this.view.getByRole('table', { name: 'Candidates' });
    this.rows = this.table.locator('tbody tr');
    this.taken = this.table.locator('tr[data-taken=true]');
    this.progress = this.view.getByRole('progressbar');
  }

  async open(): Promise<void> {
    await this.page.getByRole('button', { name: 'X-ray', exact: true }).click();
    await expect(this.view.getByRole('heading', { name: 'X-ray' })).toBeFocused();
  }

  /** Waits until all tokens are known. (The first one is shown once they are being computed.) */
  async computed(): Promise<void> {
    await expect(this.taken).toHaveCount(1);
    await expect(this.progress).toHaveCount(0);
  }

  /** Looks at a token, and waits for its candidates. */
  async look(token: number): Promise<void> {
    await this.along.fill(String(token));
    await this.shows(token);
  }

  async shows(token: number): Promise<void> {
    const table = this.view.getByRole('table', {
      name: `Candidates of token ${token}`,
      exact: true,
    });
    await expect(table).toBeVisible();
    await expect(this.taken).toHaveCount(1);
  }

  at(): Promise<number> {
    return this.along.evaluate((slider: HTMLInputElement) => Number(slider.value));
  }

  slider(name: string): Locator {
    return this.view.getByRole('slider', { name, exact: true });
  }

  async set(name: string, value: number): Promise<void> {
    await this.slider(name).fill(String(value));
  }

  /** What the table says of each candidate. */
  async said(): Promise<string[]> {
    return (await this.rows.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
  }
}

const SEED = 'length=40&seed=5';

/** A text that was written without anybody looking. */
async function written(app: AppPage, fragment = SEED): Promise<string> {
  // Another fragment alone would not load the page again.
  await app.page.goto('about:blank');
  await app.open(`#${fragment}`);
  return app.write();
}

test('shows each token while it is written, and the same afterwards', async ({ app, page }) => {
  await app.holdTextAfter(8);
  await app.open(`#${SEED}`);
  const xray = new Xray(page);
  await xray.open();
  await expect(xray.view).toContainText('Write a text');
  await app.button.click();
  await app.textIsHeld();
  await expect(xray.along).toHaveValue('8');
  await expect(xray.along).toHaveAttribute('aria-valuetext', /^Token 8 of 8: “.+”, surprise \d/);
  await expect(xray.view.getByRole('button', { name: 'Compute it now' })).toHaveCount(0);
  await app.releaseText();
  const text = await app.written();
  await expect(xray.along).toHaveValue('40');
  await xray.look(8);
  await expect(xray.view).toContainText('Random number');
  const live = await xray.said();
  expect(live.length).toBeGreaterThan(11);

  // Another page, in which nobody looked.
  await page.goto('about:blank');
  await app.open(`#${SEED}`);
  await app.releaseText();
  expect(await app.write()).toBe(text);
  await xray.open();
  await xray.computed();
  await xray.look(8);
  await expect(xray.view).toContainText('Random number');
  expect(await xray.said()).toEqual(live);
  // Nothing was computed in the text's own session: it goes on as before.
  await expect(app.ending).toContainText('40 tokens');
});

test('goes through a text by keys, by itself, and by its words', async ({ app, page }) => {
  await written(app);
  const xray = new Xray(page);
  await app.ending.click();
  await page.keyboard.press('x');
  await expect(xray.view.getByRole('heading', { name: 'X-ray' })).toBeFocused();
  await xray.computed();
  expect(await xray.at()).toBe(1);
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await expect(xray.along).toHaveValue('3');
  // What the slider says is read out.
  const told = (await xray.along.getAttribute('aria-valuetext')) ?? '';
  expect(told).toMatch(/^Token 3 of 40: “.+”, surprise/);
  await expect(page.locator('#app > [role=status]')).toHaveText(told);
  await page.keyboard.press('ArrowLeft');
  await expect(xray.along).toHaveValue('2');
  await page.keyboard.press('End');
  await expect(xray.along).toHaveValue('40');
  await page.keyboard.press('Home');
  await expect(xray.along).toHaveValue('1');
  // At four a second it plays for ten seconds; then as quick as it goes, to the last token.
  await page.keyboard.press('Space');
  await expect(xray.view.getByRole('button', { name: 'Pause' })).toBeVisible();
  for (let i = 0; i < 6; ++i) await page.keyboard.press('+');
  await expect(xray.view.getByRole('combobox', { name: 'Speed' })).toHaveValue('64');
  await expect(xray.along).toHaveValue('40');
  await expect(xray.view.getByRole('button', { name: 'Play', exact: true })).toBeVisible();
  // The text itself is shaded, and its words can be pressed.
  const marks = await page.evaluate(() =>
    ['xray-here', 'xray-1', 'xray-2', 'xray-3', 'xray-4'].map(
      (name) => CSS.highlights.get(name)?.size ?? 0,
    ),
  );
  expect(marks[0]).toBe(1);
  expect(marks.slice(1).reduce((sum, one) => sum + one, 0)).toBeGreaterThan(5);
  // The words that came last are in nodes of their own at first.
  await expect(app.text.locator('.wet')).toHaveCount(0);
  const word = await app.text.evaluate((text) => {
    const range = document.createRange();
    range.setStart(text.firstChild as Node, 20);
    range.setEnd(text.firstChild as Node, 21);
    const { x, y, width, height } = range.getBoundingClientRect();
    return { x: x + width / 2, y: y + height / 2 };
  });
  await page.mouse.click(word.x, word.y);
  await expect(xray.along).not.toHaveValue('40');
  expect(await xray.at()).toBeLessThan(12);
  await xray.view.locator('.xray-strip span').nth(4).click();
  await expect(xray.along).toHaveValue('5');
  await expect(xray.along).toHaveAttribute('aria-valuetext', /^Token 5 of 40: “.+”, surprise/);
  await page.keyboard.press('Escape');
  await expect(xray.view).toHaveCount(0);
  await expect.poll(() => page.evaluate(() => CSS.highlights.size)).toBe(0);
  await expect(page.getByRole('button', { name: 'X-ray', exact: true })).toBeFocused();
});

test('asks what if: the bars are those of a run with these settings, and what is not kept is computed anew', async ({
  app,
  page,
}) => {
  await written(app, `${SEED}&temperature=1.3&topK=200&topP=0.98&minP=0.02`);
  const xray = new Xray(page);
  await xray.open();
  await xray.computed();
  // Of the first token all runs with this prompt have the same logits.
  const wild = await xray.said();
  await xray.set('Temperature', 0.7);
  await xray.set('Top-k', 30);
  await xray.set('Top-p', 0.9);
  await xray.set('Min-p', 0.1);
  await expect(xray.view.locator('.xray-filters')).toContainText('min-p 0.1');
  await expect(xray.view.locator('.xray-filters')).toContainText('temperature 0.7');
  const moved = (await xray.said()).map((row) => row.replace(/ would be taken/, ''));
  expect(moved).not.toEqual(wild);
  await xray.set('Top-k', 0);
  await expect(xray.view).toContainText('this token was computed anew');
  await xray.view.getByRole('button', { name: 'As it was written' }).click();
  await expect(xray.slider('Temperature')).toBeFocused();
  await expect.poll(() => xray.said()).toEqual(wild);

  await written(app, `${SEED}&temperature=0.7&topK=30&topP=0.9&minP=0.1`);
  await xray.open();
  await xray.computed();
  const bars = (rows: string[]): string[] => rows.map((row) => row.replace(/ taken/, ''));
  expect(bars(await xray.said()).slice(0, 12)).toEqual(bars(moved).slice(0, 12));
});

test('writes on with another token: the text is that of a run begun there with its seed', async ({
  app,
  page,
  site,
}) => {
  const parent = await written(app);
  const xray = new Xray(page);
  await xray.open();
  await xray.computed();
  await xray.look(6);
  await xray.rows.getByRole('button').nth(1).press('Enter');
  await expect(page.locator('.pager .number')).toHaveText('2 of 2');
  await app.written();
  await expect(xray.view.getByRole('heading', { name: 'X-ray' })).toBeFocused();
  const branch = (await app.text.textContent()) ?? '';
  expect(branch).not.toBe(parent);
  await expect(xray.along).toHaveValue('46');
  await xray.look(6);
  await expect(xray.view).toContainText('You chose this token');
  // It computes only what is new.
  await app.openFigures();
  const [read = 0, cached = 0] = (
    (await app.figure('Prompt’s tokens').textContent())?.match(/\d+/g) ?? []
  ).map(Number);
  expect(read - cached).toBeLessThanOrEqual(2);
  await app.closeDialog();
  // The way to the other text, and back.
  await xray.view.getByRole('button', { name: /^The text that this one comes from/ }).click();
  await expect(app.text).toHaveText(parent);
  await expect(xray.along).toHaveValue('6');
  await xray.view.getByRole('button', { name: /^Another text, from/ }).click();
  await expect(app.text).toHaveText(branch);
  const kept = await page.evaluate(() => sessionStorage.getItem('sluice-texts') ?? '');
  const { texts } = JSON.parse(kept) as { texts: { runs: { from: string; ids: number[] }[] }[] };
  const runs = texts[1]?.runs ?? [];
  expect(runs.map(({ from }) => from)).toEqual(['text', 'reader', 'ids']);
  // After a reload the branch is still there, with its tokens.
  await page.reload();
  await app.ready();
  await expect(app.text).toHaveText(branch);
  await xray.open();
  await xray.computed();
  await expect(xray.view.getByRole('button', { name: /^The text that this one/ })).toBeVisible();

  await harness(page, site);
  const begun = await page.evaluate(
    async ({ runs, url }) => {
      const engine = await window.library.Engine.load(url);
      await engine.ready;
      const prompt = await engine.tokenize('Once upon a time');
      const { bos } = engine.info.tokenizer;
      const ids = [...(bos === null ? [] : [bos]), ...prompt];
      for (const run of runs.slice(0, 2)) ids.push(...run.ids);
      const { tokens } = await engine.complete(ids, { seed: 5, maxTokens: 40 });
      await engine.close();
      return tokens;
    },
    { runs, url: `${site.url}models/stories-q8_0.gguf` },
  );
  expect(runs[2]?.ids).toEqual(begun);
});

test('says that another model wrote the text', async ({ app, page, models }) => {
  test.skip(!nativeBuilt, NO_NATIVE);
  await written(app);
  await app.loadAddress(models.good(OTHER));
  await app.closeSheet();
  await expect(app.modelName).not.toHaveText('Sluice Stories');
  await app.ready(/./);
  const xray = new Xray(page);
  await xray.open();
  await expect(xray.view).toContainText('It is not the model that is loaded');
  await expect(xray.table).toHaveCount(0);
});

test('of a text of 5,000 tokens only what is seen is drawn', async ({ app, page }) => {
  await app.open('#length=5&seed=5');
  await app.write();
  const xray = new Xray(page);
  await xray.open();
  await xray.computed();
  const buffer = Buffer.from(trace(5000));
  await xray.view
    .locator('input[type=file]')
    .setInputFiles({ name: 'long.jsonl', mimeType: 'application/jsonl', buffer });
  const along = page.getByRole('slider', { name: 'Along the text' });
  await expect(along).toHaveAttribute('max', '5000');
  const drawn = (): Promise<number[]> =>
    page
      .locator('.xray')
      .last()
      .evaluate((view) => [
        view.querySelectorAll('*').length,
        view.querySelectorAll('.xray-strip span').length,
        view.querySelector('.surprise[d]')?.getAttribute('d')?.length ?? 0,
      ]);
  for (const at of [1, 2500, 5000]) {
    await along.fill(String(at));
    await expect(
      page.getByRole('table', { name: `Candidates of token ${at.toLocaleString('en')}` }),
    ).toBeVisible();
    const [elements = 0, words = 0, line = 0] = await drawn();
    expect(elements).toBeLessThan(600);
    expect(words).toBeGreaterThan(50);
    expect(words).toBeLessThan(125);
    expect(line).toBeGreaterThan(1000);
    expect(line).toBeLessThan(10_000);
    // The token is within the strip.
    const strip = page.locator('.xray-strip').last();
    const [box, here] = await Promise.all([
      strip.boundingBox(),
      strip.locator('[data-here=true]').boundingBox(),
    ]);
    if (box === null || here === null) throw new Error('not drawn');
    expect(here.y).toBeGreaterThanOrEqual(box.y);
    expect(here.y + here.height).toBeLessThanOrEqual(box.y + box.height);
  }
});

talkTest(
  'shows an answer, and writes another one that begins as it does',
  async ({ talk, page }) => {
    await talk.open();
    await talk.begin('hello 0');
    await expect(talk.answers).toContainText(ANSWERS.hello);
    await page.getByRole('button', { name: 'X-ray of this answer' }).click();
    const xray = new Xray(page);
    await xray.computed();
    await xray.look(3);
    await xray.rows.getByRole('button').first().press('Enter');
    await expect(page.locator('.branches .number')).toHaveText('2/2');
    await expect(talk.answers).toContainText('Hello there');
    await expect(xray.view.getByRole('heading', { name: 'X-ray' })).toBeFocused();
    await expect(xray.view.getByRole('button', { name: /^The text that this one/ })).toBeVisible();
    // The next answer is looked at while it is written.
    await talk.begin('hello 4');
    await expect(talk.answers.last()).toContainText(ANSWERS.short);
    await expect(xray.view.locator('.xray-strip')).toHaveText(/short/);
    await expect(xray.progress).toHaveCount(0);
    await xray.view.getByRole('button', { name: 'Close the X-ray' }).click();
    await expect(xray.view).toHaveCount(0);
  },
);
