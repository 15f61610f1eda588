// Firefox and WebKit: the library's files on another origin, under the policy of its README. elsewhere.spec.ts has the rest.
import { LAPTOP, expect, test } from './browsers/fixtures';
import { importLibrary, type LibraryWindow } from './library';
import { locksOfThreads, policy, serveOddly, writeThree } from './odd-site';

declare const window: LibraryWindow;

test('writes with workers and threads from another origin', async ({ driven, way }) => {
  const [site, cdn] = await Promise.all([serveOddly(), serveOddly()]);
  site.isolation = way.isolation;
  cdn.isolation = false;
  const { origin } = new URL(cdn.url);
  site.odd = policy(
    `script-src 'self' 'wasm-unsafe-eval' ${origin}; worker-src blob: ${origin}; connect-src 'self' ${origin}`,
    /^\/harness\//,
  );
  cdn.odd = (_, answer) => {
    answer.headers['Access-Control-Allow-Origin'] = '*';
    // WebKit wants it on isolated pages also for what a worker imports.
    answer.headers['Cross-Origin-Embedder-Policy'] = 'require-corp';
  };
  const tab = await driven.open(`${site.url}harness/`, LAPTOP);
  try {
    await tab.evaluate(importLibrary, undefined);
    await tab.evaluate((baseUrl) => window.library.configure({ baseUrl }), `${cdn.url}engine/`);
    const [flavour = ''] = way.runs;
    expect(await tab.evaluate(writeThree, { threads: 2 })).toContain(`3 tokens, ${flavour}`);
    const threads = flavour.endsWith('-mt') ? 1 : 0;
    expect(await tab.evaluate(locksOfThreads, undefined)).toHaveLength(threads);
  } finally {
    await tab.close();
    await Promise.all([site.close(), cdn.close()]);
  }
});
