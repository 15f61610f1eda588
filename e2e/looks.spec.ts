// The page's looks and accessibility: axe checks and screenshots of every state, at three widths, light and dark. The
// screenshots go to e2e/screenshots/, for people to look at.
import { BUNDLED, COME, NO_NATIVE, makeBigModel, nativeBuilt } from './models';
import { expect, test, type AppPage } from './fixtures';
import type { Hub } from './hub/server.mjs';
import { LONG, shiftsSeen, watchShifts } from './in-page';
import { HEIGHTS, overflow, violations } from './looks';
import type { ModelServer } from './servers';
import { MORE } from './tags';

interface State {
  name: string;
  allowed?: RegExp;
  /** It needs a model that the native build makes. */
  made?: boolean;
  set(app: AppPage, models: ModelServer, hub: Hub): Promise<void>;
}

const STATES: State[] = [
  {
    name: 'opened',
    set: async (app) => {
      await app.open();
    },
  },
  {
    name: 'written',
    set: async (app) => {
      await app.open('#seed=4&temperature=0.6&length=140');
      await app.write();
    },
  },
  {
    // One of several texts, beside a long prompt that is not written yet.
    name: 'earlier',
    set: async (app) => {
      await app.open('#seed=4&temperature=0.6&length=140');
      await app.write();
      await app.prompt.fill('A dog');
      await app.write();
      await app.prompt.fill('The dog went home.\n'.repeat(12));
      await app.page.getByRole('button', { name: 'Earlier text' }).click();
      await app.page.getByRole('button', { name: 'Later text' }).click();
    },
  },
  {
    // It stays in the middle of its text.
    name: 'writing',
    set: async (app) => {
      await app.holdTextAfter(150);
      await app.open(LONG);
      await app.button.click();
      await app.textIsHeld();
    },
  },
  {
    name: 'loading',
    set: async (app, models) => {
      await app.open();
      await app.loadAddress(models.gated('stories.gguf', 1_400_000).url);
      await app.closeSheet();
      await expect(app.loading).toBeVisible();
    },
  },
  {
    // Two models are kept, one of them in part; the question whether to remove one.
    name: 'kept',
    set: async (app, _, hub) => {
      await app.open();
      await setKept(app, hub);
    },
  },
  // Four moments of a model of 30 layers: its first layers are there, half of them, all, and layers that take turns.
  {
    name: 'layers-begun',
    made: true,
    set: (app, models) => setComing(app, models, 32e6),
  },
  {
    name: 'layers-half',
    made: true,
    set: (app, models) => setComing(app, models, 55e6),
  },
  {
    name: 'layers-whole',
    made: true,
    set: async (app, models) => {
      const { file, path } = makeBigModel();
      models.models.set(file, path);
      await app.open();
      await app.loadAddress(models.good(file));
      await app.ready('smollm2-135m');
      await app.openLayers();
      await expect(app.page.locator('.layers-facts')).toContainText('30 of 30');
    },
  },
  {
    // In the middle of its text
    name: 'layers-again',
    made: true,
    set: async (app) => {
      await app.holdTextAfter(6);
      await app.open('#memory=150&seed=1&length=200');
      await app.chooseFile(makeBigModel().path);
      await app.closeSheet();
      await app.ready('smollm2-135m');
      await app.button.click();
      await app.textIsHeld();
      await app.openLayers();
      await expect(app.page.locator('.layers-facts')).toContainText('150 MB');
    },
  },
  {
    name: 'offer',
    set: async (app, models) => {
      await app.open(`#temperature=9&model=${encodeURIComponent(models.good('stories.gguf'))}`);
      await app.offer.getByRole('button', { name: 'Show what it is' }).click();
      await expect(app.offer).toContainText('to download');
    },
  },
  {
    name: 'problem',
    allowed: /404 \(Not Found\)/,
    set: async (app, models) => {
      await app.open();
      await app.loadAddress(models.bad('missing'));
      await expect(app.problem).toBeVisible();
    },
  },
];

/** A model of 30 layers of which so many bytes have come. */
async function setComing(app: AppPage, models: ModelServer, bytes: number): Promise<void> {
  const { file, path } = makeBigModel();
  models.models.set(file, path);
  await app.open();
  await app.loadAddress(models.gated(file, bytes).url);
  await app.openLayers();
  await expect(app.page.locator('.layers-facts')).toContainText(/Layers ready[1-9]\d? of 30/);
}

async function setKept(app: AppPage, hub: Hub): Promise<void> {
  const { page } = app;
  const whole = hub.add('sluice-stories-instruct-q8_0.gguf', BUNDLED);
  await app.loadAddress(whole.url);
  await app.hasFact('From', new URL(hub.url).host);
  await app.ready();
  await app.openSheet();
  await page.getByRole('button', { name: /^Always keep / }).click();
  await expect(page.locator('.kept')).toContainText('always kept');
  const part = hub.add('stories.gguf', BUNDLED, {
    plan: () => ({ stall: 1_400_000 }),
  });
  await app.loadAddress(part.url);
  await app.closeSheet();
  await expect(app.loading).toContainText(COME);
  await app.loading.getByRole('button', { name: 'Pause' }).click();
  await expect(app.loading).toContainText('are on this device');
  await app.openSheet();
  await page.getByRole('button', { name: 'Remove sluice-stories' }).click();
}

const LOOKS = {
  light: { colorScheme: 'light' },
  dark: { colorScheme: 'dark' },
  forced: { colorScheme: 'light', forcedColors: 'active' },
  contrast: { colorScheme: 'light', contrast: 'more' },
} as const;
/** Forced colours and more contrast change only colours, so the states that show everything are enough. */
const ALL_LOOKS = new Set(['writing', 'problem', 'kept', 'layers-half', 'layers-again']);

/** What everybody sees is looked at everywhere; in the ladder, each of the other states at one width, in turn. */
const EVERYWHERE = new Set(['opened', 'written']);

for (const [turn, [width, height]] of Object.entries(HEIGHTS).entries()) {
  for (const [i, state] of STATES.entries()) {
    const tag = EVERYWHERE.has(state.name) || i % 3 === turn ? [] : MORE;
    test(`${state.name}, ${width} wide`, { tag }, async ({ app, page, models, hub, allowed }) => {
      test.skip(state.made === true && !nativeBuilt, NO_NATIVE);
      if (state.allowed) allowed.push(state.allowed);
      await page.setViewportSize({ width: Number(width), height });
      await page.emulateMedia({ reducedMotion: 'reduce' });
      await state.set(app, models, hub);
      await page.evaluate(() => document.fonts.ready);
      await page.mouse.move(0, 0);
      for (const [look, media] of Object.entries(LOOKS)) {
        if ((look === 'forced' || look === 'contrast') && !ALL_LOOKS.has(state.name)) continue;
        await page.emulateMedia({ forcedColors: 'none', contrast: 'no-preference', ...media });
        await page.screenshot({
          path: `screenshots/${state.name}-${width}-${look}.png`,
          fullPage: !['writing', 'layers-again'].includes(state.name),
        });
        expect(await overflow(page), `${look}: nothing is wider than the page`).toBe(0);
        expect(await violations(page), look).toEqual([]);
      }
    });
  }
}

test('what is touched is 44 px tall at least', async ({ app, page, hub }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await app.open('#length=5');
  await app.write();
  await setKept(app, hub);
  const small = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLElement>('button, summary, select, input, textarea')]
      .filter((element) => element.checkVisibility())
      .map((element) => ({
        name: element.id || element.textContent,
        box: element.getBoundingClientRect(),
      }))
      .filter(({ box }) => box.height < 44 || box.width < 44)
      .map(({ name, box }) => `${name}: ${box.width} x ${box.height}`),
  );
  // Only links within a line of text may be as small as the text.
  expect(small).toEqual([]);
});

for (const [width, height] of Object.entries(HEIGHTS)) {
  test(`${width} wide, nothing moves while things arrive, and fonts come last`, async ({
    app,
    page,
    site,
  }) => {
    await page.setViewportSize({ width: Number(width), height });
    await page.addInitScript(watchShifts);
    const fonts: (() => void)[] = [];
    await page.route('**/*.woff2', async (route) => {
      await new Promise<void>((come) => fonts.push(come));
      await route.continue();
    });
    // Its load event waits for the fonts, too.
    await page.goto(`${site.url}${LONG}&view=write`, { waitUntil: 'commit' });
    await app.ready();
    await app.write();
    expect(fonts.length).toBeGreaterThan(0);
    for (const come of fonts) come();
    await page.evaluate(() => document.fonts.ready);
    const { sum, what } = await page.evaluate(shiftsSeen);
    expect(sum, what.join('; ')).toBeLessThan(0.01);
  });
}

test('states are said to screen readers', async ({ app, page }) => {
  await app.open('#length=30');
  const status = page.getByRole('status');
  await expect(status).toHaveText('Sluice Stories is ready');
  await app.write();
  await expect(status).toHaveText(/^Done: \d+ tokens$/);
  await app.chooseFile(BUNDLED);
  await expect(status).toHaveText('Sluice Stories is ready');
});
