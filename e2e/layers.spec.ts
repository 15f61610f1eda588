// The picture of the layers: what it shows of a load, of a text, and of a model that is larger than its memory.
import type { Page } from '@playwright/test';
import { expect, test, type AppPage } from './fixtures';
import { OTHER, makeBigModel, nativeBuilt, NO_NATIVE } from './models';

/** What the cells show, in their order. */
function looks(page: Page): Promise<string[]> {
  return page
    .locator('.cells .cell')
    .evaluateAll((cells) => cells.map((cell) => (cell as HTMLElement).dataset['look'] ?? ''));
}

/** One of the figures beside the picture. */
function figure(app: AppPage, label: string) {
  const named = app.page.locator('dt', { hasText: label });
  return app.page.locator('.layers-facts div').filter({ has: named }).locator('dd');
}

/** Sets the limit in the settings and loads the model again. */
async function limit(app: AppPage, megabytes: number): Promise<void> {
  await app.closeSheet();
  await app.openSettings();
  await app.page.getByLabel('Memory').fill(String(megabytes));
  await app.page.getByRole('button', { name: 'Load the model again' }).click();
  await app.closeDialog();
}

const WHOLE = [
  'embedding resident',
  ...Array.from({ length: 5 }, () => 'layer resident'),
  'head resident',
];

test('the page’s own model is in memory, layer by layer', async ({ app, page }) => {
  await app.open('#length=20');
  await app.openLayers();
  await expect.poll(() => looks(page)).toEqual(WHOLE);
  await expect(page.locator('.layers-parts')).toHaveText('embedding, 5 layers, head');
  await expect(figure(app, 'Layers ready')).toHaveText('5 of 5');
  await expect(figure(app, 'Read again')).toHaveText('–');
  await expect(page.locator('.layers [aria-live]')).toHaveText(
    'The whole model is in memory: 5 layers.',
  );
  await page.locator('.cells .cell').nth(2).hover();
  await expect(page.locator('.cells .cell').nth(2)).toHaveAttribute(
    'title',
    /^Layer 2: in memory, [\d.]+ KB$/,
  );
  await app.closeSheet();
  await app.write();
  await app.openLayers();
  await expect.poll(() => looks(page)).toEqual(WHOLE);
});

test('while it is folded nothing is drawn, and what came meanwhile when it is seen', async ({
  app,
  page,
  models,
}) => {
  await app.open();
  await app.openLayers();
  await expect.poll(() => looks(page)).toEqual(WHOLE);
  await app.sheet.locator('summary').filter({ hasText: 'Layers' }).click();
  const gate = models.gated(OTHER, 20_000);
  await app.loadAddress(gate.url);
  gate.open();
  await app.ready(/./);
  await app.openSheet();
  await app.openLayers();
  await expect.poll(async () => (await looks(page)).length).not.toBe(WHOLE.length);
});

test.describe('a model of 30 layers', () => {
  test.skip(!nativeBuilt, NO_NATIVE);

  test('comes in the order of its cells', async ({ app, page, models }) => {
    const { file, path } = makeBigModel();
    models.models.set(file, path);
    await app.open();
    const gate = models.gated(file, 50e6);
    await app.loadAddress(gate.url);
    await app.openLayers();
    await expect(figure(app, 'Layers ready')).toHaveText(/^[1-9]\d? of 30$/);
    await expect
      .poll(async () => new Set((await looks(page)).map((look) => look.split(' ')[1])))
      .toContain('absent');
    await expect.poll(async () => (await looks(page)).includes('layer resident')).toBe(true);
    await expect(figure(app, 'Network')).toHaveText('–'); // nothing comes any more
    await expect(page.locator('.layers [aria-live]')).toContainText('30 layers');
    gate.open();
    await expect(figure(app, 'Layers ready')).toHaveText('30 of 30');
    await expect
      .poll(async () => (await looks(page)).every((look) => look.endsWith('resident')))
      .toBe(true);
    await expect(page.locator('.layers [aria-live]')).toHaveText(
      'The whole model is in memory: 30 layers.',
    );
  });

  test('can be used under a limit before it is here; until then its progress and Pause stay', async ({
    app,
    page,
    hub,
  }) => {
    const { file, path } = makeBigModel();
    // The end of the file doesn't come: layers that take turns. (How much was sent would depend on what a busy reader drops.)
    const model = hub.add(file, path, {
      plan: ({ range }) => (Number(/\d+/.exec(range ?? '')?.[0] ?? 0) > 60e6 ? { stall: 0 } : {}),
    });
    await app.open('#memory=125&length=8&seed=5');
    await app.loadAddress(model.url);
    await expect(app.loading).toContainText('Ready; downloading the rest of');
    await expect(app.modelName).not.toHaveText('Sluice Stories');
    await expect(app.loading).toContainText(/[\d.]+ MB of 7[\d.]+ MB/);
    await expect(page.getByRole('status')).toContainText(
      'the rest of it is still being downloaded',
    );
    await app.openLayers();
    await expect.poll(async () => (await looks(page)).includes('layer absent')).toBe(true);
    await app.closeSheet();
    await app.button.click();
    await expect(app.loading).toContainText('Writing waits for the rest of');
    await app.button.click();
    await app.loading.getByRole('button', { name: 'Pause' }).click();
    await expect(app.loading).toContainText(/[\d.]+ MB of 7[\d.]+ MB are on this device/);
    await expect(app.modelName).toHaveText('Sluice Stories');

    const kept = model.counts.bytes;
    model.plan = () => ({});
    await app.loading.getByRole('button', { name: 'Go on' }).click();
    await app.ready(/smollm2/);
    expect((await app.write()).length).toBeGreaterThan(0);
    expect(model.counts.bytes - kept).toBeLessThan(40e6);
  });

  test('writes the same text under a memory limit, and says what is read again', async ({
    app,
    page,
  }) => {
    const { path } = makeBigModel();
    await app.open('#seed=5&length=12&temperature=0.5');
    await app.chooseFile(path);
    await app.hasFact('Layers', '30');
    await app.ready(/./);
    const text = await app.write();
    await limit(app, 150);
    await app.ready(/./);
    await app.openLayers();
    await expect
      .poll(async () => (await looks(page)).filter((look) => look.endsWith('again')).length)
      .toBeGreaterThan(1);
    await expect(figure(app, 'Memory limit')).toHaveText('150 MB');
    await expect(app.sheet).toContainText(/read again for each token/);
    await expect(app.sheet).toContainText(/Settings, Memory/);
    await expect(page.locator('.layers [aria-live]')).toContainText('take turns');
    await app.closeSheet();
    expect(await app.write()).toBe(text);
    await app.openLayers();
    await expect(figure(app, 'Read again')).toHaveText(/^[\d.]+ [MG]B$/);
    await app.closeSheet();
    await expect(page.getByRole('button', { name: 'Load the model again' })).toHaveCount(0);
  });
});

test('nothing is drawn while the page is hidden, and what came meanwhile when it is seen', async ({
  app,
  page,
  models,
}) => {
  await app.open();
  const gate = models.gated('stories.gguf', 1_400_000);
  await app.loadAddress(gate.url);
  await app.openLayers();
  await expect(figure(app, 'Layers ready')).toHaveText(/^[1-4] of 5$/);
  const hide = (hidden: boolean) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { configurable: true, value: hidden });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  await hide(true);
  const before = await looks(page);
  gate.open();
  await app.ready();
  expect(await looks(page)).toEqual(before);
  await hide(false);
  await expect.poll(() => looks(page)).toEqual(WHOLE);
});

test('the picture moves nothing, and has no animation', async ({ app, page, models }) => {
  for (const reducedMotion of ['no-preference', 'reduce'] as const) {
    await page.emulateMedia({ reducedMotion });
    await app.open();
    await app.openLayers();
    const tall = await page.locator('.layers').evaluate((layers) => layers.clientHeight);
    const gate = models.gated(OTHER, 20_000);
    await app.loadAddress(gate.url);
    gate.open();
    await app.ready(/./);
    await app.openLayers();
    await expect.poll(async () => (await looks(page)).length).not.toBe(WHOLE.length);
    expect(
      await page.locator('.layers').evaluate((layers) => ({
        tall: layers.clientHeight,
        animations: layers.getAnimations({ subtree: true }).length,
      })),
    ).toEqual({ tall, animations: 0 });
    await app.goBack();
    await app.ready();
  }
});

test('a limit that is too small says so, and can be taken away', async ({ app, page }) => {
  await page.goto(`${app.site.url}#memory=1&length=10&view=write`);
  await expect(app.problem).toHaveAttribute('data-code', 'budget_too_small');
  await expect(app.problem).toContainText('Settings, Memory');
  await app.problem.getByRole('button', { name: 'Load without the limit' }).click();
  await app.ready();
  await expect(page).toHaveURL(/[#&]length=10$/);
  expect((await app.write()).length).toBeGreaterThan(0);
});

test('an offer says what the model would take', async ({ app, models }) => {
  await app.open(`#model=${encodeURIComponent(models.good('stories.gguf'))}`);
  await app.offer.getByRole('button', { name: 'Show what it is' }).click();
  await expect(app.offer).toContainText(/It takes up to [\d.]+ MB of memory\./);
});
