// What the layers hold of a text, and what was seen of it as files: the map, the arcs, traces, images, tables.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import type { Locator, Page } from '@playwright/test';
import { expect, test, type AppPage } from './fixtures';
import { HEIGHTS, overflow, textsCutOff, violations } from './looks';
import { BUNDLED, NO_NATIVE, OTHER, SLUICE, nativeBuilt } from './models';
import { test as talkTest } from './talk';

/** The parts of the view, by their labels and roles. */
class Inside {
  readonly view: Locator;
  readonly along: Locator;
  readonly rows: Locator;
  readonly taken: Locator;
  readonly map: Locator;
  readonly told: Locator;
  readonly words: Locator;
  readonly said: Locator;

  constructor(readonly page: Page) {
    this.view = page.locator('.xray');
    this.along = this.view.getByRole('slider').first();
    this.rows = this.view.locator('.xray-table tbody tr');
    this.taken = this.view.locator('tr[data-taken=true]');
    this.map = this.view.getByRole('grid');
    this.told = this.view.locator('.lens-told');
    this.words = this.view.locator('.arcs-box li');
    this.said = page.locator('#app > [role=status]');
  }

  /** Writes a text, looks at it, and waits until all of it is known. */
  async write(app: AppPage, fragment = '#length=40&seed=5'): Promise<string> {
    await app.open(fragment);
    const text = await app.write();
    await this.open();
    return text;
  }

  async open(): Promise<void> {
    await this.page.locator('#xray-button').click();
    await this.known();
  }

  async known(): Promise<void> {
    await expect(this.taken).toHaveCount(1);
    await expect(this.view.getByRole('progressbar')).toHaveCount(0);
  }

  /** Looks at a token, and waits for its candidates. */
  async look(token: number): Promise<void> {
    await this.along.fill(String(token));
    const caption = this.view.locator('.xray-table caption');
    await expect(caption).toHaveText(new RegExp(` ${token}$`));
  }

  button(name: string): Locator {
    return this.view.getByRole('button', { name, exact: true });
  }

  /** What the bars of each candidate say. */
  async bars(): Promise<string[]> {
    return (await this.rows.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
  }

  /** Presses a button, and gives the file that it saves. */
  async saved(name: string): Promise<{ name: string; bytes: Buffer }> {
    const coming = this.page.waitForEvent('download');
    await this.button(name).click();
    const download = await coming;
    return { name: download.suggestedFilename(), bytes: fs.readFileSync(await download.path()) };
  }

  async drop(name: string, content: string): Promise<void> {
    const data = await this.page.evaluateHandle(
      ([name, content]) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([content], name));
        return transfer;
      },
      [name, content] as const,
    );
    await this.page.dispatchEvent('body', 'drop', { dataTransfer: data });
  }

  async unfold(): Promise<void> {
    await this.view.locator('.layers-of > summary').click();
  }
}

/** How large each of the traces is that are kept on this device. */
function keptTraces(page: Page): Promise<{ bytes: number }[]> {
  return page.evaluate(async () => {
    const NAME = 'sluice-conversations';
    // The page makes it: opening it here would make an empty one.
    if ((await indexedDB.databases()).every(({ name }) => name !== NAME)) return [];
    return new Promise<{ bytes: number }[]>((resolve, reject) => {
      const opening = indexedDB.open(NAME);
      opening.onerror = () => reject(new Error('not opened'));
      opening.onsuccess = () => {
        const db = opening.result;
        const all = db.transaction('traceFacts').objectStore('traceFacts').getAll();
        all.onsuccess = () => {
          db.close();
          resolve(all.result as { bytes: number }[]);
        };
      };
    });
  });
}

test('shows what each layer would have said, as a map that the keys lead through', async ({
  app,
  page,
}) => {
  const inside = new Inside(page);
  await inside.write(app);
  await inside.look(30);
  await inside.unfold();
  await inside.button('Compute the map').press('Enter');
  await expect(inside.map.locator('thead th')).toHaveCount(25);
  await expect(inside.map.locator('tbody tr:first-child td[data-here=true]')).toBeFocused();
  await expect(inside.map.locator('tbody tr')).toHaveCount(5);
  await expect(inside.map).toHaveAccessibleName('Tokens 17 to 40');
  // The last layer's likeliest token is the first of the bars.
  const first = (await inside.rows.first().locator('th bdi').textContent()) ?? '';
  const here = inside.map.locator('tbody tr:first-child td[data-here=true]');
  await expect(here).toHaveText(first.replace('␣', ''));
  await here.focus();
  await expect(inside.told).toContainText('Layer 5, before');
  await expect(inside.told.locator('li')).toHaveCount(3);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowLeft');
  await expect(inside.told).toContainText('Layer 4, before');
  const cell = inside.map.locator('td[tabindex="0"]');
  await expect(cell).toBeFocused();
  await expect(cell).toHaveAttribute('data-here', 'false');
  await expect(cell).toHaveAccessibleName(/^“.+”, [\d.<]+.%$/);
  // The view's own keys are not meant.
  await expect(inside.along).toHaveValue('30');
  await cell.click();
  await expect(inside.along).toHaveValue('29');
  // Far from these tokens another map can be computed.
  await inside.along.fill('2');
  await inside.button('Compute it around this token').click();
  await expect(inside.map).toHaveAccessibleName('Tokens 1 to 24');
});

test('shows what the model looked at, by layer and head', async ({ app, page }) => {
  const inside = new Inside(page);
  await inside.write(app);
  await inside.look(12);
  await inside.unfold();
  await inside.button('Compute the attention').press('Enter');
  await expect(inside.words.last()).toBeFocused();
  // The mark of the beginning, four words of the prompt, and eleven tokens.
  await expect(inside.words).toHaveCount(16);
  expect(await inside.view.locator('.arcs-box path').count()).toBeGreaterThan(1);
  const table = inside.view.getByRole('table', { name: /^The tokens that were looked at most/ });
  await expect(table).toHaveAccessibleName(/Layer 5, Mean of all heads/);
  const shares = async (): Promise<number[]> =>
    (await table.locator('td').allTextContents()).map((text) => parseFloat(text));
  const mean = await shares();
  expect(mean[0]).toBeGreaterThan(0);
  expect(mean.reduce((sum, one) => sum + one, 0)).toBeLessThan(101);
  await inside.view.getByRole('combobox', { name: 'Head' }).selectOption('Head 2');
  await expect(table).toHaveAccessibleName(/Layer 5, Head 2/);
  expect(await shares()).not.toEqual(mean);
  await inside.words.last().focus();
  await page.keyboard.press('ArrowDown');
  await expect(table).toHaveAccessibleName(/Layer 4, Head 2/);
  await page.keyboard.press('ArrowLeft');
  await expect(page.locator(':focus')).toHaveAccessibleName(/^15: “.+”, [\d.<]+.%$/);
});

test('a trace that is saved is opened where it is dropped, with the same bars', async ({
  app,
  page,
}) => {
  const inside = new Inside(page);
  const text = await inside.write(app);
  await inside.look(9);
  await expect(inside.view).toContainText('Random number');
  const bars = await inside.bars();
  const { name, bytes } = await inside.saved('Save the trace');
  expect(name).toBe('Sluice Stories.jsonl');
  await expect(inside.said).toHaveText('The trace was saved');
  await page.goto('about:blank');
  await page.goto(app.site.url);
  await expect(app.modelName).toHaveText('Sluice Stories');
  await inside.drop(name, bytes.toString());
  await expect(page.getByRole('heading', { name })).toBeVisible();
  await inside.known();
  await expect(inside.view.locator('.xray-strip')).toHaveText(text);
  await inside.look(9);
  await expect(inside.view).toContainText('Random number');
  // Nothing is written on from a file.
  expect(await inside.bars()).toEqual(bars);
  await expect(inside.rows.getByRole('button', { disabled: false })).toHaveCount(0);
  await page.keyboard.press('Escape');
  await expect(inside.view).toHaveCount(0);
  await expect(page.locator('#draft')).toBeVisible();
});

test('the program’s trace is opened in the page, and the page’s is replayed by the program', async ({
  app,
  page,
}, info) => {
  test.skip(!nativeBuilt, NO_NATIVE);
  const file = info.outputPath('story.jsonl');
  const options = ['-n', '30', '--seed', '5', '--top-k', '30', '--typical', '0.9', '-q'];
  const prompt = ['run', BUNDLED, '-p', 'Once upon a time', ...options, '--trace', file];
  execFileSync(SLUICE, prompt);
  const replay = (of: string): string => execFileSync(SLUICE, ['replay', of]).toString();
  const inside = new Inside(page);
  await inside.write(app);
  await inside.view.getByLabel('Open a trace').setInputFiles(file);
  await expect(page.getByRole('heading', { name: 'story.jsonl' })).toBeVisible();
  await inside.known();
  await expect(inside.along).toHaveAttribute('max', '30');
  await expect(inside.view.locator('.xray-filters')).toContainText('typical-p');
  await expect(inside.view.locator('.xray-filters')).toContainText('top-k 30');
  const again = info.outputPath('again.jsonl');
  fs.writeFileSync(again, (await inside.saved('Save the trace')).bytes);
  expect(replay(again)).toBe(replay(file));
});

test('a trace of another model is seen without its filters', async ({ app, page, models }) => {
  test.skip(!nativeBuilt, NO_NATIVE);
  const inside = new Inside(page);
  await inside.write(app);
  const { bytes } = await inside.saved('Save the trace');
  await app.loadAddress(models.good(OTHER));
  await app.closeSheet();
  await app.ready(/qwen/i);
  await inside.drop('story.jsonl', bytes.toString());
  await expect(page.locator('.trace-file')).toContainText('Its model is not loaded');
  await expect(inside.taken).toHaveCount(1);
  await expect(inside.view.locator('.xray-filters')).toHaveCount(0);
  await expect(inside.view.locator('.layers-of')).toHaveCount(0);
  // What the filters left is not known: there is only what the model had.
  await expect(inside.view.locator('.xray-facts div').nth(3)).toHaveText('Nucleus–');
  await expect(inside.rows.first().locator('td.number')).toHaveText([/^[\d.]+.%$/, '–']);
  await expect(inside.rows.first().locator('.after')).toHaveAttribute('style', /^width: 0/);
  await app.goBack();
  await app.closeSheet();
  await expect(app.modelName).toHaveText('Sluice Stories');
  await expect(inside.view.locator('.xray-filters')).toBeVisible();
});

test('a file that is no trace is refused with its line, and stays what it was elsewhere', async ({
  app,
  page,
}) => {
  const inside = new Inside(page);
  await inside.write(app);
  const { bytes } = await inside.saved('Save the trace');
  const lines = bytes.toString().split('\n');
  lines[3] = (lines[3] ?? '').replace(/"logprob":[^,]+/, '"logprob":"x"');
  await inside.drop('bad.jsonl', lines.join('\n'));
  const alert = page.locator('.trace-file').getByRole('alert');
  await expect(alert).toContainText('In line 4, logprob is missing or can’t be right.');
  // The half line of a run that was killed
  await page.locator('.trace-file input[type=file]').setInputFiles({
    name: 'killed.jsonl',
    mimeType: 'text/plain',
    buffer: bytes.subarray(0, bytes.length - 5000),
  });
  await expect(page.locator('.trace-file')).toContainText('its last line is not whole');
  await inside.known();
  // A run that ended before its first token
  await inside.drop('none.jsonl', `${lines[0]}\n`);
  await expect(inside.view).toContainText('There is no token in this trace.');
  await expect(inside.button('Open a trace')).toBeVisible();
  // The view that it stands in the place of comes back, and any other.
  await page.getByRole('button', { name: 'Write', exact: true }).first().click();
  await expect(page.locator('.trace-file')).toHaveCount(0);
  await expect(app.prompt).toBeVisible();
  await page.getByRole('button', { name: 'Talk', exact: true }).click();
  await inside.drop('data.jsonl', '{"event":"other"}\n');
  await expect(page.locator('.trace-file')).toHaveCount(0);
  await expect(page.locator('main')).toContainText('data.jsonl');
});

test('what was seen is kept with the text, and not computed again after a reload', async ({
  app,
  page,
}) => {
  const inside = new Inside(page);
  await inside.write(app);
  await expect.poll(async () => (await keptTraces(page)).length).toBe(1);
  expect((await keptTraces(page))[0]?.bytes).toBeGreaterThan(40 * 2000);
  await page.reload();
  await app.ready();
  // A computation would show how far it is.
  await page.evaluate(() => {
    const seen = new MutationObserver(() => {
      if (document.querySelector('.xray-computing progress') !== null)
        document.documentElement.dataset['computed'] = 'true';
    });
    seen.observe(document.body, { subtree: true, childList: true });
  });
  await inside.open();
  await expect(page.locator('html')).not.toHaveAttribute('data-computed');
});

talkTest(
  'what was seen of an answer is kept with it, and goes with its conversation',
  async ({ talk, page }) => {
    await talk.open();
    await talk.begin('hello 0');
    await page.getByRole('button', { name: 'X-ray of this answer' }).click();
    const inside = new Inside(page);
    await inside.known();
    await expect.poll(async () => (await keptTraces(page)).length).toBe(1);
    await inside.button('Close the X-ray').click();
    await talk.chooseFor('hello 0', 'Delete');
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
    await expect(talk.status).toHaveText('hello 0 was deleted');
    await expect.poll(() => keptTraces(page)).toEqual([]);
  },
);

test('says which layers don’t attend', async ({ app, page, models }) => {
  test.skip(!nativeBuilt, NO_NATIVE);
  const inside = new Inside(page);
  await app.open('#length=12&seed=5');
  await app.loadAddress(models.good('qwen35-q8_0.gguf'));
  await app.closeSheet();
  await app.ready(/qwen35/i);
  await app.write();
  await inside.open();
  await inside.unfold();
  await inside.button('Compute the attention').click();
  await expect(inside.words.first()).toBeVisible();
  await expect(inside.view.locator('.arcs .note')).toContainText(/^Layers [\d–, ]+ do not attend/);
  await inside.button('Compute the map').click();
  await expect(inside.map).toBeVisible();
});

test('a token is saved as an image, and copied as a table', async ({
  app,
  page,
  context,
}, info) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const inside = new Inside(page);
  await inside.write(app);
  await inside.look(9);
  const { name, bytes } = await inside.saved('Save as an image');
  expect(name).toBe('Sluice Stories token 9.png');
  expect(bytes.subarray(1, 4).toString()).toBe('PNG');
  expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20) > 600]).toEqual([1440, true]);
  fs.writeFileSync(info.outputPath('token.png'), bytes);
  await inside.button('Copy as a table').click();
  await expect(inside.said).toHaveText('Copied');
  const [text = '', html = ''] = await page.evaluate(async () => {
    const [item] = await navigator.clipboard.read();
    const parts = ['text/plain', 'text/html'].map(async (type) =>
      (await item?.getType(type))?.text(),
    );
    return Promise.all(parts);
  });
  const rows = text.split('\n').map((line) => line.split('\t'));
  expect(rows[0]?.slice(0, 3)).toEqual(['Token', 'Number', 'Probability']);
  expect(rows.length).toBeGreaterThan(12);
  expect(rows.filter((row) => row.length === 7)).toHaveLength(rows.length);
  expect(rows.filter((row) => row[6] === 'taken')).toHaveLength(1);
  expect(html).toContain('<td>');
});

for (const [width, height] of Object.entries(HEIGHTS)) {
  for (const colorScheme of ['light', 'dark'] as const) {
    const locale = colorScheme === 'light' ? 'en-GB' : 'de-DE';
    test.describe(`${width} px, ${colorScheme}, ${locale}`, () => {
      test.use({ viewport: { width: Number(width), height }, colorScheme, locale });

      test('the x-ray, the layers and a trace can be read, and nothing is wider than the window', async ({
        app,
        page,
      }) => {
        const inside = new Inside(page);
        await page.goto(`${app.site.url}#view=write&length=40&seed=5`);
        await app.button.click();
        await expect(app.ending).toBeVisible();
        await inside.open();
        await inside.look(20);
        const look = `inside-maps-${width}-${colorScheme}-${locale.slice(0, 2)}`;
        const check = async (more: string): Promise<void> => {
          expect(await overflow(page)).toBeLessThanOrEqual(0);
          expect(await inside.view.evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
          expect(await textsCutOff(page)).toEqual([]);
          expect(await violations(page, true)).toEqual([]);
          await page.screenshot({ path: `screenshots/${look}${more}.png` });
        };
        await check('');
        await inside.unfold();
        await inside.view.locator('.lens .demand button').click();
        await expect(inside.map).toBeVisible();
        await inside.view.locator('.arcs .demand button').click();
        await expect(inside.words).toHaveCount(24);
        await inside.map.scrollIntoViewIfNeeded();
        await check('-map');
        // What is scrolled below the view's heading is not over it.
        const head = inside.view.locator('.xray-head');
        await inside.map.locator('thead').evaluate((row) => {
          const view = row.closest('.xray');
          const top = view?.getBoundingClientRect().top ?? 0;
          view?.scrollBy(0, row.getBoundingClientRect().top - top);
        });
        expect(
          await head.evaluate((box) => {
            const { x, y, width, height } = box.getBoundingClientRect();
            const seen = [0.1, 0.5, 0.9].map((at) =>
              document.elementFromPoint(x + at * width, y + height / 2),
            );
            return seen.filter((one) => one?.closest('.xray') && !box.contains(one)).length;
          }),
        ).toBe(0);
        await inside.view.evaluate((box) => box.scrollTo(0, box.scrollHeight));
        await check('-arcs');
        const coming = page.waitForEvent('download');
        await inside.view.locator('.share-trace button').first().click();
        const file = await (await coming).path();
        await inside.view.locator('input[type=file]').setInputFiles(file);
        await expect(page.locator('.trace-file .xray')).toBeVisible();
        await inside.known();
        await check('-file');
      });
    });
  }
}
