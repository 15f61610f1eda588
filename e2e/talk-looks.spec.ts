// The conversation view's looks and accessibility: axe, also for contrast AAA, and screenshots of its states, which go to
// e2e/screenshots/, for people to look at.
import { HEIGHTS, overflow, violations } from './looks';
import { expect, test, type Talk } from './talk';

/** In this order, in one page. */
const STATES: Record<string, (talk: Talk, narrow: boolean) => Promise<void>> = {
  greeting: async () => undefined,
  answer: async (talk) => {
    await talk.say('What do you know about rivers? 1');
    await talk.say('How many stones are there? 2');
    await talk.answers.last().locator('.thinking summary').click();
  },
  branches: async (talk) => {
    await talk.press(talk.answers.last(), 'Another answer');
    await talk.answered();
    await talk.page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
  },
  menu: async (talk) => {
    await talk.page.evaluate(() => window.scrollTo(0, 0));
    await talk.page.getByRole('button', { name: 'More for this conversation' }).click();
  },
  list: async (talk, narrow) => {
    await talk.page.keyboard.press('Escape');
    if (narrow) await talk.page.getByRole('button', { name: 'Conversations' }).click();
    await talk.items.first().hover();
    await talk.items
      .first()
      .getByRole('button', { name: /^More for/ })
      .click();
  },
  question: async (talk) => {
    await talk.page.getByRole('menuitem', { name: 'Delete' }).click();
  },
  shortcuts: async (talk, narrow) => {
    await talk.page.keyboard.press('Escape');
    if (narrow) await talk.page.keyboard.press('Escape');
    await talk.page.keyboard.press('Control+/');
  },
};

for (const [width, height] of Object.entries(HEIGHTS)) {
  test(`the conversation, ${width} wide`, async ({ talk, page }) => {
    await page.setViewportSize({ width: Number(width), height });
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await talk.open();
    for (const [name, set] of Object.entries(STATES)) {
      await set(talk, Number(width) < 1024);
      await page.evaluate(() => document.fonts.ready);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        // Colours change over a moment.
        await page.evaluate(() =>
          Promise.all(document.getAnimations().map((one) => one.finished.catch(() => undefined))),
        );
        await page.screenshot({ path: `screenshots/talk-${name}-${width}-${colorScheme}.png` });
        expect(await overflow(page), `${name}: nothing is wider than the page`).toBe(0);
        expect.soft(await violations(page, true), `${name}, ${colorScheme}`).toEqual([]);
      }
    }
  });
}
