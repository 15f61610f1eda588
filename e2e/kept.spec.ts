// Models that the page keeps on this device: the list, pause and resume, no room, addresses that fail, the hub.
import type { BrowserContext, Locator, Page } from '@playwright/test';
import { AppPage, expect, test } from './fixtures';
import type { Hub } from './hub/server.mjs';
import type { Plan } from './hub/served.mjs';
import { BUNDLED, COME, OTHER, modelFiles, nativeBuilt, NO_NATIVE } from './models';

/** The blocks of a file that is smaller than 16 MiB. */
const BLOCK = 256 << 10;

/** The first answer stops after so many bytes; the others are whole. */
const stallsFirst =
  (bytes: number): Plan =>
  ({ number }) =>
    number === 0 ? { stall: bytes } : {};

const section = (page: Page): Locator => page.getByRole('region', { name: 'On this device' });
const row = (page: Page, name: string): Locator =>
  section(page).getByRole('listitem').filter({ hasText: name });

/** Another tab of the same browser, with the page. */
async function secondTab(context: BrowserContext, app: AppPage): Promise<AppPage> {
  const other = new AppPage(await context.newPage(), app.site);
  await other.open('#length=20');
  return other;
}

async function loaded(app: AppPage, host: string): Promise<void> {
  await app.hasFact('From', host);
  await app.ready();
}

test('a model from an address is kept, and opens again without its server', async ({
  app,
  page,
  hub,
}) => {
  const file = hub.add('stories.gguf', BUNDLED);
  const { host } = new URL(hub.url);
  await app.open('#length=20&seed=5');
  await app.openSheet();
  await expect(section(page)).toContainText('Models from an address are kept here');
  await app.loadAddress(file.url);
  await loaded(app, host);
  const text = await app.write();
  await app.openSheet();
  await expect(row(page, 'stories.gguf')).toContainText('2.58 MB');
  await expect(row(page, 'stories.gguf')).toContainText('fits');
  await expect(section(page)).toContainText(
    /2\.58 MB are kept\. There is room for [\d.]+ [GT]B more/,
  );
  const { requests } = file.counts;

  await hub.close();
  // The link in the page's address asks nothing, because nothing has to be fetched.
  await page.reload();
  await loaded(app, host);
  await expect(app.offer).toHaveCount(0);
  expect(await app.write()).toBe(text);
  expect(file.counts.requests).toBe(requests);

  await page.goto(`${app.site.url}?anew#length=20&seed=5&view=write`);
  // A visit whose address names no model begins with the one that was used last.
  await loaded(app, host);
  await app.goBack();
  await app.hasFact('From', 'this page');
  await app.ready();
  await app.openSheet();
  await row(page, 'stories.gguf').getByRole('button', { name: 'Open stories.gguf' }).click();
  await loaded(app, host);
  expect(await app.write()).toBe(text);
});

test('kept models are always kept, and removed, from the keyboard', async ({ app, page, hub }) => {
  test.skip(!nativeBuilt, NO_NATIVE);
  const stories = hub.add('stories.gguf', BUNDLED);
  const other = hub.add(OTHER, modelFiles().get(OTHER) ?? '');
  await app.open();
  await app.loadAddress(stories.url);
  await loaded(app, new URL(hub.url).host);
  await app.loadAddress(other.url);
  await app.hasFact('Architecture', 'qwen2');
  await expect(app.loading).toHaveCount(0);
  await app.openSheet();
  await expect(section(page).getByRole('listitem')).toHaveCount(2);
  await app.goBack();
  await app.ready();
  await app.openSheet();

  const status = page.getByRole('status');
  await row(page, OTHER)
    .getByRole('button', { name: `Always keep ${OTHER}` })
    .press('Enter');
  await expect(row(page, OTHER)).toContainText('always kept');
  await expect(status).toHaveText(`${OTHER} is always kept`);

  // That it is always kept is said before it is removed.
  await row(page, OTHER)
    .getByRole('button', { name: `Remove ${OTHER}` })
    .press('Enter');
  const pinned = page.getByRole('group', { name: `${OTHER} is always kept. Remove it?` });
  await pinned.getByRole('button', { name: 'Keep it' }).press('Enter');

  // Asks first; the focus is on what does no harm.
  const remove = row(page, 'stories.gguf').getByRole('button', { name: 'Remove stories.gguf' });
  await remove.press('Enter');
  const question = page.getByRole('group', { name: 'Remove stories.gguf?' });
  const keep = question.getByRole('button', { name: 'Keep it' });
  await expect(keep).toBeFocused();
  await keep.press('Enter');
  await expect(remove).toBeFocused();
  await remove.press('Enter');
  await question.getByRole('button', { name: 'Remove' }).press('Enter');
  await expect(row(page, 'stories.gguf')).toHaveCount(0);
  await expect(status).toHaveText('stories.gguf was removed');
  await expect(page.getByRole('heading', { name: 'On this device', exact: true })).toBeFocused();

  await app.loadAddress(stories.url);
  await loaded(app, new URL(hub.url).host);
  await app.goBack();
  await app.ready();
  await app.openSheet();
  await section(page).getByRole('button', { name: 'Remove all' }).click();
  await section(page).getByRole('group').getByRole('button', { name: 'Remove all' }).click();
  await expect(status).toHaveText(/^2\.\d\d MB are free again$/);
  await expect(section(page).getByRole('listitem')).toHaveCount(1);
  await expect(row(page, OTHER)).toBeVisible();
});

/** Opens the page and loads a model whose server stops in the middle. */
async function loadsHalf(app: AppPage, hub: Hub): Promise<ReturnType<Hub['add']>> {
  const file = hub.add('stories.gguf', BUNDLED, { plan: stallsFirst(1_400_000) });
  await app.open('#length=20');
  await app.loadAddress(file.url);
  await expect(app.loading).toContainText(COME);
  return file;
}

test('a load is paused, its tab closed, and another tab goes on with what is there', async ({
  app,
  page,
  context,
  hub,
}) => {
  const file = await loadsHalf(app, hub);
  await app.loading.getByRole('button', { name: 'Pause' }).click();
  await expect(app.loading).toContainText('Paused: stories');
  // Whole blocks are kept.
  await expect(app.loading).toContainText('1.31 MB of 2.58 MB are on this device');
  await app.openSheet();
  await expect(app.sheet).toContainText('You can close this tab');
  await app.closeSheet();
  await expect.poll(() => file.counts.underway).toBe(0);
  expect((await app.write()).length).toBeGreaterThan(0);
  await expect(page).toHaveURL(/[#&]model=http.*stories\.gguf/);

  const other = await secondTab(context, app);
  await page.close();
  await other.openSheet();
  await row(other.page, 'stories.gguf')
    .getByRole('button', { name: 'Go on with stories.gguf' })
    .click();
  await loaded(other, new URL(hub.url).host);
  expect((await other.write()).length).toBeGreaterThan(0);
  expect(file.counts.again).toBeLessThanOrEqual(BLOCK);
  await other.openSheet();
  await expect(row(other.page, 'stories.gguf')).toContainText('2.58 MB');
});

test('a paused load goes on where it is, or is discarded', async ({ app, page, hub }) => {
  const file = await loadsHalf(app, hub);
  await app.loading.getByRole('button', { name: 'Pause' }).click();
  await app.loading.getByRole('button', { name: 'Discard' }).click();
  const discard = app.sheet.locator('.coming').getByRole('button', { name: 'Discard' });
  await discard.click();
  await expect(app.sheet.locator('.coming')).toContainText('Discard the 1.31 MB that have come?');
  await discard.click();
  await expect(page.getByText('Paused: stories')).toHaveCount(0);
  await expect(page.locator('p.sr-only[role=status]')).toHaveText('stories.gguf was removed');
  await expect(page).not.toHaveURL(/model=/);
  await app.closeSheet();
  const asked = file.counts.requests;
  // The load before may still ask once.
  file.plan = ({ number }) => (number >= asked ? { stall: 600_000 } : {});
  await app.loadAddress(file.url);
  await expect(app.loading).toContainText(/(5[2-9]\d|600) KB of 2\.58 MB/);
  await app.loading.getByRole('button', { name: 'Pause' }).press('Enter');
  const goOn = app.loading.getByRole('button', { name: 'Go on' });
  await expect(goOn).toBeFocused();
  const next = file.counts.requests;
  let cut = (): void => {};
  const stallsUntil = new Promise<void>((resolve) => (cut = resolve));
  file.plan = ({ number }) => (number >= next ? { stall: 300_000, stallsUntil } : {});
  await goOn.press('Enter');
  await expect(app.loading.getByRole('button', { name: 'Pause' })).toBeFocused();
  file.plan = () => ({});
  cut();
  await loaded(app, new URL(hub.url).host);
  expect((await app.write()).length).toBeGreaterThan(0);
  await expect(app.problem).toHaveCount(0);
});

test('a page loaded anew in the middle of a load says that it is paused, and asks nobody before it goes on', async ({
  app,
  page,
  hub,
}) => {
  const file = hub.add('stories.gguf', BUNDLED, { plan: stallsFirst(1_400_000) });
  const { host } = new URL(hub.url);
  await app.open('#length=20');
  await app.loadAddress(file.url);
  await expect(app.loading).toContainText(COME);
  await app.loading.getByRole('button', { name: 'Pause' }).click();
  await expect(app.loading).toContainText('are on this device');
  await expect(page).toHaveURL(/model=http/);
  const { requests } = file.counts;
  await page.reload();
  await expect(app.modelName).toHaveText('Sluice Stories');
  await expect(app.loading).toContainText('Paused: stories');
  await expect(app.loading).toContainText('1.31 MB of 2.58 MB are on this device');
  await expect(app.offer).toHaveCount(0);
  expect(file.counts.requests).toBe(requests);
  await app.openSheet();
  await app.sheet.locator('.coming').getByRole('button', { name: 'Go on' }).click();
  await loaded(app, host);
});

test('the list follows a load, and says why what is being fetched cannot be removed', async ({
  app,
  page,
  hub,
}) => {
  await loadsHalf(app, hub);
  await app.openSheet();
  await expect(row(page, 'stories.gguf')).toContainText('on its way');
  const remove = row(page, 'stories.gguf').getByRole('button', { name: 'Remove' });
  await remove.click();
  await expect(row(page, 'stories.gguf')).toContainText('Pause or cancel that first.');
  await expect(row(page, 'stories.gguf').getByRole('group')).toHaveCount(0);
  await expect(row(page, 'stories.gguf')).toContainText('1.31 MB of 2.58 MB');
  await app.sheet.getByRole('button', { name: 'Pause' }).click();
  // What is paused stands above, with its buttons.
  await expect(app.sheet.locator('.coming')).toContainText('1.31 MB of 2.58 MB');
  await expect(row(page, 'stories.gguf')).toHaveCount(0);
  await expect(section(page).getByRole('alert')).toHaveCount(0);
});

test('the list says soon that a model is no longer in use', async ({ app, page, hub }) => {
  const file = hub.add('stories.gguf', BUNDLED);
  await app.open('#length=20');
  await app.openSettings();
  await page.getByLabel('Memory (MB)').fill('1');
  await app.closeDialog();
  await app.loadAddress(file.url);
  await expect(app.problem).toHaveAttribute('data-code', 'budget_too_small');
  // Of a model that was refused nothing stays.
  await app.openSheet();
  await expect(row(page, 'stories.gguf')).toHaveCount(0);
  await app.closeSheet();
  await app.problem.getByRole('button', { name: 'Load without the limit' }).click();
  await loaded(app, new URL(hub.url).host);
  await app.openSheet();
  await expect(row(page, 'stories.gguf')).toContainText('used today');
});

test('what a load waits for is said', async ({ app, hub, allowed }) => {
  allowed.push(/503 \(Service Unavailable\)/);
  const file = hub.add('stories.gguf', BUNDLED, {
    plan: ({ number }) => (number === 0 ? { status: 503, retryAfter: 120 } : {}),
  });
  await app.open('#length=20');
  await app.loadAddress(file.url);
  await expect(app.loading).toContainText('the server can’t serve now; it goes on by itself');
  await app.openSheet();
  await app.sheet.getByText('Technical details').click();
  await expect(app.sheet.locator('.coming')).toContainText(/503 .* asks to wait 120 s/);
  await app.closeSheet();
  await app.loading.getByRole('button', { name: 'Cancel' }).click();
  await app.ready();
  await app.hasFact('From', 'this page');
});

test.describe('in a browser of its own', () => {
  /** With a profile on disk, whose quota can be set, and a host that is not secure. */
  const own = test.extend<{ app: AppPage }>({
    context: async ({ playwright, launchOptions }, use, info) => {
      const args = [
        ...(launchOptions.args ?? []),
        '--host-resolver-rules=MAP insecure.test 127.0.0.1',
      ];
      const context = await playwright.chromium.launchPersistentContext(
        info.outputPath('profile'),
        { ...launchOptions, args, serviceWorkers: 'block' },
      );
      await use(context);
      await context.close();
    },
  });

  own(
    'without room, it offers to load without keeping, or to remove models',
    async ({ app, page, context, hub }) => {
      const file = hub.add('stories.gguf', BUNDLED);
      await app.open('#length=20');
      const session = await context.newCDPSession(page);
      const { origin } = new URL(app.site.url);
      await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 2_000_000 });
      await app.loadAddress(file.url);
      await expect(app.problem).toHaveAttribute('data-code', 'storage_full');
      await expect(app.problem).toContainText('There is no room to keep the model');
      await expect(app.problem).toContainText('2.58 MB');
      await app.problem.getByRole('button', { name: 'Remove models' }).click();
      await expect(
        page.getByRole('heading', { name: 'On this device', exact: true }),
      ).toBeFocused();
      await app.problem.getByRole('button', { name: 'Load without keeping' }).click();
      await loaded(app, new URL(hub.url).host);
      await expect(app.problem).toHaveCount(0);
      await app.openSheet();
      await expect(app.sheet.getByText('It is not kept.')).toBeVisible();
      await expect(section(page).getByRole('listitem')).toHaveCount(0);
      await app.closeSheet();
      expect((await app.write()).length).toBeGreaterThan(0);
    },
  );

  own(
    'where nothing can be kept, a note says why, and there is no pause',
    async ({ page, sites, hub }) => {
      const url = sites.plain.url.replace('localhost', 'insecure.test');
      const app = new AppPage(page, { ...sites.plain, url });
      const file = hub.add('stories.gguf', BUNDLED, { plan: stallsFirst(1_400_000) });
      await app.open('#length=20');
      await app.openSheet();
      await expect(section(page)).toContainText('This browser lets the page keep no models');
      await app.loadAddress(file.url);
      await expect(app.loading).toContainText(COME);
      await expect(app.loading.getByRole('button')).toHaveAccessibleName('Cancel');
      await app.openSheet();
      await expect(app.sheet.getByText('The model isn’t kept on this device')).toContainText(
        'https',
      );
      await app.closeSheet();
      await app.loading.getByRole('button', { name: 'Cancel' }).click();
      await app.ready();
      await expect(app.problem).toHaveCount(0);
    },
  );
});

test('an address that failed stays, to be tried again', async ({ app, page, hub, allowed }) => {
  allowed.push(/404 \(Not Found\)/);
  const file = hub.add('stories.gguf', BUNDLED, { plan: () => ({ status: 404 }) });
  // In a link: in the question, in the address of the page, and in the field.
  await app.open(`#length=20&model=${encodeURIComponent(file.url)}`);
  await app.offer.getByRole('button', { name: 'Show what it is' }).click();
  await expect(app.offer).toContainText('404');
  await app.openSheet();
  await expect(app.sheet.getByLabel('Address')).toHaveValue(file.url);
  await app.closeSheet();
  await expect(page).toHaveURL(/model=http/);
  file.plan = () => ({});
  await app.offer.getByRole('button', { name: 'Ask again' }).click();
  await expect(app.offer).toContainText('2.58 MB to download');
  // It fails later.
  file.plan = () => ({ status: 404 });
  await app.offer.getByRole('button', { name: 'Download 2.58 MB' }).click();
  await expect(app.problem).toHaveAttribute('data-code', 'download_failed');
  await app.ready();
  await expect(page).toHaveURL(/model=http/);
  await app.openSheet();
  await expect(app.sheet.getByLabel('Address')).toHaveValue(file.url);
  await app.closeSheet();
  file.plan = () => ({});
  await app.problem.getByRole('button', { name: 'Try again' }).click();
  await loaded(app, new URL(hub.url).host);
  await expect(page).toHaveURL(/model=http/);
});

test('a model is named by its repository on the hub', async ({ app, page, context, hub }) => {
  hub.api.repository('owner/stories', { 'stories-Q8_0.gguf': hub.add('stories.gguf', BUNDLED) });
  await context.route('https://huggingface.co/**', async (route) => {
    const { pathname, search } = new URL(route.request().url());
    const response = await route.fetch({ url: hub.url + pathname + search });
    await route.fulfill({ response });
  });
  await app.open('#length=20');
  await app.loadAddress('hf:owner/stories:Q8_0');
  await loaded(app, 'huggingface.co');
  await expect(page).toHaveURL(/[#&]model=hf/);
  await app.openSheet();
  await expect(row(page, 'stories-Q8_0.gguf')).toContainText('verified');
  await app.goBack();
  await app.ready();
  // The page of the repository, as people copy it: it is the same file.
  const { resolvers } = hub.api.counts;
  await app.loadAddress('https://huggingface.co/owner/stories/blob/main/stories-Q8_0.gguf');
  await loaded(app, 'huggingface.co');
  expect(hub.api.counts.resolvers).toBe(resolvers);
  await app.openSheet();
  await expect(section(page).getByRole('listitem')).toHaveCount(1);
});

test('several files that are not one model are refused', async ({ app }) => {
  await app.open('#length=20');
  const files = ['a.gguf', 'b.gguf'].map((name) => ({
    name,
    mimeType: '',
    buffer: Buffer.from('GGUF'),
  }));
  await app.chooseFile(files);
  await expect(app.problem).toHaveAttribute('data-code', 'invalid_argument');
  await expect(app.problem).toContainText('choose one file, or all the parts of one split model');
  await app.ready();
});
