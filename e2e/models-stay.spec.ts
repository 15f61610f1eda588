// The model that the reader chose is there again at the next visit, and no other one takes its place silently.
import fs from 'node:fs';
import path from 'node:path';
import type { BrowserContext, Page } from '@playwright/test';
import { NAME } from '../web/app/src/history/database';
import { ANSWERS, Talk, downloaded, expect, test as base } from './talk';
import type { Served } from './hub/served.mjs';
import { scriptedModel } from './scripted-model';

const HELPER = scriptedModel({ name: 'Helper 1B', scripts: ['The helper answers.'] });
const CHANGED = scriptedModel({ name: 'Helper 1B', scripts: ['The helper has learned.'] });
const OTHER = scriptedModel({ name: 'Other 1B', scripts: ['The other one answers.'] });

const test = base.extend<{ helper: Served }>({
  helper: async ({ hub }, use) => {
    await use(hub.add('helper.gguf', HELPER));
  },
});

/** Loads the model from its address, and waits for it. */
async function loadHelper(talk: Talk, address: string): Promise<void> {
  await talk.loadAddress(address);
  await usesHelper(talk);
}

async function usesHelper(talk: Talk): Promise<void> {
  await expect(talk.modelName).toHaveText('Helper 1B');
  await expect(talk.loading).toHaveCount(0);
}

/** Another visit: a tab of its own, whose address says nothing of a model. */
async function visit(context: BrowserContext, before: Talk): Promise<Talk> {
  const next = new Talk(await context.newPage(), before.site);
  await next.page.goto(`${before.site.url}#view=talk`);
  return next;
}

/** Removes all that models have left in the browser's own file system. */
async function removeModels(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const root = await navigator.storage.getDirectory();
    for await (const name of root.keys()) await root.removeEntry(name, { recursive: true });
  });
}

test('the model comes back at the next visit, without its server; a removed one is offered', async ({
  talk,
  page,
  context,
  hub,
  helper,
}) => {
  await talk.open();
  await loadHelper(talk, helper.url);
  const { requests } = helper.counts;
  const second = await visit(context, talk);
  await usesHelper(second);
  expect(helper.counts.requests).toBe(requests);
  await expect(await second.say('Hello')).toContainText('The helper answers.');
  await page.close();
  await second.page.goto('about:blank');
  await removeModels(await onSite(context, talk));

  const third = await visit(context, talk);
  const notice = third.page.locator('.notice');
  await expect(notice).toContainText('Helper 1B is not on this device any more.');
  await expect(third.status).toHaveText('Helper 1B is not on this device any more.');
  await expect(third.chip).toHaveText(/Choose a model/);
  await expect(third.field).toBeVisible();
  await notice.getByRole('button', { name: `Get it again from ${new URL(hub.url).host}` }).click();
  await usesHelper(third);
  await expect(notice).toHaveCount(0);

  // What is chosen last counts, also the page's own model.
  await third.goBack();
  await third.ready();
  const fourth = await visit(context, talk);
  await fourth.ready();
  await expect(fourth.modelName).toHaveText('Scripted');
  // A tab knows its own, whatever was chosen in another one since.
  await loadHelper(fourth, helper.url);
  await third.page.reload();
  await third.ready();
  await expect(third.modelName).toHaveText('Scripted');
  await usesHelper(await visit(context, talk));
});

/** An empty page of the site, with its storage. */
async function onSite(context: BrowserContext, { site }: Talk): Promise<Page> {
  const page = await context.newPage();
  await page.goto(`${site.url}favicon.svg`).catch(() => undefined);
  return page;
}

test('a conversation knows its model, and asks when another one is in use', async ({
  talk,
  page,
  helper,
}) => {
  await talk.open();
  await loadHelper(talk, helper.url);
  await talk.say('Hello');
  const line = page.locator('.written-with');
  await expect(line).toHaveCount(0);
  const json = await downloaded(page, () => talk.chooseFor('Hello', 'Save as JSON'));
  expect(JSON.parse(json.text)).toMatchObject({
    conversations: [{ model: 'Helper 1B', from: helper.url }],
  });

  await talk.goBack();
  await talk.ready();
  await expect(line).toContainText('Written with Helper 1B.');
  await expect(line).toHaveAttribute('role', 'status');
  await line.getByRole('button', { name: 'Load it' }).press('Enter');
  await usesHelper(talk);
  await expect(line).toHaveCount(0);
  await talk.goBack();
  await talk.ready();
  await line.getByRole('button', { name: 'Go on with Scripted' }).click();
  await expect(line).toHaveCount(0);
  await expect(talk.field).toBeFocused();
  await loadHelper(talk, helper.url);
  await expect(line).toContainText('Written with Scripted.');
  await page.reload();
  await usesHelper(talk);
  await expect(line).toContainText('Written with Scripted.');
});

test('a question waits for the model that was chosen, and is offered again without it', async ({
  talk,
  hub,
}) => {
  let stalls = true;
  const stall = fs.statSync(HELPER).size - 1000;
  const slow = hub.add('helper.gguf', HELPER, { plan: () => (stalls ? { stall } : {}) });
  await talk.open();
  await talk.loadAddress(slow.url);
  await expect(talk.loading).toContainText('Helper 1B');
  await talk.begin('Hello');
  await expect(talk.facts).toHaveText('Waiting for Helper 1B');
  await expect(talk.modelName).toHaveText('Scripted');
  // Stopped: the question stays.
  await talk.send.click();
  await expect(talk.answers).toHaveCount(0);
  const again = talk.page.getByRole('button', { name: /^Answer with / });
  await again.click();
  await expect(talk.facts).toHaveText('Waiting for Helper 1B');
  // The load is given up: no other model answers.
  await talk.page.getByRole('button', { name: 'Cancel' }).click();
  await expect(talk.loading).toHaveCount(0);
  await expect(talk.answers).toHaveCount(0);
  await expect(talk.mine).toContainText(['Hello']);
  await expect(again).toBeEnabled();
  await talk.loadAddress(slow.url);
  await expect(talk.loading).toContainText('Helper 1B');
  await again.click();
  await expect(talk.facts).toHaveText('Waiting for Helper 1B');
  stalls = false;
  hub.drop_connections();
  await expect(await talk.answered()).toContainText('The helper answers.');
});

/** The browser's dialog for files gives one of its own file system, and permission is as the test says. */
async function playPicker(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const state = (): PermissionState =>
      (localStorage.getItem('permission') as PermissionState | null) ?? 'granted';
    Object.assign(FileSystemFileHandle.prototype, {
      queryPermission: async () => (state() === 'granted' ? 'granted' : 'prompt'),
      requestPermission: async () => (state() === 'denied' ? 'denied' : 'granted'),
    });
    Object.assign(window, {
      showOpenFilePicker: async () => {
        const root = await navigator.storage.getDirectory();
        const folder = localStorage.getItem('folder');
        const place = folder === null ? root : await root.getDirectoryHandle(folder);
        return [await place.getFileHandle('mine.gguf')];
      },
    });
  });
}

/** Writes mine.gguf, in this folder of the browser's own file system. */
async function writeMine(page: Page, file: string, folder = ''): Promise<void> {
  await page.evaluate(
    async ([text, folder]) => {
      const root = await navigator.storage.getDirectory();
      const place = folder === '' ? root : await root.getDirectoryHandle(folder, { create: true });
      const file = await (
        await place.getFileHandle('mine.gguf', { create: true })
      ).createWritable();
      await file.write(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)));
      await file.close();
    },
    [fs.readFileSync(file).toString('base64'), folder] as const,
  );
}

/** Chooses mine.gguf in the browser's dialog. */
async function chooseMine(talk: Talk, folder?: string): Promise<void> {
  if (folder !== undefined)
    await talk.page.evaluate((folder) => localStorage.setItem('folder', folder), folder);
  await talk.openSheet();
  await talk.sheet.getByLabel('Choose a model file').click();
}

/** Waits until the browser has kept what it gave for the file that was used last. */
async function handleKept(page: Page): Promise<void> {
  const kept = (): Promise<boolean> =>
    page.evaluate(async () => {
      const db = await new Promise<IDBDatabase>((resolve) => {
        const request = indexedDB.open('sluice-files', 1);
        request.onupgradeneeded = () => request.result.createObjectStore('handles');
        request.onsuccess = () => resolve(request.result);
      });
      const keys = await new Promise<IDBValidKey[]>((resolve) => {
        const request = db.transaction('handles').objectStore('handles').getAllKeys();
        request.onsuccess = () => resolve(request.result);
      });
      db.close();
      const last = JSON.parse(localStorage.getItem('sluice-model') ?? '{}') as { ref?: string };
      return keys.some((key) => key === last.ref);
    });
  await expect.poll(kept).toBe(true);
}

/** Opens the page and chooses mine.gguf, which is the helper. */
async function useMine(talk: Talk): Promise<void> {
  const { page } = talk;
  await playPicker(page);
  await talk.open();
  await writeMine(page, HELPER);
  await chooseMine(talk);
  await usesHelper(talk);
  await handleKept(page);
}

test('a file is opened again with one press; without permission, or moved, the page says so', async ({
  talk,
  page,
}) => {
  await useMine(talk);
  // The browser still lets the page read it.
  await page.reload();
  await usesHelper(talk);

  const set = (state: string): Promise<void> =>
    page.evaluate((state) => localStorage.setItem('permission', state), state);
  await set('prompt');
  await page.reload();
  const notice = page.locator('.notice');
  await expect(notice).toContainText('You last used Helper 1B, a file on this device.');
  await expect(talk.chip).toHaveText(/Choose a model/);
  await notice.getByRole('button', { name: 'Open Helper 1B again' }).press('Enter');
  await usesHelper(talk);
  await expect(notice).toHaveCount(0);

  await set('denied');
  await page.reload();
  await notice.getByRole('button', { name: 'Open Helper 1B again' }).click();
  await expect(notice).toContainText('The browser does not let this page read Helper 1B.');
  await notice.getByRole('button', { name: 'Choose a model file' }).click();
  await usesHelper(talk);

  await set('prompt');
  await page.reload();
  await page.evaluate(async () => {
    await (await navigator.storage.getDirectory()).removeEntry('mine.gguf');
  });
  await notice.getByRole('button', { name: 'Open Helper 1B again' }).click();
  await expect(notice).toContainText('Helper 1B was moved or deleted.');
  await notice.getByRole('button', { name: 'Use the model of this page' }).click();
  await talk.ready();
  await expect(talk.modelName).toHaveText('Scripted');
});

test('a file that has changed is told, and a conversation knows which one it was written with', async ({
  talk,
  page,
}) => {
  await useMine(talk);
  await talk.say('Hello');
  await writeMine(page, CHANGED);
  await page.reload();
  const notice = page.locator('.notice');
  const told = 'mine.gguf has changed since you last used it as Helper 1B.';
  await expect(notice).toContainText(told);
  await expect(talk.status).toHaveText(told);
  await expect(talk.chip).toHaveText(/Choose a model/);
  await notice.getByRole('button', { name: 'Use mine.gguf as it is now' }).press('Enter');
  await usesHelper(talk);
  await handleKept(page);
  await expect(notice).toHaveCount(0);
  const line = page.locator('.written-with');
  await expect(line).toContainText('Written with an earlier or another file named mine.gguf.');
  // The one of before is nowhere to be found: the browser's dialog opens, and gives the new one again.
  await line.getByRole('button', { name: 'Choose mine.gguf again' }).click();
  await expect(notice).toContainText('mine.gguf is not the file that you used as Helper 1B');
  await notice.getByRole('button', { name: 'No, keep the model I have' }).click();
  await expect(notice).toHaveCount(0);
  await line.getByRole('button', { name: 'Go on with Helper 1B' }).click();
  await expect(line).toHaveCount(0);
  await expect(await talk.say('Again')).toContainText('The helper has learned.');
  await page.reload();
  await usesHelper(talk);
  await expect(line).toHaveCount(0);
});

test('two files of the same name stay two', async ({ talk, page }) => {
  await playPicker(page);
  await talk.open();
  await writeMine(page, HELPER, 'a');
  await writeMine(page, OTHER, 'b');
  await chooseMine(talk, 'a');
  await usesHelper(talk);
  await handleKept(page);
  await talk.say('Hello');
  await chooseMine(talk, 'b');
  await expect(talk.modelName).toHaveText('Other 1B');
  const line = page.locator('.written-with');
  await expect(line).toContainText('Written with Helper 1B.');
  await line.getByRole('button', { name: 'Load it' }).click();
  await usesHelper(talk);
  await expect(line).toHaveCount(0);
});

test('where the browser can’t find the file, the reader chooses it, and a wrong one is told', async ({
  talk,
  page,
}) => {
  await page.addInitScript(() => Reflect.deleteProperty(window, 'showOpenFilePicker'));
  await talk.open();
  await talk.chooseFile(HELPER);
  await usesHelper(talk);
  await page.reload();
  const [right, wrong] = [HELPER, OTHER].map((file) => path.basename(file));
  const notice = page.locator('.notice');
  await expect(notice).toContainText(
    `You last used Helper 1B, the file ${right} on this device. This browser can’t find it again by itself.`,
  );
  const choose = async (name: string, file: string): Promise<void> => {
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      notice.getByRole('button', { name }).click(),
    ]);
    await chooser.setFiles(file);
  };
  await choose(`Choose ${right} again`, OTHER);
  await expect(notice).toContainText(`${wrong} is not the file that you used as Helper 1B`);
  await expect(notice.getByRole('button', { name: `Use ${wrong} as it is now` })).toBeVisible();
  await choose('Choose a model file', HELPER);
  await usesHelper(talk);
  await expect(notice).toHaveCount(0);
});

test('where the browser can’t find the file, a copy is kept by choice', async ({ talk, page }) => {
  await page.addInitScript(() => Reflect.deleteProperty(window, 'showOpenFilePicker'));
  await talk.open();
  await talk.chooseFile(HELPER);
  await usesHelper(talk);
  await talk.say('Hello');
  const name = path.basename(HELPER);
  const sheet = await talk.openSheet();
  const keep = sheet.getByRole('button', { name: /^Keep a copy in this browser \(\d+ KB\)$/ });
  // Once there is no room.
  await page.evaluate(() => {
    const { prototype } = FileSystemFileHandle;
    const { createWritable } = prototype;
    prototype.createWritable = async () => {
      prototype.createWritable = createWritable;
      throw new DOMException('', 'QuotaExceededError');
    };
  });
  await keep.click();
  await expect(sheet.getByRole('alert').filter({ hasText: 'no more room' })).toBeVisible();
  await keep.press('Enter');
  await expect(sheet).toContainText('A copy of it is kept in this browser.');
  await expect(sheet.locator('#model-name')).toBeFocused();
  await expect(sheet.locator('.kept li')).toContainText([name]);

  await page.reload();
  await usesHelper(talk);
  await expect(page.locator('.notice')).toHaveCount(0);
  await expect(page.locator('.written-with')).toHaveCount(0);
  const remove = async (): Promise<void> => {
    await talk.openSheet();
    await sheet.getByRole('button', { name: `Remove ${name}` }).click();
    await sheet.getByRole('group').getByRole('button', { name: 'Remove' }).click();
  };
  await remove();
  await expect(sheet.locator('.kept').getByRole('alert')).toContainText('It is in use here');
  await talk.goBack();
  await talk.ready();
  const line = page.locator('.written-with');
  await line.getByRole('button', { name: 'Load it' }).click();
  await usesHelper(talk);
  await talk.goBack();
  await talk.ready();
  await remove();
  await expect(sheet.getByRole('heading', { name: 'On this device' })).toBeFocused();
  await expect(sheet.locator('.kept li')).toHaveCount(0);
  await talk.closeSheet();
  await page.reload();
  await expect(line.getByRole('button', { name: `Choose ${name} again` })).toBeVisible();
});

/** The helper is in use in one tab, and was in the second one, which has gone back to the page's own model. */
async function leftForTheOwn(talk: Talk, context: BrowserContext, helper: string): Promise<Talk> {
  await talk.open();
  await loadHelper(talk, helper);
  const second = await visit(context, talk);
  await usesHelper(second);
  await second.goBack();
  await second.ready();
  return second;
}

test('what is chosen again in one tab is the last choice, whatever another one chose', async ({
  talk,
  page,
  context,
  helper,
}) => {
  const second = await leftForTheOwn(talk, context, helper.url);
  const last = (): Promise<string | null> =>
    page.evaluate(() => localStorage.getItem('sluice-model'));
  await expect.poll(last).toContain('page:');
  await talk.loadAddress(helper.url);
  await expect.poll(last).toContain(helper.url);
  // A tab that only comes back to its own changes nothing.
  await second.page.reload();
  await second.ready();
  expect(await last()).toContain(helper.url);
});

test('a model that one tab has removed is offered in the other, which had it last', async ({
  talk,
  page,
  context,
  helper,
}) => {
  const second = await leftForTheOwn(talk, context, helper.url);
  const sheet = await second.openSheet();
  await sheet.getByRole('button', { name: 'Remove helper.gguf' }).click();
  await sheet.getByRole('group').getByRole('button', { name: 'Remove' }).click();
  await expect(sheet.getByRole('heading', { name: 'On this device' })).toBeFocused();
  // It is whole in the other tab's memory.
  await expect(await talk.say('Hello')).toContainText('The helper answers.');
  await page.reload();
  await expect(page.locator('.notice')).toContainText('Helper 1B is not on this device any more.');
  await expect(talk.chip).toHaveText(/Choose a model/);
  await page.getByRole('button', { name: 'Use the model of this page' }).click();
  await talk.ready();
});

test('a conversation that names no model goes on with the one in use', async ({ talk, page }) => {
  await talk.open();
  await talk.say('Hello');
  // As versions of the page before this one wrote it.
  await page.goto('about:blank');
  const other = await onSite(page.context(), talk);
  await other.evaluate(async (name) => {
    const db = await new Promise<IDBDatabase>((resolve) => {
      const request = indexedDB.open(name);
      request.onsuccess = () => resolve(request.result);
    });
    const store = db.transaction('conversations', 'readwrite').objectStore('conversations');
    await new Promise<void>((resolve) => {
      store.openCursor().onsuccess = (event) => {
        const cursor = (event.target as IDBRequest<IDBCursorWithValue | null>).result;
        if (cursor === null) return resolve();
        const { model: _, from: __, ...head } = cursor.value as Record<string, unknown>;
        cursor.update(head);
        cursor.continue();
      };
    });
    db.close();
  }, NAME);
  await page.goBack();
  await talk.ready();
  await expect(talk.mine).toHaveCount(1);
  await expect(page.locator('.written-with')).toHaveCount(0);
  await expect(await talk.say('More: 4')).toContainText(ANSWERS.short);
  const json = await downloaded(page, () => talk.chooseFor('Hello', 'Save as JSON'));
  expect(JSON.parse(json.text)).toMatchObject({
    conversations: [{ model: 'Scripted', from: 'page:' }],
  });
});
