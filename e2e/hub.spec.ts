// Downloads from a server that misbehaves once.
import fs from 'node:fs';
import type { BrowserContext } from '@playwright/test';
import { expect, test } from './fixtures';
import { Hub } from './hub/server.mjs';
import { type LibraryWindow, harness } from './library';
import { BUNDLED } from './models';

declare const window: LibraryWindow;

// An isolated page may ask no other site whether it is there.
test.use({ isolation: false });

test('a connection that is closed before the first answer is made again', async ({
  page,
  site,
  allowed,
}) => {
  allowed.push(/net::ERR_/);
  const hub = await Hub.start();
  try {
    const file = hub.add('stories.gguf', BUNDLED, {
      plan: ({ number }) => ({ close: number === 0 }),
    });
    await harness(page, site);
    const tokens = await page.evaluate(async (url) => {
      const engine = await window.library.Engine.load(url, { cache: 'none' });
      await engine.ready;
      const { top } = await engine.logits([3, 4, 5]);
      await engine.close();
      return top.length;
    }, file.url);
    expect(tokens).toBe(10);
    expect(file.counts.statuses[0]).toBe(1);
  } finally {
    await hub.close();
  }
});

/** What the page asks of the hub is answered by ours. */
async function playHub(context: BrowserContext, hub: Hub): Promise<void> {
  await context.route('https://huggingface.co/**', async (route) => {
    const { pathname, search } = new URL(route.request().url());
    const response = await route.fetch({ url: hub.url + pathname + search });
    await route.fulfill({ response });
  });
}

test('the models of a repository are listed by type and size; one press downloads one', async ({
  app,
  page,
  context,
}) => {
  const hub = await Hub.start();
  try {
    const file = hub.add('stories.gguf', BUNDLED);
    const huge = hub.add('huge.gguf', { size: 40e9, read: (_, n) => Buffer.alloc(n) });
    hub.api.repository('owner/stories', {
      'huge-F16.gguf': huge,
      'stories-Q8_0.gguf': file,
      'big/stories-Q4_0-00001-of-00002.gguf': file,
      'big/stories-Q4_0-00002-of-00002.gguf': file,
      'mmproj-F16.gguf': file,
      'README.md': file,
    });
    await playHub(context, hub);
    await app.open('#length=20');
    await app.openSheet();
    const field = app.sheet.getByLabel('Address');
    await field.fill('huggingface.co/owner/stories/');
    await expect(app.sheet.locator('.by-address button')).toHaveText('Show its files');
    await field.press('Enter');
    const found = app.sheet.getByRole('region', { name: 'What was found' });
    await expect(found.getByRole('heading')).toHaveText('Models of owner/stories');
    await expect(found.getByRole('heading')).toBeFocused();
    await expect(found.getByRole('heading')).toBeInViewport();
    await expect(found.getByRole('listitem').locator('.type')).toHaveText(['Q4_0', 'Q8_0', 'F16']);
    await expect(found.locator('.suits')).toHaveText('Recommended for this device');
    await expect(found.getByRole('listitem').nth(0)).toContainText('Recommended');
    await expect(found.getByRole('listitem').nth(1)).toContainText('2.58 MB, fits');
    await expect(found.getByRole('listitem').nth(0)).toContainText('5.16 MB, in 2 files, fits');
    await expect(found.getByRole('listitem').nth(2)).toContainText('40.0 GB, doesn’t fit whole');
    expect(file.counts.requests).toBe(0);
    await expect(app.loading).toHaveCount(0);
    await found.getByRole('button', { name: 'Download 2.58 MB: Q8_0' }).click();
    await app.ready();
    await app.hasFact('From', 'huggingface.co');
    await expect(page).toHaveURL(/[#&]model=https.*stories-Q8_0/);
  } finally {
    await hub.close();
  }
});

test('a model that needs an account says what to do', async ({ app, page, context, allowed }) => {
  // As in browsers that have only the dialog of forms.
  await page.addInitScript(() => void Reflect.deleteProperty(window, 'showOpenFilePicker'));
  allowed.push(/status of 401/);
  const hub = await Hub.start();
  try {
    hub.api.repository('owner/own', { 'm.gguf': hub.add('m.gguf', BUNDLED) }, { token: 'x' });
    await playHub(context, hub);
    await app.open();
    await app.loadAddress('owner/own');
    const found = app.sheet.getByRole('region', { name: 'What was found' });
    await expect(found.getByRole('heading')).toHaveText(
      'There is no such model at huggingface.co, or it needs an account there',
    );
    await expect(found.getByRole('heading')).toBeFocused();
    // A ring would say that a press does something.
    await expect(found.getByRole('heading')).toHaveCSS('outline-style', 'none');
    await expect(found).toContainText('Check the spelling: owner/own');
    await expect(found.getByRole('link', { name: 'Search huggingface.co' })).toHaveAttribute(
      'href',
      'https://huggingface.co/models?library=gguf&search=own',
    );
    await expect(found).toContainText('choose the file here');
    const link = found.getByRole('link', { name: 'Open its page' });
    await expect(link).toHaveAttribute('href', 'https://huggingface.co/owner/own');
    // A file of it: the page says the same.
    await app.loadAddress('owner/own:m.gguf');
    await expect(app.problem).toContainText('it needs an account there');
    await expect(app.problem.locator('.path')).toHaveText('m.gguf');
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      app.problem.getByRole('button', { name: 'Choose the file' }).click(),
    ]);
    await chooser.setFiles({ name: 'own.gguf', mimeType: '', buffer: fs.readFileSync(BUNDLED) });
    await app.ready();
    await app.hasFact('From', 'own.gguf, this device');
  } finally {
    await hub.close();
  }
});

test('a repository without a file that opens here leads to the one beside it', async ({
  app,
  page,
  context,
  hub,
}) => {
  const file = hub.add('stories.gguf', BUNDLED);
  hub.api.repository('owner/raw', { 'model.safetensors': file });
  hub.api.repository('owner/raw-GGUF', { 'stories-Q4_0.gguf': file });
  await playHub(context, hub);
  await app.open();
  await app.loadAddress('owner/raw');
  const found = app.sheet.getByRole('region', { name: 'What was found' });
  await expect(found.getByRole('heading')).toHaveText('There is no model that this page can open');
  await expect(found.getByRole('link')).toHaveAttribute('href', /library=gguf&search=raw$/);
  await found.getByRole('button', { name: 'Look at owner/raw-GGUF' }).click();
  await expect(found.getByRole('heading')).toHaveText('Models of owner/raw-GGUF');
  await expect(found.getByRole('heading')).toBeFocused();
  await expect(page.locator('#address')).toHaveValue('owner/raw-GGUF');
});

test('a text that is no address is refused in sight, with what would do', async ({ app, page }) => {
  await page.setViewportSize({ width: 360, height: 560 });
  await app.open();
  await app.openSheet();
  const field = app.sheet.getByLabel('Address');
  const refusal = app.sheet.locator('#address-wrong');
  for (const typed of ['gemma', 'ollama run llama3.2', 'llama3.2:1b']) {
    await field.fill(typed);
    await app.sheet.locator('.dialog-body').evaluate((body) => (body.scrollTop = 0));
    await field.press('Enter');
    await expect(refusal).toContainText('Type owner/model');
    await expect(refusal).toBeInViewport({ ratio: 1 });
    await expect(refusal).toHaveRole('alert');
    await expect(field).toHaveAttribute('aria-invalid', 'true');
    await expect(field).toHaveAccessibleDescription(/owner\/model/);
    const name = typed === 'gemma' ? 'gemma' : 'llama3.2';
    await expect(refusal.getByRole('link')).toHaveText(`Search huggingface.co for “${name}”`);
  }
});

test('without a network the card says what works, and leads there', async ({
  app,
  page,
  context,
  allowed,
}) => {
  allowed.push(/ERR_INTERNET_DISCONNECTED/);
  await app.open();
  await app.partsAreThere();
  await context.setOffline(true);
  await app.loadAddress('owner/stories:stories-Q8_0.gguf');
  await expect(app.problem.getByRole('heading')).toHaveText('You are offline');
  await expect(app.problem).toContainText('Without a network you can go on');
  for (const name of ['Try again', 'Choose a model file', 'Models on this device'])
    await expect(app.problem.getByRole('button', { name })).toBeVisible();
  await app.problem.getByRole('button', { name: 'Models on this device' }).click();
  await expect(app.sheet.locator('#kept-heading')).toBeFocused();
  await expect(app.sheet.locator('#kept-heading')).toBeInViewport();
  await app.closeSheet();
  await expect(page.locator('.notice.wrong')).toBeVisible();
});
