// Find: files are read by an embedding model, asked, kept, and opened again without a network.
import fs from 'node:fs';
import { Find, NO_TINY, TINY, expect, fileOf, hasTiny, isKept, paragraph, test } from './find';
import { HEIGHTS, overflow, violations } from './looks';

test.skip(!hasTiny, NO_TINY);

/** Four files of 250 paragraphs, each of them a passage. */
const BOOKS = [0, 1, 2, 3].map((book) => ({
  name: `book ${book}.md`,
  text: Array.from({ length: 250 }, (_, i) => paragraph(1000 * book + i)).join('\n\n'),
}));
const LETTER = fileOf('letter.txt', 'The ferry leaves at seven.\n\nBread needs salt.');

test.describe('with what is kept of the page', () => {
  test.use({ serviceWorkers: 'allow' });

  test('1,000 passages are read, asked, closed, and opened without a network; a file is removed', async ({
    find,
    page,
    context,
    hub,
    allowed,
  }) => {
    // The icon of the tab is asked for past the service worker.
    allowed.push(/net::ERR_.*icon\.svg/);
    const model = hub.add('tiny-bert.gguf', TINY);
    await find.open();
    await find.loadAddress(model.url);
    await find.closeSheet();
    await find.ready(/bert/i);
    await find.add(...BOOKS.map(({ name, text }) => fileOf(name, text)));
    await expect(find.progress.getByRole('progressbar')).toBeVisible();
    await find.isRead(4);
    await expect(find.file('book 0.md')).toContainText('250 passages');
    await find.ask(paragraph(2137));
    await expect(find.hits).toHaveCount(10);
    await expect(find.hits.first()).toContainText('Number 2137:');
    await expect(find.heads.first()).toContainText('book 2.md');
    await expect(find.heads.first()).toContainText('line 275');
    await expect(find.said).toHaveText(/10 passages for .* the best first/);
    await isKept(page);
    await page.close();

    await context.setOffline(true);
    const again = new Find(await context.newPage(), find.site);
    await again.page.goto(find.site.url);
    await again.ready(/bert/i);
    await again.isRead(4);
    await again.ask(paragraph(3003));
    await expect(again.hits.first()).toContainText('Number 3003:');

    await again.file('book 3.md').getByRole('button', { name: 'Remove' }).click();
    await again.files.getByRole('button', { name: 'Remove', exact: true }).click();
    await expect(again.files).toHaveCount(3);
    await again.ask(paragraph(3003));
    await expect(again.hits.first()).not.toContainText('Number 3003:');
    await again.page.reload();
    await again.ready(/bert/i);
    await again.isRead(3);
  });
});

test('files of every kind are read, or refused with a reason', async ({ find }, info) => {
  const large = info.outputPath('large.txt');
  fs.writeFileSync(large, '');
  fs.truncateSync(large, 100_000_000);
  await find.begin();
  await find.add(
    fileOf('nul.txt', 'text\0text'),
    fileOf(
      'bytes.bin',
      Uint8Array.from({ length: 999 }, (_, i) => (i * 89) % 256),
    ),
    fileOf('empty.txt', ''),
    fileOf('report.pdf', '%PDF-1.7'),
    fileOf('lines.txt', 'a\n'.repeat(20_000)),
    fileOf('line.txt', 'bread '.repeat(3000).trim()),
    fileOf(
      'wide.txt',
      Buffer.concat([Buffer.of(0xff, 0xfe), Buffer.from('Brot für den Garten', 'utf16le')]),
    ),
    fileOf('safe\u202egnp.txt', 'A name that turns around.'),
  );
  await find.isRead(4);
  await expect(find.refusals).toContainText('4 files were not added');
  await expect(find.refusals).toContainText('nul.txt: not a text file.');
  await expect(find.refusals).toContainText('bytes.bin: not a text file.');
  await expect(find.refusals).toContainText('empty.txt: there is no text in it.');
  await expect(find.refusals).toContainText('report.pdf: a PDF.');
  await expect(find.file('safegnp.txt')).toHaveCount(1);
  await find.ask('Brot für den Garten');
  await expect(find.hits.first()).toContainText('Brot für den Garten');
  await find.add(large);
  await expect(find.refusals).toContainText('large.txt: longer than 10 MB.');
  // Below the passages that are shown.
  await expect(find.refusals).toBeInViewport();
  await expect(find.files).toHaveCount(4);
});

test('what is added while passages are shown is read in sight', async ({ find }) => {
  const [book = { name: '', text: '' }] = BOOKS;
  await find.holdReadingAt('8 of 258 passages');
  await find.begin();
  const notes = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'];
  await find.add(...notes.map((name) => fileOf(`${name}.txt`, `Note ${name} is about bread.`)));
  await find.isRead(8);
  await find.ask('bread');
  await expect(find.hits.nth(4)).toBeVisible();
  await find.add(fileOf(book.name, book.text));
  await expect(find.progress).toBeInViewport();
});

test('a folder is read with all that is in it', async ({ find, page }, info) => {
  const folder = info.outputPath('notes');
  fs.mkdirSync(`${folder}/more/.hidden`, { recursive: true });
  fs.writeFileSync(`${folder}/a.md`, 'The first note.');
  fs.writeFileSync(`${folder}/more/b.txt`, 'The second note.');
  fs.writeFileSync(`${folder}/more/.hidden/c.txt`, 'Nobody means this one.');
  await find.begin();
  await page.getByLabel('Add a folder', { exact: true }).first().setInputFiles(folder);
  await find.isRead(2);
  await expect(find.files).toContainText(['notes/a.md', 'notes/more/b.txt']);
});

test('the reading is stopped and goes on, also in another tab', async ({ find, page, context }) => {
  const [book = { name: '', text: '' }] = BOOKS;
  // Within the second file.
  await find.holdReadingAt('282 of 500 passages');
  await find.begin();
  await find.add(...BOOKS.slice(0, 2).map(({ name, text }) => fileOf(name, text)));
  await expect(find.file(book.name)).toContainText('250 passages ·');
  await expect(find.progress).toContainText('282 of 500 passages');
  await find.progress.getByRole('button', { name: 'Stop' }).click();
  const left = page.locator('.to-read');
  await expect(left).toContainText('not read to');
  await expect(find.said).toHaveText('Stopped. What was read can be searched.');
  await expect(left.getByRole('button')).toBeFocused();
  await find.letGo();
  await find.ask(paragraph(7));
  await expect(find.hits.first()).toContainText('Number 7:');
  await expect(page.locator('.hits')).toContainText('more may be found later');

  const other = new Find(await context.newPage(), find.site);
  await other.begin();
  await expect(other.file(book.name)).toContainText('250 passages ·');
  await other.page.getByRole('button', { name: 'Go on reading' }).click();
  await other.isRead(2);
  // The first tab sees what the other one has read, and what it removes.
  await find.isRead(2);
  await find.ask(paragraph(1200));
  await expect(find.hits.first()).toContainText('Number 1200:');
  await other.file('book 1.md').getByRole('button', { name: 'Remove' }).click();
  await other.files.getByRole('button', { name: 'Remove', exact: true }).click();
  await expect(find.files).toHaveCount(1);
});

test('a passage goes with a message, to a model that writes', async ({ find, page }) => {
  await find.begin();
  await find.add(LETTER);
  await find.isRead(1);
  await find.ask('When does the ferry leave?');
  await find.hits.first().getByRole('button', { name: 'Attach to the conversation' }).click();
  await expect(find.said).toContainText('attached to the message');
  await page.getByRole('button', { name: 'To the conversation' }).click();
  await expect(page.locator('.talk-field')).toContainText('letter.txt, line 1');
  await page.getByLabel('Message', { exact: true }).fill('What does it say?');
  // This model writes no answers: the message waits for one that does.
  await expect(page.locator('.send')).toBeDisabled();
  await expect(page.locator('.field-facts')).toContainText('No chat model.');
  await find.goBack();
  await find.closeSheet();
  await page.getByRole('button', { name: 'Talk', exact: true }).click();
  await expect(page.locator('.send')).toBeEnabled();
  await expect(page.locator('.talk-field')).toContainText('letter.txt, line 1');
});

test('with an embedding model the page goes to Find, with another one it says what is needed', async ({
  find,
  page,
}) => {
  await page.goto(`${find.site.url}#view=talk`);
  await expect(page.locator('.talk')).toBeVisible();
  await find.chooseFile(TINY);
  await find.closeSheet();
  await find.ready(/bert/i);
  await expect(page).toHaveURL(/view=find/);
  // The conversation can be seen all the same, and leads back.
  await page.getByRole('button', { name: 'Talk', exact: true }).click();
  await page.getByRole('button', { name: /^Find with/ }).click();
  await find.ready(/bert/i);
  await page.getByRole('button', { name: 'Write', exact: true }).click();
  await expect(page.locator('.composer .primary')).toBeDisabled();
  await page.getByRole('button', { name: 'To Find' }).click();
  await find.goBack();
  await find.closeSheet();
  await find.ready();
  await expect(page.locator('.needs')).toContainText('Sluice Stories writes texts.');
  await expect(page.locator('.needs li')).toContainText([
    'all-MiniLM-L6-v2',
    'EmbeddingGemma 300M',
  ]);
});

test('all of it goes by the keyboard', async ({ find, page }) => {
  await find.begin();
  await find.add(LETTER, fileOf('b.txt', paragraph(1)));
  await find.isRead(2);
  await page.keyboard.press('/');
  await expect(find.question).toBeFocused();
  await page.keyboard.type('ferry');
  await page.keyboard.press('Enter');
  await expect(find.hits).toHaveCount(2);
  await page.keyboard.press('ArrowDown');
  await expect(find.heads.first()).toBeFocused();
  await page.keyboard.press('ArrowDown');
  await expect(find.heads.nth(1)).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(find.heads.nth(1)).toHaveAttribute('aria-expanded', 'true');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowUp');
  await expect(find.question).toBeFocused();
  await page.keyboard.press('?');
  await page.keyboard.press('Backspace');
  await find.files.last().getByRole('button').focus();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('button', { name: 'Keep it' })).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(find.files.last().getByRole('button')).toBeFocused();
});

test('what is damaged is shown and removed', async ({ find, page }) => {
  await find.begin();
  await find.add(LETTER, fileOf('b.txt', 'Another text.'));
  await find.isRead(2);
  await page.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    const folder = await root.getDirectoryHandle('sluice-find');
    for await (const one of folder.values()) {
      const writable = await (one as FileSystemFileHandle).createWritable({
        keepExistingData: true,
      });
      await writable.write({ type: 'write', position: 60, data: '####' });
      await writable.close();
      break;
    }
  });
  await page.reload();
  await expect(find.file('Damaged file')).toContainText('is damaged');
  await expect(find.files).toHaveCount(2);
  await find.file('Damaged file').getByRole('button').click();
  await find.files.getByRole('button', { name: 'Remove', exact: true }).click();
  await expect(find.files).toHaveCount(1);
  await find.openSheet();
  const kept = page.locator('.kept');
  await expect(kept).toContainText('Files in Find');
  await expect(kept).toContainText('1 file ·');
  await kept.getByRole('button', { name: /Files in Find/ }).click();
  await kept.getByRole('button', { name: 'Remove', exact: true }).click();
  await expect(kept).not.toContainText('Files in Find');
  await find.closeSheet();
  await expect(find.files).toHaveCount(0);
});

test.describe('on a full device', () => {
  /** With a profile on disk, whose quota can be set. */
  const own = test.extend({
    context: async ({ playwright, launchOptions }, use, info) => {
      const context = await playwright.chromium.launchPersistentContext(
        info.outputPath('profile'),
        { ...launchOptions, serviceWorkers: 'block' },
      );
      await use(context);
      await context.close();
    },
  });

  own('what was read can be searched, and what was kept stays', async ({ find, page, context }) => {
    await find.begin();
    await find.add(LETTER);
    await find.isRead(1);
    const session = await context.newCDPSession(page);
    const { origin } = new URL(find.site.url);
    const { usage } = await page.evaluate(() => navigator.storage.estimate());
    const quota = (quotaSize?: number) =>
      session.send('Storage.overrideQuotaForOrigin', { origin, ...(quotaSize && { quotaSize }) });
    await quota((usage ?? 0) + 20_000);
    const [{ name, text } = { name: '', text: '' }] = BOOKS;
    await find.add(fileOf(name, text));
    await expect(page.getByText('This device has no room left')).toBeVisible();
    await find.isRead(2);
    await expect(find.file(name)).toContainText('not kept');
    await find.ask(paragraph(9));
    await expect(find.hits.first()).toContainText('Number 9:');

    await quota();
    await page.getByRole('button', { name: 'Try to keep it again' }).click();
    await expect(page.getByText('This device has no room left')).toHaveCount(0);
    await expect(find.file(name)).not.toContainText('not kept');
    await page.reload();
    await expect(find.files).toHaveCount(2);
    await expect(find.file('letter.txt')).toHaveCount(1);
  });
});

test('looks good at every width', async ({ find, page }) => {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  const look = async (name: string): Promise<void> => {
    for (const [width, height] of Object.entries({ 320: 640, ...HEIGHTS })) {
      await page.setViewportSize({ width: Number(width), height });
      await page.evaluate(() => document.fonts.ready);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        const seen = `${name}-${width}-${colorScheme}`;
        await page.screenshot({ path: `screenshots/find-${seen}.png`, fullPage: true });
        expect(await overflow(page), `${seen}: nothing is wider than the page`).toBe(0);
        expect(await violations(page, true), seen).toEqual([]);
      }
      if (name !== 'found') continue;
      const small = await page.evaluate(() =>
        [...document.querySelectorAll<HTMLElement>('.finding button, .finding input, .head button')]
          .filter((element) => element.checkVisibility())
          .map((element) => ({ name: element.textContent, box: element.getBoundingClientRect() }))
          .filter(({ box }) => box.height < 44 || box.width < 44)
          .map(({ name, box }) => `${name}: ${box.width} x ${box.height}`),
      );
      expect(small, `${width} wide: what is touched is 44 px`).toEqual([]);
    }
  };
  await find.open();
  await expect(page.locator('.needs li')).toHaveCount(2);
  await look('needs');
  await find.begin();
  await look('empty');
  await find.add(
    LETTER,
    fileOf('a-name-without-an-end-'.repeat(7), paragraph(4)),
    fileOf('c.png', '\0'),
  );
  await find.isRead(2);
  await find.ask('When does the ferry leave?');
  await find.hits.first().getByRole('button', { name: 'Attach' }).click();
  await find.heads.last().click();
  await find.files.last().getByRole('button').click();
  await look('found');
});
