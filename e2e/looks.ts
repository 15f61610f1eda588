// What the tests of the page's looks share.
import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from '@playwright/test';

/** The widths at which the page is looked at, each with its height. */
export const HEIGHTS = { 360: 740, 768: 1024, 1280: 800 } as const;

/** What axe finds wrong. `enhanced`: text needs a contrast of 7:1 (AAA). */
export async function violations(page: Page, enhanced = false, within = 'html'): Promise<string[]> {
  // The page has no frames. Without legacy mode, axe opens a second page to merge the results of frames.
  const { violations } = await new AxeBuilder({ page })
    .setLegacyMode()
    .include(within)
    .options(enhanced ? { rules: { 'color-contrast-enhanced': { enabled: true } } } : {})
    .analyze();
  return violations.map((v) => `${v.id}: ${v.nodes.map((node) => node.html).join(' | ')}`);
}

/** How many pixels of the page lie beside the window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
}
