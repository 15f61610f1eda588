// The first five minutes in every look: five widths, light and dark, English and (light) German. Nothing is wider than the window,
// nothing is cut off beside another, and axe finds nothing. The screenshots go to e2e/screenshots/, for people to look at.
import { overflow, textsCutOff, violations } from './looks';
import { expect, test, type Visitor } from './visitor';

const SIZES = [
  [360, 740],
  [390, 844],
  [820, 1180],
  [1280, 800],
  [1920, 1080],
] as const;
/** Where axe reads the page: it takes as long as all screenshots of a state. */
const READ = new Set(['360 light', '1280 dark']);

/** Takes the state's pictures, and checks it. */
async function seen(visitor: Visitor, name: string, language: string): Promise<void> {
  const { page } = visitor;
  await page.evaluate(() => document.fonts.ready);
  for (const colorScheme of language === 'en'
    ? (['light', 'dark'] as const)
    : (['light'] as const)) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    for (const [width, height] of SIZES) {
      await page.setViewportSize({ width, height });
      await page.evaluate(() =>
        Promise.all(document.getAnimations().map((one) => one.finished.catch(() => undefined))),
      );
      const look = `${name}-${language}-${width}-${colorScheme}`;
      await page.screenshot({ path: `screenshots/first-${look}.png` });
      expect.soft(await overflow(page), look).toBe(0);
      expect.soft(await textsCutOff(page), look).toEqual([]);
      if (READ.has(`${width} ${colorScheme}`))
        expect.soft(await violations(page, true), look).toEqual([]);
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}

for (const locale of ['en-GB', 'de-DE']) {
  test.describe(locale, () => {
    test.use({ locale });

    test('the first five minutes look right', async ({ visitor, shelf, hub, page, allowed }) => {
      allowed.push(/net::ERR_|status of 401/);
      let stalls = true;
      await shelf.play({ plan: () => (stalls ? { stall: 100_000 } : {}) });
      const look = (name: string): Promise<void> => seen(visitor, name, locale.slice(0, 2));
      await visitor.arrive();
      await look('front');
      await visitor.field.fill('Why is the sky blue?');
      await visitor.send.click();
      await visitor.answered('Once upon a time');
      await expect(page.locator('.next-answer .primary')).toBeVisible();
      await look('story');
      await page.locator('.next-answer .primary').click();
      await expect(visitor.facts).toContainText('Qwen3 0.6B');
      await look('waits');
      await visitor.loading.locator('button').first().click();
      await expect(visitor.loading.locator('button')).toHaveCount(2);
      await look('paused');
      await visitor.openSheet();
      await look('sheet');
      await visitor.sheet.locator('#address').fill('gemma');
      await visitor.sheet.locator('#address').press('Enter');
      await expect(visitor.sheet.locator('#address-wrong')).toBeVisible();
      await look('refused');
      await page.keyboard.press('Escape');
      await expect(visitor.sheet).toHaveCount(0);
      stalls = false;
      await visitor.loading.locator('button').first().click();
      hub.drop_connections();
      await visitor.answered();
      await look('answer');
    });
  });
}
