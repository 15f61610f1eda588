// Conversations that are kept: the list and what can be done with it, reloads, several tabs.
import fs from 'node:fs';
import path from 'node:path';
import { ROOT } from './servers';
import { ANSWERS, Talk, downloaded, expect, test } from './talk';

test('the list: open another while an answer is written, search, rename, delete', async ({
  talk,
  page,
}) => {
  await talk.holdTextAfter(30);
  await talk.open();
  await expect(talk.list).toContainText('kept on this device, and nowhere else');
  // Nothing to search, and one button for each thing.
  await expect(page.getByLabel('Search')).toHaveCount(0);
  await expect(page.getByRole('button', { name: 'New conversation' })).toHaveCount(1);
  await talk.begin('About lakes: 3');
  await talk.textIsHeld();
  // The answer goes on while another conversation is shown.
  await page.getByRole('button', { name: 'New conversation' }).first().click();
  await expect(talk.mine).toHaveCount(0);
  await talk.field.fill('A draft of mine');
  await expect(talk.facts).toContainText('Another conversation is being answered.');
  await expect(talk.items).toHaveText(['About lakes: 3']);
  await talk.releaseText();
  await expect(talk.send).toHaveAttribute('aria-label', 'Send');
  await talk.items.first().locator('.item-open').click();
  await expect(talk.answers).toContainText(['Line 119 of the long answer.']);
  await expect(talk.field).toHaveValue('');
  await page.getByRole('button', { name: 'New conversation' }).first().click();
  await expect(talk.field).toHaveValue('A draft of mine');
  await talk.say('About seas: 4');
  await expect(talk.items).toHaveText(['About seas: 4', 'About lakes: 3']);
  await expect(talk.list.getByRole('heading', { level: 3 })).toHaveText(['Today']);

  await page.getByLabel('Search').fill('quite short');
  await expect(talk.items).toHaveText([/About seas: 4.*Quite short/]);
  await expect(talk.list).toContainText('1 conversation found');
  await page.getByLabel('Search').fill('Line 119');
  await page.getByLabel('Search').press('Enter');
  await expect(talk.answers).toContainText(['Line 119 of the long answer.']);
  await expect(talk.field).toBeFocused();
  await page.getByLabel('Search').fill('no such words');
  await page.getByLabel('Search').press('Enter');
  await expect(talk.list).toContainText('Nothing found');
  await expect(page.getByLabel('Search')).toBeFocused();
  await page.getByLabel('Search').fill('');
  await expect(talk.items).toHaveCount(2);

  await talk.chooseFor('About lakes: 3', 'Rename');
  const title = page.getByLabel('Title of the conversation');
  await expect(title).toBeFocused();
  await title.fill('Of lakes');
  await title.press('Enter');
  const renamed = talk.items.filter({ hasText: 'Of lakes' }).locator('.item-open');
  await expect(renamed).toBeFocused();

  await talk.chooseFor('Of lakes', 'Delete');
  const question = page.getByRole('alertdialog');
  await expect(question).toContainText('Delete “Of lakes”?');
  await expect(question.getByRole('button', { name: 'Keep' })).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(question).toHaveCount(0);
  await expect(talk.items).toHaveCount(2);
  await talk.chooseFor('Of lakes', 'Delete');
  await question.getByRole('button', { name: 'Delete' }).click();
  await expect(talk.items).toHaveText(['About seas: 4']);
  await expect(talk.status).toHaveText('Of lakes was deleted');
  await page.reload();
  await expect(talk.items).toHaveText(['About seas: 4']);

  // What a search has found can be renamed and deleted as well.
  await page.getByLabel('Search').fill('quite short');
  await talk.chooseFor('About seas: 4', 'Rename');
  await title.fill('Of seas');
  await title.press('Enter');
  await expect(talk.items).toHaveText([/Of seas.*Quite short/]);
  await talk.chooseFor('Of seas', 'Delete');
  await question.getByRole('button', { name: 'Delete' }).click();
  await expect(talk.items).toHaveCount(0);
  await expect(talk.list).toContainText('Nothing found');
});

test('a conversation that is deleted while it is written stays away; delete all', async ({
  talk,
  page,
}) => {
  await talk.holdTextAfter(20);
  await talk.open();
  await talk.begin('About rain: 3');
  await talk.textIsHeld();
  await talk.chooseFor('About rain: 3', 'Delete');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await talk.releaseText();
  await expect(talk.items).toHaveCount(0);
  await expect(talk.mine).toHaveCount(0);
  for (const text of ['First: 4', 'Second: 4']) {
    await page.getByRole('button', { name: 'New conversation' }).first().click();
    await talk.say(text);
  }
  await expect(talk.items).toHaveText(['Second: 4', 'First: 4']);
  await talk.choose('More', 'Delete all');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete all' }).click();
  await expect(talk.items).toHaveCount(0);
  await expect(talk.mine).toHaveCount(0);
  await page.reload();
  await talk.ready();
  await expect(talk.items).toHaveCount(0);
});

test('export and import; a hostile file is refused in words', async ({ talk, page }) => {
  await talk.open();
  await talk.say('About snow: 4');
  const json = await downloaded(page, () => talk.chooseFor('About snow: 4', 'Save as JSON'));
  expect(json.name).toMatch(/\.json$/);
  const markdown = await downloaded(page, () =>
    talk.chooseFor('About snow: 4', 'Save as Markdown'),
  );
  expect(markdown.text).toContain('## Answer\n\nQuite short.');
  const all = await downloaded(page, () => talk.choose('More', 'Save all as JSON'));
  expect(JSON.parse(all.text)).toEqual(JSON.parse(json.text));

  const file = async (text: string): Promise<void> => {
    const chooser = page.waitForEvent('filechooser');
    await talk.choose('More', 'Import');
    const buffer = Buffer.from(text);
    await (await chooser).setFiles({ name: 'one.json', mimeType: 'application/json', buffer });
  };
  const alert = talk.list.getByRole('alert');
  const hostile = json.text.replace('"role":"user"', '"role":"__proto__"');
  expect(hostile).not.toBe(json.text);
  await file(hostile);
  await expect(alert).toContainText(/role: user, assistant or tool is expected here\. Nothing/);
  await file('{');
  await expect(alert).toHaveText('The file is not JSON. Nothing was imported.');
  await expect(talk.items).toHaveCount(1);
  await file(json.text);
  await expect(alert).toHaveCount(0);
  await expect(talk.status).toHaveText('1 conversation was imported');
  await expect(talk.items).toHaveCount(2);
  await talk.items
    .filter({ hasNot: page.locator('[aria-current]') })
    .first()
    .click();
  await expect(talk.answers).toContainText([ANSWERS.short]);
});

test('a reload keeps what was written, also in the middle of an answer', async ({ talk, page }) => {
  await talk.holdTextAfter(60);
  await talk.open();
  await talk.begin('About wind: 3');
  await talk.textIsHeld();
  await expect(talk.answers).toContainText(['Line 0 of the long answer.']);
  await page.reload();
  await expect(talk.mine).toHaveText([/About wind: 3/]);
  await expect(talk.answers).toContainText(['Line 0 of the long answer.']);
  await expect(talk.answers).toContainText(['Stopped']);
  await talk.ready();
  await talk.releaseText();
  await talk.say('And now: 4');
  await expect(talk.answers.last()).toContainText(ANSWERS.short);
  await page.reload();
  await expect(talk.answers.last()).toContainText(ANSWERS.short);
  await expect(talk.answers).toHaveCount(2);
});

test('conversations of the first version are there and go on, and no page of that version damages them', async ({
  talk,
  page,
}) => {
  // As a page has left them whose messages had no parts.
  const file = path.join(ROOT, 'web/app/test/records-of-version-1.json');
  const { database } = JSON.parse(fs.readFileSync(file, 'utf8')) as { database: object };
  await page.goto(`${talk.site.url}LICENSE.txt`);
  await page.evaluate(async (stores) => {
    const opening = indexedDB.open('sluice-conversations', 1);
    opening.onupgradeneeded = () => {
      for (const name of Object.keys(stores)) opening.result.createObjectStore(name);
    };
    await new Promise((resolve) => (opening.onsuccess = resolve));
    const tx = opening.result.transaction(Object.keys(stores), 'readwrite');
    for (const [name, entries] of Object.entries(stores))
      for (const [key, value] of entries as [IDBValidKey, unknown][])
        tx.objectStore(name).put(value, key);
    await new Promise((resolve) => (tx.oncomplete = resolve));
    opening.result.close();
  }, database);
  await talk.open();
  await talk.items.filter({ hasText: 'Hallo' }).locator('.item-open').click();
  await expect(talk.answers.last().locator('> .markdown')).toHaveText('x < y');
  await expect(talk.answers.last().locator('.thinking')).toHaveCount(1);
  await talk.say('And more: 0');
  await expect(talk.answers.last()).toContainText(ANSWERS.hello);
  await page.reload();
  await expect(talk.answers.last()).toContainText(ANSWERS.hello);
  await expect(talk.answers.nth(1).locator('> .markdown')).toHaveText('x < y');
  const refused = await page.evaluate(async () => {
    const opening = indexedDB.open('sluice-conversations', 1);
    return new Promise((resolve) => (opening.onerror = () => resolve(opening.error?.name)));
  });
  expect(refused).toBe('VersionError');
});

test('a reload keeps what is in the fields: a text, a file, a message that is edited', async ({
  talk,
  page,
}) => {
  const reload = async (): Promise<void> => {
    await page.reload();
    await talk.ready();
  };
  await talk.open();
  await talk.field.fill('Not sent yet');
  await reload();
  await expect(talk.field).toHaveValue('Not sent yet');
  await talk.say('About hail: 4');
  await reload();
  await expect(talk.field).toHaveValue('');

  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Attach a text file' }).click();
  const buffer = Buffer.from('Some notes.');
  await (await chooser).setFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer });
  await talk.field.fill('About the notes');
  await talk.press(talk.mine.first(), 'Edit and go on from here');
  await talk.field.fill('About snow: 4');
  await reload();
  await expect(page.getByText('You are editing a message')).toBeVisible();
  await expect(talk.field).toHaveValue('About snow: 4');
  // What was in the field before comes back after the edit, also after another reload.
  await page.getByRole('button', { name: 'New conversation' }).first().click();
  await expect(talk.field).toHaveValue('');
  await reload();
  await talk.items.first().locator('.item-open').click();
  await expect(talk.field).toHaveValue('About snow: 4');
  await talk.send.click();
  await expect(talk.mine).toHaveText([/About snow: 4/]);
  await expect(talk.field).toHaveValue('About the notes');
  await expect(page.locator('.attachments')).toContainText('notes.txt');
});

test('two tabs: one writes, the other reads and can take over', async ({
  talk,
  page,
  context,
  talkSites,
}) => {
  await talk.open();
  await talk.say('About fog: 4');
  const second = await context.newPage();
  const other = new Talk(second, talkSites.scripted);
  await other.open();
  await other.items.first().locator('.item-open').click();
  await expect(second.getByText('is being written in another tab')).toBeVisible();
  await expect(other.field).toHaveCount(0);
  await expect(other.answers).toContainText([ANSWERS.short]);
  // What is said in the first one shows here.
  await talk.say('And hail: 4');
  await expect(other.mine).toHaveCount(2);
  await second.getByRole('button', { name: 'Write here' }).click();
  await expect(other.field).toBeFocused();
  await expect(page.getByText('is being written in another tab')).toBeVisible();
  await other.say('And ice: 4');
  await expect(talk.mine).toHaveCount(3);
  await second.close();
  // The first tab may write again.
  await expect(talk.field).toBeVisible();
  await talk.say('And dew: 4');
  await expect(talk.mine).toHaveCount(4);
});

test('a conversation that another tab deletes is shown no more, and stays away; what is typed stays', async ({
  talk,
  context,
  talkSites,
}) => {
  await talk.holdTextAfter(20);
  await talk.open();
  await talk.begin('About snow: 3');
  await talk.textIsHeld();
  await talk.field.fill('Not sent yet');
  const second = await context.newPage();
  const other = new Talk(second, talkSites.scripted);
  await other.open();
  await other.items.first().locator('.item-open').click();
  await expect(other.mine).toHaveCount(1);
  await other.chooseFor('About snow: 3', 'Delete');
  await second.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await expect(other.mine).toHaveCount(0);
  await expect(talk.mine).toHaveCount(0);
  await expect(talk.status).toHaveText('About snow: 3 was deleted');
  await expect(talk.field).toHaveValue('Not sent yet');
  await talk.releaseText();
  await expect(talk.send).toHaveAttribute('aria-label', 'Send');
  await talk.say('Another: 4');
  await expect(other.items).toHaveText(['Another: 4']);
});

test('a conversation that was deleted can be taken back, in all tabs', async ({
  talk,
  page,
  context,
  talkSites,
}) => {
  await talk.open('#view=talk');
  for (const text of ['One: 4', 'Two: 4']) {
    await page.getByRole('button', { name: 'New conversation' }).first().click();
    await talk.say(text);
  }
  const other = new Talk(await context.newPage(), talkSites.scripted);
  await other.open('#view=talk');
  await expect(other.items).toHaveCount(2);
  const remove = async (title: string): Promise<void> => {
    await talk.chooseFor(title, 'Delete');
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  };
  await remove('Two: 4');
  await expect(talk.list.locator('.list-deleted')).toHaveText('Deleted. Undo');
  await expect(talk.mine).toHaveCount(0);
  await expect(other.items).toHaveText(['One: 4']);
  // By the keyboard: it is the next stop.
  await expect(page.locator('.list-new')).toBeFocused();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await expect(talk.items).toHaveText(['Two: 4', 'One: 4']);
  await expect(other.items).toHaveText(['Two: 4', 'One: 4']);
  await expect(talk.mine.locator('.mine-text')).toHaveText('Two: 4');
  await expect(talk.answers).toContainText(ANSWERS.short);
  await expect(talk.list.locator('.list-deleted')).toHaveCount(0);
  // Only the last one comes back.
  await remove('One: 4');
  await expect(talk.items).toHaveText(['Two: 4']);
  await remove('Two: 4');
  await expect(talk.items).toHaveCount(0);
  await talk.list.getByRole('button', { name: 'Undo' }).click();
  await expect(talk.items).toHaveText(['Two: 4']);
  await page.reload();
  await expect(talk.items).toHaveText(['Two: 4']);
});

test('it can be taken back for ten seconds, and then not under the reader’s fingers', async ({
  talk,
  page,
}) => {
  await page.clock.install();
  await talk.open();
  const undo = talk.list.getByRole('button', { name: 'Undo' });
  for (const [text, held] of [
    ['One: 4', false],
    ['Two: 4', true],
  ] as const) {
    await talk.say(text);
    await talk.chooseFor(text, 'Delete');
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
    await expect(undo).toBeVisible();
    await page.clock.runFor(9000);
    await expect(undo).toBeVisible();
    if (held) {
      await undo.focus();
      await page.clock.runFor(10_000);
      await expect(undo).toBeFocused();
      await page.locator('.list-new').focus();
    }
    await page.clock.runFor(10_000);
    await expect(undo).toHaveCount(0);
    await expect(talk.items).toHaveCount(0);
  }
  await page.reload();
  await talk.ready();
  await expect(talk.items).toHaveCount(0);
});

test('one question is open at a time', async ({ talk, page }) => {
  await talk.open('#view=talk');
  for (const text of ['One: 4', 'Two: 4']) {
    await page.getByRole('button', { name: 'New conversation' }).first().click();
    await talk.say(text);
  }
  const question = page.getByRole('alertdialog');
  await talk.chooseFor('One: 4', 'Delete');
  await expect(question).toHaveAccessibleName('Delete “One: 4”?');
  await talk.chooseFor('Two: 4', 'Delete');
  await expect(question).toHaveCount(1);
  await expect(question).toHaveAccessibleName('Delete “Two: 4”?');
  await expect(question.getByRole('button', { name: 'Keep' })).toBeFocused();
  await talk.list.locator('.list-head .menu button').click();
  await page.getByRole('menuitem', { name: 'Delete all' }).click();
  await expect(question).toHaveAccessibleName(/^Delete all 2/);
});

test.describe('on a phone', () => {
  test.use({ viewport: { width: 360, height: 740 } });

  test('what was deleted can be taken back after the list has closed', async ({ talk, page }) => {
    await talk.open('#view=talk');
    await talk.say('One: 4');
    await page.getByRole('button', { name: 'Conversations' }).click();
    await talk.chooseFor('One: 4', 'Delete');
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
    const undo = page.getByRole('button', { name: 'Undo' });
    await expect(undo).toBeInViewport({ ratio: 1 });
    const at = await undo.boundingBox();
    await page.keyboard.press('Escape');
    await expect(talk.list).toHaveCount(0);
    await expect(undo).toBeInViewport({ ratio: 1 });
    expect(await undo.boundingBox()).toEqual(at);
    // It covers nothing of the field.
    const field = await page.locator('.talk-field').boundingBox();
    expect((at?.y ?? 0) + (at?.height ?? 0)).toBeLessThan(field?.y ?? 0);
    await undo.click();
    // It is shown again, which closes the list.
    await expect(talk.answers).toHaveCount(1);
    await page.getByRole('button', { name: 'Conversations' }).click();
    await expect(talk.items).toHaveText(['One: 4']);
  });
});

test('the settings lead to the list of shortcuts', async ({ talk, page }) => {
  await talk.open('#view=talk');
  await page.getByRole('button', { name: 'Settings' }).click();
  const door = page.getByRole('button', { name: /^Keyboard shortcuts/ });
  await door.click();
  const shortcuts = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await expect(shortcuts).toContainText('Send the message');
  await page.keyboard.press('Escape');
  await expect(shortcuts).toHaveCount(0);
  await expect(door).toBeFocused();
});
