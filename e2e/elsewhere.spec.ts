// The library's files on another origin than the page's, as on a CDN: configure says where they are, and a blob starts the
// workers. A policy that forbids it is named.
import type { Page } from '@playwright/test';
import type * as Library from '@sluice/engine';
import { expect, test } from './fixtures';
import { harness, type LibraryWindow } from './library';
import { locksOfThreads, outcome, policy, serveOddly, type OddSite } from './odd-site';

declare const window: LibraryWindow;

let site: OddSite;
/** The other origin. */
let cdn: OddSite;

test.describe.configure({ mode: 'serial' });

test.beforeAll(async () => {
  [site, cdn] = await Promise.all([serveOddly(), serveOddly()]);
  cdn.isolation = false;
});

test.afterAll(async () => {
  await Promise.all([site.close(), cdn.close()]);
});

test.beforeEach(() => {
  site.isolation = true;
  cdn.odd = permitting;
});

/** The other origin lets every page read its files. */
const permitting: OddSite['odd'] = (_, answer) => {
  answer.headers['Access-Control-Allow-Origin'] = '*';
};

/** What the README says that a policy must allow. */
const allowing = (): Record<string, string> => ({
  'script-src': `'self' 'wasm-unsafe-eval' ${new URL(cdn.url).origin}`,
  'connect-src': `'self' ${new URL(cdn.url).origin}`,
  'worker-src': `blob: ${new URL(cdn.url).origin}`,
});

/** Sends a policy with the page, whose own server has no file of the library but the first. */
function serving(directives: Record<string, string>): void {
  const text = Object.entries(directives).map((directive) => directive.join(' '));
  const send = policy(text.join('; '), /^\/harness\//);
  site.odd = (pathname, answer) => {
    send(pathname, answer);
    if (!/^\/(harness\/|model.gguf|engine\/index.js)$/.test(pathname)) answer.status = 404;
  };
}

const configured = (page: Page, configuration: Library.Configuration): Promise<void> =>
  page.evaluate((configuration) => window.library.configure(configuration), configuration);

/** Opens the page under this policy, with the library's files on the other origin, and writes. */
async function written(page: Page, directives: Record<string, string>): Promise<string> {
  serving(directives);
  await harness(page, site);
  await configured(page, { baseUrl: `${cdn.url}engine` });
  return outcome(page, { threads: 2 });
}

test('writes with workers and threads from another origin, under the policy of the README', async ({
  page,
}) => {
  const trusted = { 'require-trusted-types-for': "'script'", 'trusted-types': 'sluice' };
  for (const more of [{}, trusted])
    expect(await written(page, { ...allowing(), ...more })).toBe('3 tokens, relaxed-mt');
  expect(await page.evaluate(() => window.library.cache.list().then((all) => all.length))).toBe(1);

  expect(await page.evaluate(locksOfThreads)).toHaveLength(1);
});

test('writes with one thread where the page is not isolated', async ({ page }) => {
  site.isolation = false;
  expect(await written(page, allowing())).toMatch(/^3 tokens, relaxed, One thread/);
});

test('needs no configuration where the library itself comes from there', async ({ page }) => {
  serving(allowing());
  await page.goto(`${site.url}harness/`);
  await page.evaluate(async (address) => {
    window.library = (await import(address)) as typeof Library;
  }, `${cdn.url}engine/index.js`);
  expect(await outcome(page, { threads: 2 })).toBe('3 tokens, relaxed-mt');
});

test('what a policy or the other server lacks is named', async ({ page, allowed }) => {
  allowed.push(/Failed to load resource/, /Content.Security.Policy/i, /CORS policy/);
  const origin = new URL(cdn.url).origin;
  const cases: [string, Record<string, string>, RegExp][] = [
    [
      'worker-src without blob:',
      { 'worker-src': "'self'" },
      /^unsupported_environment: this page's .*\(worker-src\) forbids .*-worker.js, .*; add blob: to its worker-src$/,
    ],
    [
      'neither with the other origin',
      { 'script-src': "'self' 'wasm-unsafe-eval'", 'worker-src': 'blob:' },
      new RegExp(
        `^unsupported_environment: .* did not run; .*add ${origin} to its script-src and worker-src, `,
      ),
    ],
    [
      'connect-src without the other origin',
      { 'connect-src': "'self'" },
      new RegExp(
        `^unsupported_environment: this page's .*wasm, .*; add ${origin} to its connect-src$`,
      ),
    ],
  ];
  for (const [what, directives, told] of cases)
    expect.soft(await written(page, { ...allowing(), ...directives }), what).toMatch(told);

  cdn.odd = () => {};
  expect(await written(page, allowing())).toMatch(
    /^download_failed: .*-worker.js, .*\(CORS: Access-Control-Allow-Origin\)/,
  );
});
