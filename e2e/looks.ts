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

/** Buttons and headings in sight of which a part can't be read. */
export function textsCutOff(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const within = document.querySelector('dialog[open]') ?? document.body;
    return [...within.querySelectorAll<HTMLElement>('button, h1, h2, h3, [role=alert] p')]
      .filter(
        (each) =>
          each.checkVisibility({ visibilityProperty: true }) &&
          !each.matches('.chip, .item-title, .sr-only') &&
          each.closest('.sr-only, .item-title') === null &&
          getComputedStyle(each).overflow !== 'visible' &&
          each.scrollWidth > each.clientWidth + 1,
      )
      .map((each) => each.textContent ?? '');
  });
}
