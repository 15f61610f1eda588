// The model that the reader chose is there again at the next visit, and no other one takes its place silently.
import fs from 'node:fs';
import type { BrowserContext, Page } from '@playwright/test';
import { Talk, downloaded, expect, test as base } from './talk';
import type { Served } from './hub/served.mjs';
import { scriptedModel } from './scripted-model';

const HELPER = scriptedModel({ name: 'Helper 1B', scripts: ['The helper answers.'] });

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
  await expect(talk.loading).toContainText('helper');
  await talk.begin('Hello');
  await expect(talk.facts).toHaveText('Waiting for Helper 1B');
  await expect(talk.modelName).toHaveText('Scripted');
  // Stopped: the question stays.
  await talk.send.click();
  await expect(talk.answers).toHaveCount(0);
  const again = talk.page.getByRole('button', { name: 'Answer', exact: true });
  await again.click();
  await expect(talk.facts).toHaveText('Waiting for Helper 1B');
  // The load is given up: no other model answers.
  await talk.page.getByRole('button', { name: 'Cancel' }).click();
  await expect(talk.loading).toHaveCount(0);
  await expect(talk.answers).toHaveCount(0);
  await expect(talk.mine).toContainText(['Hello']);
  await expect(again).toBeEnabled();
  await talk.loadAddress(slow.url);
  await expect(talk.loading).toContainText('helper');
  await again.click();
  await expect(talk.facts).toHaveText('Waiting for Helper 1B');
  stalls = false;
  hub.drop_connections();
  await expect(await talk.answered()).toContainText('The helper answers.');
});

/** The browser's dialog for files gives a file of its own file system, and permission is as the test says. */
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
        return [await root.getFileHandle('mine.gguf')];
      },
    });
  });
}

test('a file is opened again with one press; without permission, or moved, the page says so', async ({
  talk,
  page,
}) => {
  await playPicker(page);
  await talk.open();
  await page.evaluate(async (text) => {
    const root = await navigator.storage.getDirectory();
    const file = await (await root.getFileHandle('mine.gguf', { create: true })).createWritable();
    await file.write(Uint8Array.from(atob(text), (one) => one.charCodeAt(0)));
    await file.close();
  }, fs.readFileSync(HELPER).toString('base64'));
  await talk.openSheet();
  await talk.sheet.getByLabel('Choose a model file').click();
  await usesHelper(talk);
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
