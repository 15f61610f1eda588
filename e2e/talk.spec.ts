// Conversations: what is sent, how answers are drawn, branches, files, the context, keys.
import type { Page } from '@playwright/test';
import { shiftsSeen, watchShifts } from './in-page';
import { scriptedModel } from './scripted-model';
import { ANSWERS, MODEL, Talk, downloaded, expect, test } from './talk';

/** How many keywords and texts in quotes have their colours. */
const colours = (page: Page): Promise<number[]> =>
  page.evaluate(() =>
    ['keyword', 'string'].map((kind) => CSS.highlights.get(`code-${kind}`)?.size ?? 0),
  );

test('Enter and the button send; answers are drawn as Markdown', async ({ talk, page }) => {
  await talk.open();
  const ground = (): Promise<string> =>
    talk.send.evaluate((send) => getComputedStyle(send).backgroundColor);
  const disabled = await ground();
  await expect(page.getByRole('button', { name: 'Talk' })).toHaveAttribute('aria-pressed', 'true');
  await expect(page.getByRole('heading', { name: /would you like to know/ })).toBeVisible();
  await expect(talk.send).toBeDisabled();
  await talk.field.fill('Line one');
  await talk.field.press('Shift+Enter');
  await talk.field.pressSequentially('Line two');
  await expect(talk.field).toHaveValue('Line one\nLine two');
  await expect.poll(ground).not.toBe(disabled);
  await talk.send.click();
  const first = await talk.answered();
  await expect(talk.mine.locator('.mine-text')).toHaveText('Line one\nLine two', {
    useInnerText: true,
  });
  await expect(first.locator('.markdown')).toHaveText(ANSWERS.hello);
  await expect(talk.field).toBeFocused();
  await expect(talk.field).toHaveValue('');

  const second = await talk.say('Markdown, please: 1');
  await expect(second.getByRole('heading', { name: 'Rivers' })).toBeVisible();
  await expect(second.getByRole('row')).toHaveText([/River.*Length/, /Elbe.*1094 km/]);
  await expect(second.locator('pre')).toContainText('const river = "Elbe";');
  // The browser paints the colours of code: the text is one piece.
  await expect.poll(() => colours(page)).toEqual([1, 1]);
  expect(await second.locator('pre code').evaluate((code) => code.childNodes.length)).toBe(1);
  await expect(second.getByRole('listitem')).toHaveText(['one bank', 'another bank']);
  await expect(second.locator('math')).toHaveCount(1);
  await expect(second.locator('img')).toHaveCount(0);
  await expect(second).toContainText('<img src=x onerror=alert(1)>');
  await expect(second.locator('.message-figures')).toHaveText(/Scripted · \d+ tokens · /);
});

test('code that is far away has no colours until it comes near', async ({ talk, page }) => {
  await talk.open();
  await talk.say('Markdown, please: 1');
  await expect.poll(() => colours(page)).toEqual([1, 1]);
  await talk.say('Long: 3');
  await expect.poll(() => colours(page)).toEqual([0, 0]);
  await page.locator('pre').scrollIntoViewIfNeeded();
  await expect.poll(() => colours(page)).toEqual([1, 1]);
});

test('from the text to the conversation with a chat model, and back; nothing is lost', async ({
  app,
  talk,
  models,
  page,
}) => {
  models.models.set('scripted-talk.gguf', scriptedModel(MODEL));
  await app.open();
  await talk.loadAddress(models.good('scripted-talk.gguf'));
  await talk.ready();
  await talk.closeSheet();
  await page.getByRole('button', { name: 'Talk', exact: true }).click();
  await talk.say('Remember this');
  await talk.field.fill('A draft');
  const views = page.getByRole('group', { name: 'View' });
  await views.getByRole('button', { name: 'Write' }).click();
  await expect(app.prompt).toBeVisible();
  await views.getByRole('button', { name: 'Talk' }).click();
  await expect(talk.field).toHaveValue('A draft');
  await expect(talk.answers).toHaveCount(1);
  await talk.goBack();
  await expect(app.modelName).toHaveText('Sluice Stories');
  await talk.closeSheet();
  // The reader chose this view.
  await expect(talk.answers).toHaveText(new RegExp(ANSWERS.hello));
  await expect(talk.field).toHaveValue('A draft');
});

test('after a reload the conversation is shown, though its model from a file is gone', async ({
  app,
  talk,
  page,
}) => {
  await app.open();
  await app.chooseFile(scriptedModel(MODEL));
  await talk.ready();
  await app.closeSheet();
  await page.getByRole('button', { name: 'Talk', exact: true }).click();
  await talk.say('About rain: 4');
  await page.reload();
  await expect(page.locator('.notice')).toContainText('You last used Scripted, the file Scripted-');
  await expect(talk.answers).toContainText([ANSWERS.short]);
  await expect(talk.field).toBeVisible();
});

test('an answer that the browser had no time to write is there after a reload', async ({
  talk,
  page,
}) => {
  await talk.open();
  await talk.say('One: 4');
  await page.evaluate(() => {
    // Transactions that write don't end any more.
    IDBObjectStore.prototype.put = function (this: IDBObjectStore) {
      const ask = (): IDBRequest => Object.assign(this.get('none'), { onsuccess: ask });
      return ask();
    };
  });
  await talk.say('Two: 4');
  await page.reload();
  await expect(talk.answers).toContainText([ANSWERS.short, ANSWERS.short]);
  await page.reload();
  await expect(talk.answers).toContainText([ANSWERS.short, ANSWERS.short]);
});

test('thinking is folded and apart, Stop keeps what came', async ({ talk, page }) => {
  await talk.holdTextAfter(9);
  await talk.open();
  await talk.begin('Think: 2');
  await talk.textIsHeld();
  const first = talk.answers.first();
  await expect(first.locator('.thinking summary')).toHaveText('Thinking');
  await talk.releaseText();
  await talk.answered();
  await expect(first.locator('.thinking summary')).toHaveText(/^Thought/);
  await expect(first.getByText('First I count')).toBeHidden();
  await first.locator('.thinking summary').click();
  await expect(first.getByText('First I count the stones.')).toBeVisible();
  await expect(first.locator('> .markdown')).toHaveText('There are seven stones.');

  await talk.holdAgain();
  await talk.begin('Long: 3');
  await talk.textIsHeld();
  const second = talk.answers.nth(1);
  await expect(second).toContainText('Line 0');
  await talk.send.click();
  await talk.releaseText();
  await talk.answered();
  await expect(second).toContainText('Line 0');
  await expect(second).not.toContainText('Line 119');
  await expect(second.locator('.message-note')).toHaveText('Stopped');
  // Escape stops as well.
  await talk.holdAgain();
  await talk.begin('Long again: 3');
  await talk.textIsHeld();
  await page.keyboard.press('Escape');
  await talk.releaseText();
  await talk.answered();
  await expect(talk.answers.nth(2).locator('.message-note')).toHaveText('Stopped');
  await expect(await talk.say('Go on: 4')).toContainText(ANSWERS.short);
});

test('Stop ends a template that runs for long', async ({ talk, page, hub }) => {
  const slow = scriptedModel({ name: 'Slow 1B', scripts: ['At last.'], slow: true });
  await talk.open();
  await talk.loadAddress(hub.add('slow.gguf', slow).url);
  await expect(talk.modelName).toHaveText('Slow 1B');
  await expect(talk.loading).toHaveCount(0);
  await talk.begin('Run for long');
  // So many times to its end would take minutes.
  for (let times = 0; times < 20; ++times) {
    if (times > 0) await page.getByRole('button', { name: 'Answer with Slow 1B' }).click();
    await expect(talk.send).toHaveAttribute('data-stops', 'true');
    await talk.send.click();
    await expect(talk.send).toHaveAttribute('data-stops', 'false');
  }
  await expect(talk.answers).toHaveCount(0);
  await page.getByRole('button', { name: 'New conversation' }).first().click();
  await expect(await talk.say('Hello')).toContainText('At last.');
});

test('another answer and another question are branches', async ({ talk, page }) => {
  await talk.open();
  const first = await talk.say('Ask: 4');
  await talk.press(first, 'Another answer');
  await talk.answered();
  const branches = talk.answers.first().locator('.branches');
  await expect(branches).toContainText('2/2');
  await branches.getByRole('button', { name: 'Previous branch' }).click();
  await expect(branches).toContainText('1/2');
  // The focus goes along: the same button can't be pressed again, so it is on the other.
  await expect(branches.getByRole('button', { name: 'Next branch' })).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(branches).toContainText('2/2');

  // What was in the field comes back.
  await talk.field.fill('Half a question');
  await talk.press(talk.mine.first(), 'Edit and go on from here');
  await expect(talk.field).toBeFocused();
  await expect(talk.field).toHaveValue('Ask: 4');
  await page.keyboard.press('Escape');
  await expect(talk.field).toHaveValue('Half a question');
  await talk.field.fill('');
  await expect(page.getByText('You are editing a message')).toHaveCount(0);
  // The same by the keyboard.
  await talk.field.press('ArrowUp');
  await expect(talk.field).toHaveValue('Ask: 4');
  await talk.field.fill('Ask otherwise');
  await talk.field.press('Enter');
  const other = await talk.answered();
  await expect(other).toContainText(ANSWERS.hello);
  await expect(talk.mine).toHaveText([/Ask otherwise/]);
  await talk.press(talk.mine.first(), 'Previous branch');
  await expect(talk.mine).toHaveText([/Ask: 4/]);
  await expect(talk.answers).toHaveText([/Quite short/]);
  await expect(talk.answers.first().locator('.branches')).toContainText('2/2');
});

test('a message, and all, can be copied and saved', async ({ talk, page, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await talk.open();
  const answer = await talk.say('Markdown: 1');
  const clipboard = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText());
  await talk.press(answer, 'Copy this message');
  await expect(talk.status).toHaveText('Copied');
  expect(await clipboard()).toBe(ANSWERS.markdown);
  await talk.press(talk.mine.first(), 'Copy this message');
  await expect.poll(clipboard).toBe('Markdown: 1');
  await talk.choose('More for this conversation', 'Copy all');
  const whole = `# Markdown: 1\n\n## You\n\nMarkdown: 1\n\n## Answer\n\n${ANSWERS.markdown}\n`;
  await expect.poll(clipboard).toBe(whole);
  const saved = await downloaded(page, () =>
    talk.choose('More for this conversation', 'Save as Markdown'),
  );
  expect(saved.name).toMatch(/^Markdown.*\.md$/);
  expect(saved.text).toBe(whole);
});

/** The tokens of the conversation so far, as they stand beside the field. */
async function tokens(talk: Talk): Promise<number> {
  await expect(talk.facts).toHaveText(/of [\d,]+ tokens$/);
  const text = (await talk.facts.textContent()) ?? '';
  return Number(/(\d[\d,]*) of/.exec(text)?.[1]?.replaceAll(',', ''));
}

test('the system prompt reaches the model; files go with a message', async ({ talk, page }) => {
  await talk.open();
  await talk.say('Ask: 4');
  const without = await tokens(talk);
  await page.getByRole('button', { name: 'New conversation' }).first().click();
  await page.locator('.system summary').click();
  await page.getByRole('textbox', { name: 'System prompt' }).fill('x'.repeat(200));
  await talk.say('Ask: 4');
  const withPrompt = await tokens(talk);
  expect(withPrompt - without).toBeGreaterThanOrEqual(200);
  expect(withPrompt - without).toBeLessThan(260);

  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Attach a text file' }).click();
  const notes = 'Überall `Notizen`\n```\nx\n```\n';
  await (
    await chooser
  ).setFiles([
    { name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from(notes) },
    { name: 'picture.png', mimeType: 'image/png', buffer: Buffer.from([0x89, 0x50, 0xff, 0, 1]) },
    { name: 'paper.txt', mimeType: 'text/plain', buffer: Buffer.from('%PDF-1.7\n1 0 obj') },
    { name: 'old.dat', mimeType: '', buffer: Buffer.from('F\xfcnf Mark und \x80', 'latin1') },
    { name: 'huge.txt', mimeType: 'text/plain', buffer: Buffer.alloc(1_000_001, 'a') },
  ]);
  await expect(page.getByRole('alert').filter({ hasText: 'huge.txt' })).toContainText(
    'picture.png is not a text file',
  );
  await expect(page.getByRole('alert').filter({ hasText: 'huge.txt' })).toContainText(
    'paper.txt is a PDF. Sluice can’t read these yet.',
  );
  await expect(page.locator('.attachments li')).toHaveText([
    /notes\.md, 28 characters/,
    /old\.dat, 15 characters/,
  ]);
  await page.getByRole('button', { name: 'Remove old.dat' }).click();
  // A second one is dropped, and removed again.
  await page.evaluate(() => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File(['dropped'], 'dropped.txt'));
    window.dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true }));
  });
  await expect(page.locator('.attachments li')).toHaveCount(2);
  await page.getByRole('button', { name: 'Remove dropped.txt' }).click();
  await expect(page.locator('.attachments li')).toHaveCount(1);
  await expect(talk.field).toBeFocused();
  // What is in the field counts, when the reader rests.
  await expect.poll(() => tokens(talk)).toBeGreaterThan(withPrompt + 28);
  await talk.say('Ask: 4');
  await expect(page.locator('.attachments li')).toHaveCount(0);
  const attached = talk.mine.last().locator('details');
  await attached.locator('summary').click();
  await expect(attached.locator('pre')).toHaveText(notes);
  expect(await tokens(talk)).toBeGreaterThan(withPrompt + 28);
});

test('the reader is warned before the context is full, and told what was left out', async ({
  page,
  talkSites,
}) => {
  const talk = new Talk(page, talkSites.small);
  await talk.open();
  const warning = page.getByText('The context is nearly full');
  await talk.say(`${'a'.repeat(200)} 4`);
  await expect(warning).toHaveCount(0);
  await talk.field.fill('b'.repeat(140));
  await expect(warning).toBeVisible();
  await talk.field.fill(`${'b'.repeat(140)} 4`);
  await talk.field.press('Enter');
  await expect(talk.answers).toHaveCount(2);
  const last = await talk.answered();
  await expect(last.locator('.message-note')).toHaveText(/oldest messages? (was|were) left out/);
});

test('finished sentences are read out, and the end is followed until the reader scrolls', async ({
  talk,
  page,
}) => {
  await talk.holdTextAfter(400);
  await talk.open();
  const log = page.getByRole('log');
  await talk.begin('Long: 3');
  await talk.textIsHeld();
  await expect(log).toContainText(/of the long answer\.$/);
  const atEnd = (): Promise<boolean> =>
    page.evaluate(() => {
      const { scrollHeight, clientHeight } = document.documentElement;
      return scrollHeight > clientHeight && scrollHeight - clientHeight - window.scrollY < 2;
    });
  await expect.poll(atEnd).toBe(true);
  const toTheEnd = page.getByRole('button', { name: 'To the end' });
  await expect(toTheEnd).toHaveCount(0);
  await page.mouse.move(700, 300);
  await page.mouse.wheel(0, -200);
  await expect(toTheEnd).toBeVisible();
  const [button, field] = [await toTheEnd.boundingBox(), await talk.field.boundingBox()];
  expect((button?.y ?? 0) + (button?.height ?? 0)).toBeLessThanOrEqual(field?.y ?? 0);
  // The wheel's scrolling takes a moment.
  const scrolled = (): Promise<number> => page.evaluate(() => window.scrollY);
  let place = await scrolled();
  await expect.poll(async () => place === (place = await scrolled())).toBe(true);
  await talk.releaseText();
  await talk.answered();
  expect(await scrolled()).toBe(place);
  await expect(log).toContainText('Line 119 of the long answer.');
  await toTheEnd.click();
  await expect.poll(atEnd).toBe(true);
  await expect(toTheEnd).toHaveCount(0);
});

test('on a narrow page the button to the end covers nothing of the field', async ({
  talk,
  page,
}) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await talk.open();
  await talk.begin('Long: 3');
  await talk.answered();
  const toTheEnd = page.getByRole('button', { name: 'To the end' });
  await page.evaluate(() => window.scrollTo(0, 0));
  await expect(toTheEnd).toBeVisible();
  const form = page.locator('.talk-field');
  // Inside of the border's corners, behind which the fading text may be.
  const box = await form.boundingBox();
  const clip = { x: (box?.x ?? 0) + 24, y: box?.y ?? 0, width: 200, height: 16 };
  const below = await page.screenshot({ clip, animations: 'disabled' });
  await toTheEnd.evaluate((button) => button.remove());
  const alone = await page.screenshot({ clip, animations: 'disabled' });
  expect(below.equals(alone)).toBe(true);
});

test('a worker that dies keeps what was written, and the next answer works', async ({
  talk,
  page,
}) => {
  await talk.holdTextAfter(20);
  await talk.open();
  await talk.begin('Long: 3');
  await talk.textIsHeld();
  await talk.endEngineWorker();
  await expect(talk.problem).toHaveAttribute('data-code', 'worker_died');
  await expect(talk.answers.first()).toContainText('Line 0 of the');
  await expect(talk.answers.first()).toContainText('This answer ended with an error');
  // The error stands below its answer, where it covers nothing, and belongs to this conversation.
  await expect(page.locator('.failure .notice')).toBeInViewport({ ratio: 1 });
  expect(await page.locator('.notice').evaluate((one) => getComputedStyle(one).position)).toBe(
    'static',
  );
  await page.getByRole('button', { name: 'New conversation' }).first().click();
  await expect(talk.answers).toHaveCount(0);
  await expect(talk.problem).toHaveCount(0);
  await talk.items.filter({ hasText: 'Long: 3' }).locator('.item-open').click();
  await expect(talk.problem).toHaveAttribute('data-code', 'worker_died');
  await talk.problem.getByRole('button', { name: 'Try again' }).click();
  await talk.ready();
  await expect(await talk.say('Again: 4')).toContainText(ANSWERS.short);
  await expect(talk.problem).toHaveCount(0);
});

test('shortcuts, and the way of the keyboard', async ({ talk, page }) => {
  await talk.open();
  await talk.say('Ask: 4');
  await page.keyboard.press('Control+/');
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await expect(dialog.locator('dd')).toHaveCount(13);
  await expect(dialog).toContainText('Send the message');
  await expect(dialog).not.toContainText('Write the text');
  await page.keyboard.press('Escape');
  await expect(dialog).toHaveCount(0);
  await expect(talk.field).toBeFocused();
  await page.keyboard.press('Control+Shift+O');
  await expect(talk.mine).toHaveCount(0);
  await expect(talk.field).toBeFocused();
  await page.keyboard.press('Control+k');
  await expect(page.getByLabel('Search')).toBeFocused();
  // Of two in one frame the last has the focus.
  const focused = await page.evaluate(async () => {
    const press = (init: KeyboardEventInit) =>
      document.body.dispatchEvent(
        new KeyboardEvent('keydown', { bubbles: true, cancelable: true, ctrlKey: true, ...init }),
      );
    const drawn = () => new Promise(requestAnimationFrame);
    await drawn();
    press({ key: 'O', shiftKey: true });
    await Promise.resolve();
    press({ key: 'k' });
    await drawn();
    await drawn();
    return document.activeElement?.id;
  });
  expect(focused).toBe('search');
  await page.keyboard.press('Control+m');
  await expect(talk.sheet).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(talk.sheet).toHaveCount(0);
  await page.keyboard.press('Control+,');
  await expect(page.getByRole('dialog', { name: 'Settings' })).toBeVisible();
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'New conversation' }).first().focus();
  await page.keyboard.press('?');
  await expect(dialog).toBeVisible();
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  await expect(talk.field).toBeFocused();
  // In a text they are characters.
  await page.keyboard.type('?/');
  await expect(talk.field).toHaveValue('?/');
  // The list by the keyboard alone: to the first conversation, and its menu.
  await page.keyboard.press('Control+k');
  await expect(page.getByLabel('Search')).toBeFocused();
  await page.keyboard.press('Tab');
  await expect(talk.items.first().locator('.item-open')).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(talk.mine).toHaveCount(1);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  const items = page.getByRole('menuitem');
  await expect(items.first()).toBeFocused();
  await page.keyboard.press('ArrowUp');
  await expect(items.last()).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('button', { name: 'More for Ask: 4' })).toBeFocused();
  await expect(items).toHaveCount(0);
});

test.describe('in German', () => {
  test.use({ locale: 'de-DE' });
  test('all of it speaks German', async ({ talk, page }) => {
    await talk.open();
    await expect(page.getByRole('heading', { name: 'Was möchtest du wissen?' })).toBeVisible();
    const field = page.getByLabel('Nachricht', { exact: true });
    await field.fill('Frage: 4');
    await field.press('Enter');
    await talk.answered();
    await expect(talk.answers).toContainText([ANSWERS.short]);
    await expect(page.getByRole('button', { name: 'Eine andere Antwort' })).toBeVisible();
    await expect(talk.facts).toHaveText(/von 4\.096 Token$/);
    await expect(page.getByRole('navigation', { name: 'Gespräche' })).toContainText('Heute');
    await page.getByRole('button', { name: 'Mehr zu diesem Gespräch' }).click();
    await expect(page.getByRole('menuitem')).toHaveText([
      'Alles kopieren',
      'Als Markdown sichern',
      'Als JSON sichern',
    ]);
  });

  for (const width of [320, 360]) {
    test(`all of the head is in a window of ${width} pixels`, async ({ talk, page, allowed }) => {
      // Its own font may come late; the usual ones are wider.
      allowed.push(/net::ERR_FAILED/);
      await page.route(/\.woff2$/, (route) => route.abort());
      await page.setViewportSize({ width, height: 640 });
      await talk.open();
      for (const name of ['Sprechen', 'Schreiben', 'Finden']) {
        const view = page.locator('.views').getByRole('button', { name });
        await view.click();
        await expect(view).toHaveAttribute('aria-pressed', 'true');
        const buttons = page.locator('.head button');
        for (const box of await buttons.evaluateAll((all) =>
          all.map((one) => one.getBoundingClientRect().toJSON() as DOMRect),
        )) {
          expect(box.left).toBeGreaterThanOrEqual(0);
          expect(box.right).toBeLessThanOrEqual(width);
        }
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
        if (name !== 'Sprechen') continue;
        // An empty conversation is as high as the window, and not a pixel more.
        expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBe(640);
      }
    });
  }
});

test.describe('on a phone', () => {
  test.use({ viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true });
  test('the list is a drawer, Enter makes a line, the field stays', async ({ talk, page }) => {
    await talk.open();
    await expect(talk.list).toHaveCount(0);
    await talk.field.tap();
    await page.keyboard.type('Long: ');
    await page.keyboard.press('Enter');
    await page.keyboard.type('3');
    await expect(talk.field).toHaveValue('Long: \n3');
    await talk.send.tap();
    await talk.answered();
    // Else a keyboard on the screen would cover the answer.
    await expect(talk.field).not.toBeFocused();
    await expect(talk.field).toBeInViewport({ ratio: 1 });
    await expect(talk.send).toBeInViewport({ ratio: 1 });

    const button = page.getByRole('button', { name: 'Conversations' });
    await button.tap();
    await expect(talk.items).toHaveText([/Long: 3/]);
    await expect(talk.list.locator(':focus')).toHaveCount(1);
    // What lies below can't be reached.
    await expect(page.locator('main')).toHaveAttribute('inert', '');
    await page.keyboard.press('Escape');
    await expect(talk.list).toHaveCount(0);
    await expect(button).toBeFocused();
    await button.tap();
    await page.touchscreen.tap(350, 300);
    await expect(talk.list).toHaveCount(0);
    await button.tap();
    await talk.items.first().locator('.item-open').tap();
    await expect(talk.list).toHaveCount(0);
    await expect(talk.mine).toHaveCount(1);
    const small = await page.evaluate(() =>
      [...document.querySelectorAll<HTMLElement>('button, summary, input, textarea')]
        .filter((element) => element.checkVisibility())
        .map((element) => ({ name: element.title, box: element.getBoundingClientRect() }))
        .filter(({ box }) => box.width < 40 || box.height < 40)
        .map(({ name, box }) => `${name}: ${box.width} x ${box.height}`),
    );
    expect(small).toEqual([]);
  });
});

test('nothing moves but by the reader', async ({ talk, page }) => {
  await page.addInitScript(watchShifts);
  // From the second time on the page begins with this view.
  await talk.open();
  await page.reload();
  await talk.ready();
  const place = async (): Promise<number> => (await talk.send.boundingBox())?.y ?? 0;
  const before = await place();
  await talk.say('Markdown: 1');
  expect(Math.abs((await place()) - before)).toBeLessThan(2);
  await talk.say('Long: 3');
  expect(Math.abs((await place()) - before)).toBeLessThan(2);
  const { sum, what } = await page.evaluate(shiftsSeen);
  expect(sum, what.join('; ')).toBeLessThan(0.01);
});

test('what doesn’t fit into the context waits, until a larger one is taken', async ({
  talk,
  page,
}) => {
  await talk.open('#view=talk');
  await talk.field.fill(`${'x'.repeat(5000)} 4`);
  const why = page
    .getByRole('alert')
    .filter({ hasText: 'longer than the context of 4,096 tokens' });
  await expect(why).toHaveText(/by 9\d\d tokens\.$/);
  await expect(talk.send).toBeDisabled();
  await expect(talk.send).toHaveAccessibleDescription(/longer than the context/);
  await talk.field.press('Enter');
  await expect(talk.mine).toHaveCount(0);
  // Nothing of it stays once the field is empty.
  await talk.field.fill('');
  await expect(why).toHaveCount(0);
  await expect(talk.facts).toHaveText('');
  await talk.field.fill('x'.repeat(9000));
  await expect(page.getByRole('alert').filter({ hasText: 'Shorten it' })).toBeVisible();
  await expect(page.getByRole('button', { name: /Use a context/ })).toHaveCount(0);
  await talk.field.fill(`${'x'.repeat(5000)} 4`);
  await page.getByRole('button', { name: /^Use a context of 8,192 \(more memory: .*B\)$/ }).click();
  await expect(talk.field).toBeFocused();
  await expect(talk.send).toBeEnabled();
  await expect(talk.facts).toHaveText(/of 8,192 tokens$/);
  await talk.send.click();
  await expect(await talk.answered()).toContainText(ANSWERS.short);
});

test('a long text that is pasted goes with the message, or into the field after all', async ({
  talk,
  page,
}) => {
  await talk.open('#view=talk');
  const paste = (text: string): Promise<void> =>
    talk.field.evaluate((field, text) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', text);
      const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
      field.dispatchEvent(event);
    }, text);
  await talk.field.fill('Before and after');
  await paste('a short text');
  await expect(page.locator('.attachments li')).toHaveCount(0);
  const lines = Array.from({ length: 61 }, (_, i) => `${i}`).join('\r\n');
  await paste(lines);
  await paste('y'.repeat(4001));
  await expect(page.locator('.attachments li')).toHaveText([
    /^Pasted text, 172 characters/,
    /^Pasted text 2, 4,001 characters/,
  ]);
  await expect(talk.status).toHaveText('The long text is attached to the message');
  await talk.field.evaluate((field: HTMLTextAreaElement) => field.setSelectionRange(7, 7));
  const back = page.getByRole('button', { name: 'Put Pasted text into the field' });
  await back.focus();
  await page.keyboard.press('Enter');
  await expect(talk.field).toHaveValue(`Before ${lines.replaceAll('\r', '')}and after`);
  await expect(talk.field).toBeFocused();
  await expect(page.locator('.attachments li')).toHaveText([/^Pasted text 2/]);
});

test('an answer that was cut goes on as one message', async ({ talk, page }) => {
  await talk.holdTextAfter(30);
  await talk.open('#view=talk');
  const answer = talk.answers.first();
  const goOn = answer.getByRole('button', { name: 'Continue' });
  await talk.begin('Long: 3');
  await talk.textIsHeld();
  await talk.send.click();
  await talk.releaseText();
  await talk.answered();
  const cut = (await answer.locator('.markdown').innerText()).trimEnd();
  expect(cut).toContain('Line 0 of');
  await goOn.focus();
  await page.keyboard.press('Enter');
  await talk.answered();
  await expect(talk.field).toBeFocused();
  await expect(answer).toContainText('Line 119 of the long answer.');
  await expect(talk.answers).toHaveCount(1);
  const text = (await answer.locator('.markdown').innerText()).replace(/\s+/g, ' ').trim();
  expect(text).toBe(ANSWERS.long.replace(/\s+/g, ' '));
  await expect(goOn).toHaveCount(0);
  await expect(answer.locator('.branches')).toHaveCount(0);

  // So does the reasoning, and what a reload has cut.
  await talk.holdAgain();
  await talk.begin('Long once more: 3');
  await talk.textIsHeld();
  await expect(talk.answers.nth(1)).toContainText('Line 0 of');
  await page.reload();
  await talk.ready();
  await expect(talk.answers.nth(1).getByRole('button', { name: 'Continue' })).toBeEnabled();
});

test('reasoning that was cut goes on as reasoning', async ({ talk }) => {
  await talk.holdTextAfter(5);
  await talk.open('#view=talk');
  await talk.begin('Think: 2');
  await talk.textIsHeld();
  await talk.send.click();
  await talk.releaseText();
  const answer = await talk.answered();
  await expect(answer.locator('> .markdown')).toHaveText('');
  await answer.getByRole('button', { name: 'Continue' }).click();
  await talk.answered();
  await expect(answer.locator('> .markdown')).toHaveText('There are seven stones.');
  await answer.locator('.thinking summary').click();
  await expect(answer.locator('.thinking .markdown')).toHaveText('First I count the stones.');
});

test('the story model tells a story', async ({ app, page }) => {
  await page.goto(`${app.site.url}#view=talk`);
  await expect(app.modelName).toHaveText('Sluice Stories');
  const talk = new Talk(page, app.site);
  await talk.begin('Tell me a story about a green fish.');
  const answer = talk.answers.last();
  await expect(answer).toContainText('Once upon a time, there was a green fish.');
  await expect(answer).toContainText(/a green fish\. \w+/);
  await talk.answered();
  await talk.begin('Another');
  await expect(talk.answers).toHaveCount(2);
  await expect(talk.answers.last()).toContainText(/Once upon a time,? \w+/);
});

test('a system prompt is saved by a name, and chosen in another conversation', async ({
  talk,
  page,
}) => {
  await talk.open('#view=talk');
  await page.locator('.system summary').click();
  const system = page.getByRole('textbox', { name: 'System prompt' });
  await system.fill('Talk like a pirate.');
  await page.getByLabel('Name to save it by').fill('Pirate');
  await page.keyboard.press('Enter');
  await expect(talk.status).toHaveText('Pirate is saved on this device');
  await talk.say('Ask: 4');
  await page.reload();
  await talk.ready();
  await page.getByRole('button', { name: 'New conversation' }).first().click();
  await page.locator('.system summary').click();
  await expect(system).toHaveValue('');
  await page.getByRole('button', { name: 'Pirate', exact: true }).click();
  await expect(system).toHaveValue('Talk like a pirate.');
  await page.getByRole('button', { name: 'Delete the system prompt Pirate' }).click();
  await expect(page.locator('.prompts')).toHaveCount(0);
  await expect(system).toBeFocused();
  await expect(system).toHaveValue('Talk like a pirate.');
});

test('what is sent before the script has come is answered then, unless it was changed', async ({
  talk,
  page,
}) => {
  let release = (): void => undefined;
  let held = new Promise<void>((go) => (release = go));
  await page.route(/\/later-(?!settings|writing)[^/]*\.js$/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${talk.site.url}#view=talk`);
  await talk.begin('Hello: 0');
  await expect(talk.field).toHaveValue('Hello: 0');
  release();
  await expect(await talk.answered()).toContainText(ANSWERS.hello);
  await expect(talk.mine).toHaveText([/Hello: 0/]);
  await expect(talk.field).toHaveValue('');

  held = new Promise<void>((go) => (release = go));
  const second = new Talk(await page.context().newPage(), talk.site);
  await second.page.route(/\/later-(?!settings|writing)[^/]*\.js$/, async (route) => {
    await held;
    await route.continue();
  });
  await second.page.goto(`${talk.site.url}#view=talk`);
  await second.begin('Hello: 0');
  await second.field.pressSequentially(' and');
  release();
  await second.ready();
  await expect(second.page.locator('.talk')).not.toHaveAttribute('aria-busy', 'true');
  await expect(second.field).toHaveValue('Hello: 0 and');
  await expect(second.mine).toHaveCount(0);
});
