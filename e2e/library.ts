// The library in a page of its own, for tests that call it.
import type { Page } from '@playwright/test';
import type * as Library from '@sluice/engine';

/** What `window` is in such a page. */
export type LibraryWindow = { library: typeof Library } & typeof globalThis;
declare const window: LibraryWindow;

/** Opens an empty page with the library in it. */
export async function harness(page: Page, site: { url: string }): Promise<void> {
  await page.goto(`${site.url}harness/`);
  await page.evaluate(async () => {
    const address = '/engine/index.js';
    window.library = (await import(address)) as typeof Library;
  });
}
