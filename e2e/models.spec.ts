// Other models: by file, by drag and drop, by address, by a link; servers that misbehave; loads that are cut off.
import type { Page } from '@playwright/test';
import { BUNDLED, OTHER, modelFiles, nativeBuilt, NO_NATIVE } from './models';
import { FAULTS } from './faults';
import { expect, test, type AppPage } from './fixtures';
import type { Fault } from './servers';

/** Enough for the header of the bundled model (its vocabulary takes 50 KB), but far less than the file. */
const HEADER_BYTES = 400_000;

const NO_MODEL = {
  name: 'photo.gguf',
  mimeType: '',
  buffer: Buffer.from('not a model at all '.repeat(100)),
};

async function writes(app: AppPage): Promise<void> {
  expect((await app.write()).length).toBeGreaterThan(0);
}

test('a model by file, and back', async ({ app, models }) => {
  test.skip(!nativeBuilt, NO_NATIVE);
  await app.open('#length=20');
  await app.chooseFile(modelFiles().get(OTHER) ?? '');
  await app.hasFact('Architecture', 'qwen2');
  await app.hasFact('From', `${OTHER}, this device`);
  await app.hasFact('Types', /Q4_0/);
  await expect(app.loading).toHaveCount(0);
  await writes(app);
  expect(models.url).not.toBe('');
  await app.goBack();
  await app.ready();
  await writes(app);
});

test('a model by dropping its file on the page', async ({ app, page }) => {
  await app.open('#length=20');
  const data = await page.evaluateHandle(async () => {
    const bytes = await (await fetch('models/stories-q8_0.gguf')).arrayBuffer();
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], 'dropped.gguf'));
    return transfer;
  });
  await page.dispatchEvent('body', 'dragover', { dataTransfer: data });
  await expect(page.getByText('Drop a model file to open it')).toBeVisible();
  await page.dispatchEvent('body', 'drop', { dataTransfer: data });
  await expect(page.getByText('Drop a model file to open it')).toHaveCount(0);
  await app.hasFact('From', 'dropped.gguf, this device');
  await app.ready();
  await writes(app);
});

test('a file can be opened when the network is gone; an address says what is wrong', async ({
  app,
  context,
  allowed,
}) => {
  test.skip(!nativeBuilt, NO_NATIVE);
  // The fonts for letters that the page had not shown before, and the model, can't be fetched.
  allowed.push(/ERR_INTERNET_DISCONNECTED/);
  await app.open('#length=20');
  await app.partsAreThere();
  await context.setOffline(true);
  await app.chooseFile(modelFiles().get(OTHER) ?? '');
  await app.hasFact('Architecture', 'qwen2');
  await writes(app);
  await app.loadAddress('https://models.invalid/a.gguf');
  await expect(app.problem).toHaveAttribute('data-code', 'offline');
  await expect(app.problem).not.toContainText('CORS');
});

test('a file that is no model is refused, and the old model stays', async ({ app }) => {
  await app.open('#length=20');
  await app.chooseFile(NO_MODEL);
  await expect(app.problem).toHaveAttribute('data-code', 'bad_file');
  await expect(app.problem).toContainText('choose another file');
  // There is no button to try again: the same file would be refused again.
  await expect(app.problem.getByRole('button')).toHaveText(['Choose another file', 'Close']);
  await app.ready();
  await writes(app);
});

test('on a phone, what failed comes into view', async ({ app, page, models, allowed }) => {
  allowed.push(/404 \(Not Found\)/);
  await page.setViewportSize({ width: 360, height: 740 });
  await app.open();
  const failures: [string, () => Promise<void>][] = [
    ['choose another file', () => app.chooseFile(NO_MODEL)],
    ['answered 404', () => app.loadAddress(models.bad('missing'))],
  ];
  for (const [message, provoke] of failures) {
    await provoke();
    await expect(page.getByRole('alert')).toContainText(message);
    await expect(app.problem).toBeInViewport({ ratio: 1 });
  }
  // The first letter of a host's name is not made a capital.
  await expect(app.problem).toContainText(`${new URL(models.url).host} answered 404`);
});

test('a text keeps its seed and says which model wrote it', async ({ app, page }) => {
  await app.open('#length=20');
  const text = await app.write();
  const state = app.ending;
  await expect(state).toHaveText(/20 tokens, seed [1-9]\d*Keep this seed$/);
  const ending = ((await state.textContent()) ?? '').replace('Keep this seed', '');
  const status = page.getByRole('status');
  await expect(status).toHaveText(/^Done/);
  await app.chooseFile(BUNDLED);
  await expect(status).toHaveText('Sluice Stories is ready');
  await expect(state).toHaveText(`${ending}, written by Sluice StoriesKeep this seed`);
  await page.getByRole('button', { name: 'Keep this seed' }).click();
  await expect(page.locator('.summary-text')).toContainText(ending.split(', ')[1] ?? '?');
  expect(await app.write()).toBe(text);
  await expect(state).toHaveText(ending);
});

test('a model by address from another origin, with progress', async ({ app, page, models }) => {
  await app.open('#length=20');
  const gate = models.gated('stories.gguf', HEADER_BYTES);
  await app.loadAddress(gate.url);
  const progress = page.getByRole('progressbar');
  await expect(progress).toHaveAttribute('max', '2578944');
  await expect(app.loading).toContainText('Loading Sluice Stories');
  await expect(app.loading).toContainText(
    /\d+ KB of 2\.58 MB.*[\d.]+ [KMG]?B\/s.*[\d.]+ (ms|s|min) left/,
  );
  gate.open();
  await app.ready();
  await app.hasFact('From', new URL(models.url).host);
  await expect(page).toHaveURL(/[#&]model=http/);
  await writes(app);
});

test('what can be no address is not tried', async ({ app, page }) => {
  await app.open();
  for (const text of ['', 'nonsense', 'javascript:alert(1)', 'ftp://models.example/m.gguf']) {
    await app.loadAddress(text);
    await expect(app.sheet.locator('.by-address').getByRole('alert')).not.toBeEmpty();
    await expect(page.getByLabel('Address')).toHaveAttribute('aria-invalid', 'true');
  }
  await app.ready();
});

test('a link to a model elsewhere shows host and size, and asks first', async ({
  app,
  page,
  models,
}) => {
  // The rest of the body never comes: the question to the reader must need only the header.
  const gate = models.gated('stories.gguf', HEADER_BYTES);
  const fragment = `#prompt=A+cat&model=${encodeURIComponent(gate.url)}&length=20`;
  const { connections } = models;
  await app.open(fragment);
  const { host } = new URL(models.url);
  await expect(app.offer).toContainText(host);
  await expect(app.offer).toContainText(gate.url);
  await expect(app.offer).toContainText('Nothing has been asked of that server yet');
  await writes(app);
  // Until the reader agrees there is no request, and not even a connection.
  expect(models.asked(gate.url)).toBe(0);
  expect(models.connections).toBe(connections);

  await app.offer.getByRole('button', { name: 'Show what it is' }).click();
  await expect(app.offer).toContainText('2.58 MB to download');
  expect(models.asked(gate.url)).toBe(1);
  await expect(app.prompt).toHaveValue('A cat');
  await app.hasFact('From', 'this page');
  await writes(app);

  await app.offer.getByRole('button', { name: /^No/ }).click();
  await expect(app.offer).toHaveCount(0);
  await expect(page).not.toHaveURL(/model=/);

  await page.evaluate((hash) => {
    location.hash = hash;
  }, fragment);
  await app.offer.getByRole('button', { name: 'Show what it is' }).click();
  await app.offer.getByRole('button', { name: 'Download 2.58 MB' }).click();
  await expect(app.loading).toContainText('KB of 2.58 MB');
  gate.open();
  await app.ready();
  await app.hasFact('From', new URL(models.url).host);
  await writes(app);
});

test('a question that is taken back ends the look at its model', async ({ app, page, models }) => {
  const gate = models.gated('stories.gguf', 1000);
  await app.open(`#model=${encodeURIComponent(gate.url)}`);
  await app.offer.getByRole('button', { name: 'Show what it is' }).click();
  await expect.poll(() => models.underway(gate.url)).toBe(1);
  await app.offer.getByRole('button', { name: /^No/ }).click();
  await expect(app.offer).toHaveCount(0);
  await expect.poll(() => models.underway(gate.url)).toBe(0);
  await expect(page).not.toHaveURL(/model=/);
});

test('a link to a model that can’t be had says so', async ({ app, models, allowed }) => {
  allowed.push(/404 \(Not Found\)/);
  await app.open(`#length=20&model=${encodeURIComponent(models.bad('missing'))}`);
  await app.offer.getByRole('button', { name: 'Show what it is' }).click();
  await expect(app.offer).toContainText('couldn’t be fetched');
  await expect(app.offer).toContainText('404');
  await writes(app);
});

/** Chromium's own messages about each in the console. */
const SAID: [Fault, RegExp[]][] = [
  ['missing', [/404 \(Not Found\)/]],
  ['no-cors', [/CORS policy/, /net::ERR_FAILED/]],
  ['html', []],
  ['garbage', []],
  ['broken', []],
];

for (const [fault, said] of SAID) {
  test(`server fault: ${fault}`, async ({ app, models, allowed }) => {
    allowed.push(...said);
    const { code, message } = FAULTS[fault];
    await app.open('#length=20');
    await app.loadAddress(models.bad(fault));
    await expect(app.problem).toHaveAttribute('data-code', code);
    await expect(app.problem).toContainText(message);
    await expect(app.problem.getByRole('button', { name: 'Try again' })).toBeVisible();
    await expect(app.loading).toHaveCount(0);
    await app.loadAddress(models.good('stories.gguf'));
    await app.hasFact('From', new URL(models.url).host);
    await app.ready();
    await expect(app.problem).toHaveCount(0);
    await writes(app);
  });
}

/** Sets `navigator.deviceMemory`. With 0.001 there is not enough memory for any two models at once. */
async function memory(page: Page, gib: number): Promise<void> {
  await page.addInitScript((value) => {
    Object.defineProperty(navigator, 'deviceMemory', { get: () => value });
  }, gib);
}

for (const [kept, gib] of [
  ['kept', 8],
  ['loaded again', 0.001],
] as const) {
  test(`a load that is cancelled, or fails late, leaves the model before: ${kept}`, async ({
    app,
    page,
    models,
    allowed,
  }) => {
    allowed.push(/net::ERR_(CONTENT_LENGTH_MISMATCH|CONNECTION_RESET|INCOMPLETE_CHUNKED_ENCODING)/);
    await memory(page, gib);
    await app.open('#length=20&seed=7');
    const text = await app.write();
    const engines = (): number =>
      page.workers().filter((worker) => worker.url().includes('engine-worker')).length;

    await app.loadAddress(models.bad('stalled'));
    await expect(app.loading).toContainText(/[KM]B of 2\.58 MB/);
    await expect.poll(engines).toBe(kept === 'kept' ? 2 : 1);
    await page.getByRole('button', { name: 'Cancel' }).dblclick();
    await app.ready();
    await app.hasFact('From', 'this page');
    await expect(app.problem).toHaveCount(0);
    expect(await app.write()).toBe(text);

    const gate = models.gated('stories.gguf', HEADER_BYTES);
    await app.loadAddress(gate.url);
    await expect(app.loading).toContainText('KB of 2.58 MB');
    gate.cut();
    await expect(app.problem).toHaveAttribute('data-code', 'download_failed');
    await app.ready();
    await app.hasFact('From', 'this page');
    expect(await app.write()).toBe(text);
    await expect.poll(engines).toBe(1);
  });
}

test('where the model before can’t be had again either, the page says so and can’t write', async ({
  app,
  page,
  models,
  allowed,
}) => {
  allowed.push(/net::ERR_/);
  await memory(page, 0.001);
  await app.open('#length=20');
  const gate = models.gated('stories.gguf', HEADER_BYTES);
  await app.loadAddress(gate.url);
  await expect(app.loading).toContainText('KB of 2.58 MB');
  await page.route('**/stories-q8_0.gguf', (route) => route.abort());
  gate.cut();
  await expect(app.problem).toContainText('Sluice Stories could not be loaded either');
  await expect(app.loading).toHaveCount(0);
  await expect(app.modelName).toHaveText('Choose a model');
  await expect(app.button).toBeDisabled();
  await page.unroute('**/stories-q8_0.gguf');
  await app.goBack();
  await app.ready();
  await expect(app.problem).toHaveCount(0);
  await writes(app);
});

test('models that are opened while others load, are cancelled or written with leave the last one', async ({
  app,
  page,
  models,
}) => {
  // The model before can't stay: a text waits for the one that is coming.
  await memory(page, 0.001);
  await app.open('#length=20');
  const cancel = page.getByRole('button', { name: 'Cancel' });
  await app.loadAddress(models.bad('stalled'));
  await app.loadAddress(models.gated('stories.gguf', HEADER_BYTES).url);
  await comingIsShown(app);
  await app.button.click();
  await expect(app.button).toHaveText('Stop');
  await app.loadAddress(models.bad('stalled'));
  await app.button.click();
  await expect(app.button).toHaveText('Write');
  await cancel.click();
  await app.ready();
  await expect(app.button).toBeFocused();
  await app.hasFact('From', 'this page');
  await writes(app);
  await app.loadAddress(models.bad('stalled'));
  await app.chooseFile(BUNDLED);
  await app.hasFact('From', 'stories-q8_0.gguf, this device');
  await app.ready();
  await writes(app);
  await noProblem(page);
});

test('the first load that is cancelled leaves no model, and nothing to press in vain', async ({
  app,
  page,
  models,
}) => {
  const gate = models.gated('stories.gguf', HEADER_BYTES);
  await page.route('**/stories-q8_0.gguf', (route) =>
    route.fulfill({ status: 302, headers: { location: gate.url } }),
  );
  await page.goto(`${app.site.url}#view=write`);
  await expect(app.loading).toContainText('Loading Sluice Stories');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await expect(app.state).toHaveText('No model is loaded. Choose one first.');
  await expect(app.button).toBeDisabled();
  await app.prompt.press('Control+Enter');
  await expect(app.button).toHaveText('Write');
  await app.chooseFile(BUNDLED);
  await app.ready();
  await writes(app);
});

test('another model may be chosen while one loads or writes', async ({ app, models }) => {
  await app.open('#length=4096');
  await app.button.click();
  await app.loadAddress(models.bad('stalled'));
  await expect(app.loading).toContainText(/[KM]B of 2\.58 MB/);
  await app.chooseFile(BUNDLED);
  await app.hasFact('From', 'stories-q8_0.gguf, this device');
  await app.ready();
  await writes(app);
});

/** The model before is gone, and the one that is coming is in its place. */
async function comingIsShown(app: AppPage): Promise<void> {
  await expect(app.loading).toContainText('KB of 2.58 MB');
  await expect(app.page.locator('.chip-next')).toHaveCount(0);
}

test('write waits for a model that is on its way, where the one before can’t stay', async ({
  app,
  page,
  models,
}) => {
  await memory(page, 0.001);
  await app.open('#length=20');
  const gate = models.gated('stories.gguf', HEADER_BYTES);
  await app.loadAddress(gate.url);
  await comingIsShown(app);
  await app.button.click();
  await expect(app.button).toHaveText('Stop');
  gate.open();
  expect((await app.written()).length).toBeGreaterThan(0);
  await noProblem(page);
});

test('the model before is used until the new one is ready, and ends the text that it writes', async ({
  app,
  page,
  models,
}) => {
  await memory(page, 8);
  await app.holdTextAfter(5);
  // Longer than what a quick machine writes in one message.
  await app.open('#length=200');
  const gate = models.gated('stories.gguf', HEADER_BYTES);
  await app.loadAddress(gate.url);
  await expect(app.loading).toContainText('KB of 2.58 MB');
  await expect(app.chip).toHaveAccessibleName(
    /^Model: Sluice Stories ?; ?Sluice Stories is on its way$/,
  );
  await app.openSheet();
  await expect(app.sheet).toContainText('Until then you can go on with Sluice Stories.');
  await app.hasFact('From', 'this page');

  await app.button.click();
  await app.textIsHeld();
  gate.open();
  await expect(app.loading).toContainText('takes over when this text is written');
  await expect(app.button).toHaveText('Stop');
  await app.hasFact('From', 'this page');
  await app.releaseText();
  expect((await app.written()).length).toBeGreaterThan(0);
  await app.ready();
  await app.hasFact('From', new URL(models.url).host);
  await expect(app.ending).toContainText(/tokens, seed \d+, written by Sluice Stories/);
  await writes(app);
  await noProblem(page);
});

async function noProblem(page: Page): Promise<void> {
  await expect(page.locator('.notice.wrong')).toHaveCount(0);
}
