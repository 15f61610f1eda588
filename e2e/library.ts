// The library in a page of its own, for tests that call it.
import type { Page } from '@playwright/test';
import type * as Library from '@sluice/engine';

/** The type of `window` in such a page. */
export type LibraryWindow = { library: typeof Library } & typeof globalThis;
declare const window: LibraryWindow;

/** Runs in the page: imports the library into `window.library`. */
export async function importLibrary(): Promise<void> {
  const address = '/engine/index.js';
  window.library = (await import(address)) as typeof Library;
}

/** A chat template for a model that has none: it leaves each text as it is. */
export const PLAIN_TEMPLATE = '{% for m in messages %}{{ m.content }}{% endfor %}';

/** Opens an empty page with the library in it. */
export async function harness(page: Page, site: { url: string }): Promise<void> {
  await page.goto(`${site.url}harness/`);
  await page.evaluate(importLibrary);
}

/** Runs in the page: the hash of the logits after the ids, for each flavour, number of threads and batch. */
export async function hashes({
  url,
  flavours,
  ids,
}: {
  url: string;
  flavours: Library.Flavour[];
  ids: number[];
}): Promise<{ how: string; hash: string }[]> {
  const found: { how: string; hash: string }[] = [];
  for (const flavour of flavours) {
    for (const threads of flavour.endsWith('-mt') ? [1, 2, 3] : [1]) {
      const engine = await window.library.Engine.load(url, { flavour, threads });
      await engine.ready;
      const { stats } = engine;
      for (const batch of [0, 1]) {
        const { hash } = await engine.logits(ids, { batch });
        found.push({ how: `${stats.flavour}, ${stats.threads} threads, batch ${batch}`, hash });
      }
      await engine.close();
    }
  }
  return found;
}
