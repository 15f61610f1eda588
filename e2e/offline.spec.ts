// The page without a network: the service worker keeps its files, and replaces them whole at a new version.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Page } from '@playwright/test';
import { serve } from '../scripts/serve.mjs';
import { writeServiceWorker } from '../web/app/offline/plugin';
import { AppPage, expect, test as base } from './fixtures';
import { scriptedModel } from './scripted-model';
import { ROOT } from './servers';
import { Talk } from './talk';

const BUILT = path.join(ROOT, 'web/app/dist');

interface Answer {
  path: string;
  status: number;
  bytes: number;
}

/** A site that serves one version of the page or another, and can be switched off. */
class Versions {
  url = '';
  readonly answers: Answer[] = [];
  readonly #dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-page-'));
  #server: Awaited<ReturnType<typeof serve>> | null = null;

  constructor(readonly isolation: boolean) {
    fs.cpSync(BUILT, path.join(this.#dir, '1'), { recursive: true });
    this.show('1');
  }

  async start(): Promise<this> {
    this.#server = await serve({
      port: 0,
      dir: path.join(this.#dir, 'shown'),
      isolation: this.isolation,
      heard: (answer: Answer) => this.answers.push(answer),
    });
    this.url = this.#server.url;
    return this;
  }

  async stop(): Promise<void> {
    await this.#server?.close();
    this.#server = null;
  }

  async close(): Promise<void> {
    await this.stop();
    fs.rmSync(this.#dir, { recursive: true });
  }

  /** Serves this version from now on. */
  show(version: string): void {
    const link = path.join(this.#dir, 'shown');
    fs.rmSync(link, { force: true });
    fs.symlinkSync(version, link);
  }

  file(version: string, name: string): string {
    return path.join(this.#dir, version, name);
  }

  /** Makes version 2: its script has another name and another content, which says so. */
  async makeSecond(): Promise<void> {
    const dir = path.join(this.#dir, '2');
    fs.cpSync(BUILT, dir, { recursive: true });
    const index = fs.readFileSync(path.join(dir, 'index.html'), 'utf8');
    const [, script = ''] = /src="\.\/(assets\/index-[\w-]+\.js)"/.exec(index) ?? [];
    const code = fs.readFileSync(path.join(dir, script), 'utf8');
    fs.rmSync(path.join(dir, script));
    fs.writeFileSync(
      path.join(dir, 'assets/index-version2.js'),
      `${code}\ndocument.documentElement.dataset.version = '2';\n`,
    );
    fs.writeFileSync(
      path.join(dir, 'index.html'),
      index.replace(script, 'assets/index-version2.js'),
    );
    // The scripts that come later belong to this one.
    for (const name of fs
      .readdirSync(path.join(dir, 'assets'))
      .filter((one) => one.endsWith('.js'))) {
      const file = path.join(dir, 'assets', name);
      const own = fs.readFileSync(file, 'utf8');
      fs.writeFileSync(file, own.replaceAll(path.basename(script), 'index-version2.js'));
    }
    await writeServiceWorker(dir);
  }
}

const test = base.extend<{ versions: Versions; kept: AppPage }>({
  versions: async ({ isolation }, use) => {
    const versions = await new Versions(isolation).start();
    await use(versions);
    await versions.close();
  },

  /** The page, opened, with all its files kept. */
  kept: async ({ page, versions, allowed }, use) => {
    // The icon of the tab is asked for past the service worker.
    allowed.push(/net::ERR_.*icon\.svg/);
    const app = new AppPage(page, versions);
    await app.open('#length=20');
    await filesKept(page);
    await use(app);
  },
});

test.use({ serviceWorkers: 'allow' });

/** Waits until a service worker controls the page. */
async function filesKept(page: Page): Promise<void> {
  await page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');
}

function versionShown(page: Page): Promise<string> {
  return page.evaluate(() => document.documentElement.dataset['version'] ?? '1');
}

const newer = (page: Page) =>
  page.getByRole('button', { name: 'Use the newer version of this page' });

test('opens and writes without a network, isolated as before', async ({
  kept: app,
  page,
  context,
  versions,
  isolation,
}) => {
  const text = await app.write();
  expect(text).not.toBe('');
  const seed = await page.locator('.state .number').textContent();
  for (const way of ['offline', 'no server'] as const) {
    await context.setOffline(way === 'offline');
    if (way === 'no server') await versions.stop();
    const answer = await page.goto(
      `${versions.url}?again=${way}#length=20&seed=${seed}&view=write`,
    );
    expect(answer?.fromServiceWorker()).toBe(true);
    await app.ready();
    expect(await app.write()).toBe(text);
    expect(await page.evaluate(() => crossOriginIsolated)).toBe(isolation);
    await app.openFigures();
    await expect(app.figure('Flavour')).toHaveText(isolation ? /-mt$/ : /^(relaxed|simd)$/);
    // What it was sent with, it keeps.
    const headers = (await answer?.allHeaders()) ?? {};
    expect(headers['content-security-policy']).toContain("script-src 'self' 'wasm-unsafe-eval'");
    expect(headers['cross-origin-embedder-policy']).toBe(isolation ? 'require-corp' : undefined);
    expect(headers['cross-origin-opener-policy']).toBe(isolation ? 'same-origin' : undefined);
    expect(headers['content-encoding']).toBeUndefined();
  }
});

test('speaks another language without a network, though it was never asked for', async ({
  kept: app,
  page,
  context,
}) => {
  await context.setOffline(true);
  await app.openSettings();
  await page
    .locator('dialog[open]')
    .getByRole('radio', { name: 'Français', exact: true })
    .check({ force: true });
  await expect(page.locator('html')).toHaveAttribute('lang', 'fr');
  await page.reload();
  await expect(app.button).toHaveText('Écrire');
});

test('another day without a network: the last kept model opens, and what can’t be fetched says so', async ({
  kept: app,
  page,
  context,
  hub,
  versions,
}) => {
  const file = scriptedModel({ name: 'Helper 1B', scripts: ['The helper answers.'] });
  await app.loadAddress(hub.add('helper.gguf', file).url);
  await app.ready('Helper 1B');
  await page.close();
  await context.setOffline(true);
  const another = await context.newPage();
  await another.clock.install({ time: Date.now() + 40 * 86_400_000 });
  const talk = new Talk(another, versions);
  await another.goto(`${versions.url}#view=talk`);
  await expect(talk.modelName).toHaveText('Helper 1B');
  await expect(await talk.say('Hello')).toContainText('The helper answers.');
  const sheet = await talk.openSheet();
  await sheet
    .getByRole('button', { name: /: Download / })
    .first()
    .click();
  await expect(talk.problem).toContainText('You are offline');
  await expect(talk.modelName).toHaveText('Helper 1B');
  await expect(await talk.say('Again')).toContainText('The helper answers.');
});

test('what the first visit has fetched isn’t fetched again', async ({ kept, versions }) => {
  await expect(kept.button).toBeEnabled();
  const bodies = new Map<string, number>();
  for (const { path: name, bytes, status } of versions.answers) {
    if (bytes > 0 && status < 300) bodies.set(name, (bodies.get(name) ?? 0) + 1);
  }
  // The browser reads the service worker's script twice: once for the page, once to look for a newer one.
  const twice = [...bodies].filter(([, count]) => count > 1).map(([name]) => name);
  expect(twice.filter((name) => !name.startsWith('/service-worker.js'))).toEqual([]);
  // One build of the engine, and no letters that no text needs.
  const names = [...bodies.keys()];
  expect(names.filter((name) => name.endsWith('.wasm'))).toHaveLength(1);
  expect(names.filter((name) => name.endsWith('.woff2'))).toHaveLength(2);
});

test('a new version waits until it is whole and wanted, and replaces the old one whole', async ({
  kept: app,
  page,
  versions,
}) => {
  await versions.makeSecond();
  versions.show('2');
  await page.reload();
  await app.ready();
  expect(await versionShown(page)).toBe('1');
  await expect(newer(page)).toBeVisible();
  // Meanwhile the old one works, though the server has its script no more.
  expect((await app.write()).length).toBeGreaterThan(0);
  expect(await page.evaluate(() => caches.keys())).toHaveLength(2);

  await newer(page).click();
  await page.waitForFunction(() => document.documentElement.dataset['version'] === '2');
  await app.ready();
  expect((await app.write()).length).toBeGreaterThan(0);
  await expect.poll(() => page.evaluate(() => caches.keys())).toHaveLength(1);
  await expect(newer(page)).toHaveCount(0);
  await versions.stop();
  await page.reload();
  await app.ready();
  expect(await versionShown(page)).toBe('2');
});

test('a new version is used when the last tab of the old one is closed, not before', async ({
  kept: app,
  page,
  context,
  versions,
}) => {
  await versions.makeSecond();
  versions.show('2');
  const other = await context.newPage();
  await other.goto(versions.url);
  await page.reload();
  await app.ready();
  await newer(page).click();
  await expect(page.getByText('comes when the other tabs of this page are closed')).toBeVisible();
  expect(await versionShown(page)).toBe('1');
  expect((await app.write()).length).toBeGreaterThan(0);

  const waiting = async (): Promise<boolean> => {
    const workers = context
      .serviceWorkers()
      .map((worker) =>
        worker
          .evaluate(
            () =>
              (self as unknown as { registration: ServiceWorkerRegistration }).registration
                .waiting !== null,
          )
          .catch(() => false),
      );
    return (await Promise.all(workers)).includes(true);
  };
  expect(await waiting()).toBe(true);
  await page.goto('about:blank');
  await other.close();
  // The old worker is told to rest when its last tab is gone, and only then the new one is used. A tab that opens
  // before keeps the old one.
  await expect.poll(waiting).toBe(false);
  await page.goto(`${versions.url}#view=write`);
  expect(await versionShown(page)).toBe('2');
});

test('a version that can’t be fetched whole is never used', async ({
  kept: app,
  page,
  versions,
  allowed,
}) => {
  allowed.push(/service-worker\.js/, /404 \(Not Found\)/);
  await versions.makeSecond();
  const model = versions.file('2', 'models/stories-q8_0.gguf');
  const whole = fs.readFileSync(model);
  // Another content than the list says, as when files are being copied to a server.
  fs.writeFileSync(model, whole.subarray(0, 1_000_000));
  versions.show('2');
  versions.answers.length = 0;
  await page.reload();
  const asked = (): number =>
    versions.answers.filter(({ path: name, status }) => /\.gguf$/.test(name) && status === 200)
      .length;
  await expect.poll(asked).toBeGreaterThan(0);
  const installing = (): Promise<boolean> =>
    page.evaluate(async () => {
      const registration = await navigator.serviceWorker.getRegistration();
      return registration?.installing !== null;
    });
  await expect.poll(installing).toBe(false);
  await page.goto('about:blank');
  await page.goto(`${versions.url}#view=write`);
  await app.ready();
  expect(await versionShown(page)).toBe('1');
  expect((await app.write()).length).toBeGreaterThan(0);
  await expect(newer(page)).toHaveCount(0);

  fs.writeFileSync(model, whole);
  await page.reload();
  await newer(page).click();
  await page.waitForFunction(() => document.documentElement.dataset['version'] === '2');
  await app.ready();
  expect((await app.write()).length).toBeGreaterThan(0);
});

test('models from elsewhere don’t pass through its cache', async ({ kept: app, page, models }) => {
  await app.loadAddress(models.good('stories.gguf'));
  await app.hasFact('From', new URL(models.url).host);
  await app.ready();
  const addresses = await page.evaluate(async () => {
    const all = await Promise.all(
      (await caches.keys()).map(async (name) => (await caches.open(name)).keys()),
    );
    return all.flat().map(({ url }) => url);
  });
  expect(addresses.length).toBeGreaterThan(10);
  expect(addresses.filter((url) => !url.startsWith(app.site.url))).toEqual([]);
});
