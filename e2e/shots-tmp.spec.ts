import { test } from './fixtures';
for (const w of [360, 820, 1280, 1920])
  for (const scheme of ['light', 'dark'] as const)
    for (const locale of ['en', 'de'])
      test(`${w} ${scheme} ${locale}`, async ({ browser, site }) => {
        const c = await browser.newContext({ viewport: { width: w, height: w === 360 ? 740 : w===820?1100:w===1280?800:1080 }, colorScheme: scheme, locale, ...(w === 360 ? { hasTouch: true } : {}) });
        const page = await c.newPage();
        await page.goto(site.url);
        await page.locator('.first-story').waitFor();
        await page.locator('.chip[data-state=ready]').waitFor();
        await page.waitForTimeout(300);
        await page.screenshot({ path: `/tmp/shots2/${w}-${scheme}-${locale}.png` });
        if (scheme === 'light') {
          await page.locator('.chip').click();
          await page.locator('.shelf').waitFor();
          await page.waitForTimeout(300);
          await page.screenshot({ path: `/tmp/shots2/sheet-${w}-${locale}.png` });
        }
        await c.close();
      });
