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

/** How far the buttons of messages, with the rings around them, lie beside the place in which a message is drawn, in pixels. */
function cutOff(): number {
  const messages = [...document.querySelectorAll('.message')];
  const beside = messages.flatMap((message) => {
    const place = message.getBoundingClientRect();
    return [...message.querySelectorAll('.message-foot button')].map((button) => {
      const at = button.getBoundingClientRect();
      // The ring is 2 px, at 3 px from the button.
      return 5 + Math.max(place.left - at.left, at.right - place.right, at.bottom - place.bottom);
    });
  });
  return beside.length === 0 ? Infinity : Math.max(...beside);
}

for (const [width, height] of Object.entries({ 320: 640, ...HEIGHTS })) {
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
        if (name === 'answer') expect(await page.evaluate(cutOff)).toBeLessThanOrEqual(0);
        expect.soft(await violations(page, true), `${name}, ${colorScheme}`).toEqual([]);
      }
    }
  });
}

/** What has the keyboard, unless all of it is in sight, with its ring, between the head and the message's field. */
function hidden(): string {
  const at = document.activeElement ?? document.body;
  if (at === document.body || at.closest('.head, .skip, .field-place') !== null) return '';
  const { top, bottom } = at.getBoundingClientRect();
  const head = document.querySelector('.head')?.getBoundingClientRect().bottom ?? 0;
  const field = document.querySelector('.talk-field')?.getBoundingClientRect().top ?? 0;
  return top - 5 < head || bottom + 5 > field ? at.outerHTML.slice(0, 200) : '';
}

test('what has the keyboard is in sight on a phone', async ({ talk, page }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await talk.open();
  await talk.say('What do you know about rivers? 1');
  await talk.say('How many stones are there? 2');
  for (const [key, end] of [
    ['Shift+Tab', '.skip'],
    ['Tab', '#draft'],
  ] as const) {
    const at = page.locator(`${end}:focus`);
    await expect(async () => {
      await page.keyboard.press(key);
      expect.soft(await page.evaluate(hidden), key).toBe('');
      expect(await at.count()).toBe(1);
    }).toPass({ intervals: [0] });
  }
});

test.describe('in French', () => {
  test.use({ locale: 'fr-FR', viewport: { width: 320, height: 640 } });
  test('what a menu offers stands on one line each, in sight', async ({ talk, page }) => {
    await page.goto(talk.site.url);
    await talk.ready();
    await page.locator('#draft').fill('4');
    await page.locator('.send').click();
    await page.getByRole('button', { name: 'Plus pour cette conversation' }).click();
    const items = await page.getByRole('menuitem').evaluateAll((all) =>
      all.map((item) => {
        const words = document.createRange();
        words.selectNodeContents(item);
        return [words.getBoundingClientRect().height < 30, item.getBoundingClientRect().left >= 0];
      }),
    );
    expect(items).toEqual([
      [true, true],
      [true, true],
      [true, true],
    ]);
    expect(await overflow(page)).toBe(0);
  });
});
