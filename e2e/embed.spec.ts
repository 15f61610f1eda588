// The example site: it installs the packed library and runs on another origin than the model's server.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
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
