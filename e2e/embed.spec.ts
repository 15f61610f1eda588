// The example site, which installs the packed library and runs on another origin than the model's server. Then the same
// installed package in Vite's dev server.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createServer } from 'vite';
import { serve } from '../scripts/serve.mjs';
import { expect, test } from './fixtures';
import { ROOT, type Site } from './servers';

const EMBED = path.join(ROOT, 'web/embed');
const sites: Site[] = [];

test.describe.configure({ mode: 'serial' });

test.beforeAll(async () => {
  execFileSync(process.execPath, [path.join(EMBED, 'build.mjs')], { stdio: 'pipe' });
  for (const isolation of [true, false]) {
    sites.push(await serve({ port: 0, dir: path.join(EMBED, 'dist'), isolation }));
  }
});

test.afterAll(async () => {
  await Promise.all(sites.map((site) => site.close()));
});

for (const [i, how] of ['with', 'without'].entries()) {
  test(`writes on a site of its own, ${how} cross-origin isolation`, async ({ page, models }) => {
    const model = encodeURIComponent(models.good('stories.gguf'));
    await page.goto(`${sites[i]?.url}index.html?model=${model}&prompt=One%20day`);
    await expect(page.locator('output')).toContainText(/^One day.{100}/s);
    expect(await page.evaluate(() => crossOriginIsolated)).toBe(i === 0);
  });
}

test('says what is wrong when there is no model', async ({ page, models, allowed }) => {
  allowed.push(/404 \(Not Found\)/);
  await page.goto(`${sites[0]?.url}index.html?model=${encodeURIComponent(models.bad('missing'))}`);
  await expect(page.locator('output')).toContainText(/^download_failed: .*404/);
});

/** The example in Vite's dev server, which imports the package by name. `exclude`: packages not moved to Vite's cache. */
async function serveByVite(dir: string, exclude: string[]): Promise<Site> {
  for (const name of ['index.html', 'node_modules/@sluice'])
    fs.cpSync(path.join(EMBED, 'dist', name), path.join(dir, name), { recursive: true });
  const script = fs.readFileSync(path.join(EMBED, 'main.js'), 'utf8');
  const byName = script.replace('./node_modules/@sluice/engine/dist/index.js', '@sluice/engine');
  expect(byName).not.toBe(script);
  fs.writeFileSync(path.join(dir, 'main.js'), byName);
  const server = await createServer({
    root: dir,
    configFile: false,
    logLevel: 'silent',
    server: { port: 0, host: '127.0.0.1' },
    optimizeDeps: { exclude },
  });
  await server.listen();
  const { port } = server.httpServer?.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, close: () => server.close() };
}

for (const [how, exclude, written] of [
  ['says which line is missing', [], /^download_failed: .*add optimizeDeps: { exclude: \['@sluice/],
  ['writes, left as it is', ['@sluice/engine'], /^One day.{100}/s],
] as [string, string[], RegExp][]) {
  test(`in Vite's dev server: ${how}`, async ({ page, models, allowed }, testInfo) => {
    allowed.push(/\[vite\]/, /404 \(Not Found\)/);
    const site = await serveByVite(testInfo.outputPath('site'), exclude);
    const model = encodeURIComponent(models.good('stories.gguf'));
    await page.goto(`${site.url}?model=${model}&prompt=One%20day`);
    await expect(page.locator('output')).toContainText(written);
    // The page's socket would keep the server from closing.
    await page.close();
    await site.close();
  });
}
