// The page with its own model: what is shown when it opens, writing, stopping, settings.
import { BUNDLED, SLUICE, nativeBuilt, NO_NATIVE, sluice } from './models';
import type { Page } from '@playwright/test';
import { expect, test } from './fixtures';
import { LONG, lengthsSeen, stopAtFirstWords, watchLengths } from './in-page';
import { ONCE } from './tags';

test('opens with what it is, a prompt, one button and the model ready', async ({
  app,
  page,
  isolation,
}) => {
  await app.open();
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Sluice');
  await expect(app.prompt).toHaveValue('Once upon a time');
  await expect(app.button).toHaveCount(1);
  await expect(app.button).toBeEnabled();
  await app.openSheet();
  await app.unfold('More about this model');
  for (const [label, value] of [
    ['Architecture', 'llama'],
    ['Types', 'Q8_0, F32'],
    ['Layers', '5'],
    ['Context', '512 tokens'],
    ['Vocabulary', '2,048 tokens'],
    ['From', 'this page'],
  ] as const) {
    await expect(app.fact(label)).toHaveText(value);
  }
  await app.closeSheet();
  expect(await page.evaluate(() => crossOriginIsolated)).toBe(isolation);
  await expect(page.locator('.figures-more')).toHaveText(isolation ? 'Details' : 'Why not faster?');
  await app.openFigures();
  await expect(app.figure('Flavour')).toHaveText(
    isolation ? /^(relaxed|simd)-mt$/ : /^(relaxed|simd)$/,
  );
  await expect(page.getByText('One thread.')).toHaveCount(isolation ? 0 : 1);
  if (!isolation) await expect(app.figure('Threads')).toHaveText('1');
  await expect(app.figure('First token')).toHaveText('–');
  expect(page.url()).toBe(`${app.site.url}#view=write`);
});

test('text streams in, and the figures stand there afterwards', async ({ app, page }) => {
  await app.open(LONG);
  await page.evaluate(watchLengths);
  const text = await app.write();
  expect(text.length).toBeGreaterThan(100);
  const growing = await page.evaluate(lengthsSeen);
  expect(growing.length).toBeGreaterThan(1);
  expect(growing).toEqual([...growing].sort((a, b) => a - b));
  expect(growing.at(-1)).toBe(text.length);
  await expect(page.locator('#text')).toContainText(`Once upon a time${text.slice(0, 40)}`);
  await expect(app.ending).toHaveText(/\d+ tokens, seed 90/);
  await app.openFigures();
  await expect(app.figure('First token')).toHaveText(/^[\d.,]+ m?s$/);
  await expect(app.figure('Prompt')).toHaveText(/^[\d.,]+ tokens\/s$/);
  await expect(app.figure('Writing')).toHaveText(/^[\d.,]+ tokens\/s$/);
  await expect(app.figure('In memory')).toHaveText(/^[\d.]+ MB$/);
});

test(
  'a prompt that waits for layers shows how far it is, and moves nothing',
  { tag: ONCE },
  async ({ app, page, models }) => {
    // The page's own model: another one would be used only when it is whole.
    const gate = models.gated('stories.gguf', 1_400_000);
    await page.route('**/stories-q8_0.gguf', (route) =>
      route.fulfill({ status: 302, headers: { location: gate.url } }),
    );
    await page.goto(`${app.site.url}#length=5&view=write`);
    await app.openLayers();
    await expect(page.locator('.layers-facts')).toContainText(/[1-4] of 5/);
    await app.closeSheet();
    await app.prompt.fill('Once there was a dog. '.repeat(30));
    const heights = async (): Promise<number[]> => {
      const found: number[] = [];
      for (const width of [360, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        found.push(await page.locator('.actions').evaluate((actions) => actions.clientHeight));
      }
      return found;
    };
    const before = await heights();
    await app.button.click();
    const progress = page.getByRole('progressbar', { name: 'Reading the prompt' });
    await expect(progress).toBeVisible();
    await expect(app.state).toHaveText(/^Reading the prompt\d+ of \d+ tokens · waiting for layers/);
    expect(await progress.getAttribute('max')).toMatch(/^\d{3}$/);
    expect(await heights()).toEqual(before);
    // The bar, where the composer's line is out of view.
    await page.setViewportSize({ width: 1280, height: 400 });
    await page.evaluate(() => window.scrollTo(0, 0));
    await expect(page.locator('.bar-state')).toHaveText(
      /^Prompt: \d+ of \d+ tokens · waiting for layers$/,
    );
    gate.open();
    await app.written();
    await expect(progress).toHaveCount(0);
    await expect(app.ending).toContainText('5 tokens');
  },
);

test('stops in the middle, and writes again', async ({ app, page }) => {
  await app.open(LONG);
  await page.evaluate(stopAtFirstWords);
  const part = await app.write();
  await expect(app.ending).toContainText('Stopped');
  const whole = await app.write();
  expect(whole.length).toBeGreaterThan(part.length);
  expect(whole.startsWith(part)).toBe(true);
});

/** The figures on one line */
const IN_SHORT = /^[\d.,]+ tokens\/s · first word after [\d.,]+ m?s · [\d,]+ tokens$/;

test('the figures are there while the text is written', { tag: ONCE }, async ({ app, page }) => {
  await app.holdTextAfter(100);
  await app.open(LONG);
  const line = page.locator('.figures-text');
  await expect(line).toHaveText('');
  await app.button.click();
  await app.textIsHeld();
  await expect(app.button).toHaveText('Stop');
  await expect(line).toHaveText(IN_SHORT);
  await app.openFigures();
  await expect(app.figure('First token')).toHaveText(/^[\d.,]+ m?s$/);
  await expect(app.figure('Prompt')).toHaveText(/^[\d.,]+ tokens\/s$/);
  await expect(app.figure('Writing')).toHaveText(/^[\d.,]+ tokens\/s$/);
  // Escape closes the details, and doesn't stop the text.
  await page.keyboard.press('Escape');
  await expect(page.locator('dialog[open]')).toHaveCount(0);
  await expect(app.button).toHaveText('Stop');
  await app.releaseText();
  await app.written();
});

test('what every visit needs is fetched early, and once', async ({ app, page }) => {
  const asked: string[] = [];
  page.on('request', (request) => {
    const name = new URL(request.url()).pathname;
    if (/\.(woff2|wasm|gguf)$/.test(name)) asked.push(name);
  });
  await app.open();
  expect(asked.filter((name) => name.endsWith('.wasm'))).toHaveLength(1);
  expect(asked.filter((name) => name.endsWith('.gguf'))).toHaveLength(1);
  expect([...new Set(asked)].sort()).toEqual([...asked].sort());
  const started = await page.evaluate(() =>
    (performance.getEntriesByType('resource') as PerformanceResourceTiming[]).map(
      ({ name, initiatorType }) => `${initiatorType} ${name.split('/').at(-1)?.split('-')[0]}`,
    ),
  );
  // The page's head or its script asks for these, not a style or a worker, which would have to be fetched first.
  for (const early of [
    'link figtree',
    'link literata',
    'other engine',
    'other loader',
    'fetch sluice',
  ]) {
    expect(started).toContain(early);
  }
});

test('a module that the page can’t fetch is fetched by the worker', async ({
  app,
  page,
  allowed,
}) => {
  allowed.push(/503 \(Service Unavailable\)/);
  let refused = false;
  await page.route('**/*.wasm', (route) => {
    if (refused) return route.continue();
    refused = true;
    return route.fulfill({ status: 503, body: '' });
  });
  await app.open('#length=5');
  expect(refused).toBe(true);
  expect((await app.write()).length).toBeGreaterThan(0);
});

/** How far the end of the text is above the lower edge of the visible part; negative below it. */
function aboveTheEdge(page: Page): Promise<number> {
  return page.evaluate(() => {
    const end = document.getElementById('written') as HTMLElement;
    const edge = document.querySelector('.bar')?.getBoundingClientRect().top ?? innerHeight;
    return edge - end.getBoundingClientRect().bottom;
  });
}

test(
  'on a phone the page follows the text, until the reader scrolls',
  { tag: ONCE },
  async ({ app, page }) => {
    await page.setViewportSize({ width: 360, height: 740 });
    await app.holdTextAfter(150);
    await app.open(LONG);
    const bar = page.getByRole('region', { name: 'Writing' });
    const toTheEnd = bar.getByRole('button', { name: 'To the end' });
    await expect(bar).toHaveCount(0);

    await app.button.click();
    await app.textIsHeld();
    await expect(app.button).not.toBeInViewport();
    await expect(bar).toContainText(/^\d+ tokens · [\d.,]+ tokens\/s/);
    await expect(toTheEnd).toHaveCount(0);
    expect(await aboveTheEdge(page)).toBeGreaterThan(0);

    await page.mouse.move(180, 300);
    await page.mouse.wheel(0, -400);
    await expect(toTheEnd).toBeVisible();
    expect(await aboveTheEdge(page)).toBeLessThan(0);
    const { y } = await page.evaluate(() => ({ y: scrollY }));
    await app.releaseText();
    await app.written();
    expect(await page.evaluate(() => scrollY)).toBe(y);
    await expect(bar).toHaveCount(0);
  },
);

test(
  'a reader who scrolled away comes back to the end, and stops there',
  { tag: ONCE },
  async ({ app, page }) => {
    await page.setViewportSize({ width: 360, height: 740 });
    await app.holdTextAfter(150);
    await app.open(LONG);
    const bar = page.getByRole('region', { name: 'Writing' });
    await app.button.click();
    await app.textIsHeld();
    await page.mouse.move(180, 300);
    await page.mouse.wheel(0, -400);
    await bar.getByRole('button', { name: 'To the end' }).press('Enter');
    await expect(bar.getByRole('button', { name: 'To the end' })).toHaveCount(0);
    expect(await aboveTheEdge(page)).toBeGreaterThan(0);
    await bar.getByRole('button', { name: 'Stop' }).press('Enter');
    await expect(app.ending).toContainText('Stopped');
    await expect(bar).toHaveCount(0);
    await expect(page.getByRole('heading', { name: 'Text', exact: true })).toBeFocused();
  },
);

test('what has the focus is not left under the bar', { tag: ONCE }, async ({ app, page }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await app.holdTextAfter(150);
  await app.open(LONG);
  await app.button.click();
  await app.textIsHeld();
  const bar = page.getByRole('region', { name: 'Writing' });
  for (const name of ['Source', 'Licence: Apache-2.0']) {
    const link = page.getByRole('link', { name });
    await page.evaluate(() => scrollTo(0, 0));
    await link.focus();
    await expect(async () => {
      const [shown, top] = await Promise.all([
        link.boundingBox(),
        bar.boundingBox({ timeout: 1000 }),
      ]);
      if (shown === null || top === null) throw new Error('not in view yet');
      expect(shown.y + shown.height).toBeLessThanOrEqual(top.y);
    }).toPass({ timeout: 60_000 });
  }
});

test(
  'the footer names version and licences, and shows how to embed',
  { tag: ONCE },
  async ({ app, page }) => {
    await app.open();
    const footer = page.getByRole('contentinfo');
    await expect(footer).toContainText(/Sluice \d+\.\d+\.\d+/);
    for (const name of [/^Licence/, /licences$/]) {
      const href = await footer.getByRole('link', { name }).getAttribute('href');
      const answer = await page.request.get(new URL(href ?? '', app.site.url).href);
      expect(answer.status()).toBe(200);
      expect(answer.headers()['content-type']).toContain('text/plain');
    }
    await footer.getByText('Use this in your page').click();
    await expect(footer.getByText('Engine.load')).toBeVisible();
  },
);

test('settings are respected: the same seed gives the same text, and that of the program', async ({
  app,
  page,
}) => {
  await app.open();
  await app.openSettings();
  await page.getByLabel('Temperature').fill('0.7');
  await page.getByLabel('Top-p').fill('0.9');
  await page.getByLabel('Top-k').fill('30');
  await page.getByLabel('Length').fill('60');
  await page.getByLabel('Seed').fill('12345');
  await app.closeDialog();
  const first = await app.write();
  await expect(app.ending).toContainText('60 tokens, seed 12345');
  expect(await app.write()).toBe(first);
  await app.openSettings();
  await page.getByLabel('Seed').fill('12346');
  await app.closeDialog();
  expect(await app.write()).not.toBe(first);
  test.skip(!nativeBuilt, NO_NATIVE);
  const program = sluice(
    ...['run', BUNDLED, '-p', 'Once upon a time', '-n', '60', '--seed', '12345'],
    ...['--temp', '0.7', '--top-p', '0.9', '--top-k', '30'],
  );
  expect(first, SLUICE).toBe(program);
});

test('a random seed is named and can be kept', { tag: ONCE }, async ({ app, page }) => {
  await app.open('#length=40');
  const first = await app.write();
  await page.getByRole('button', { name: 'Keep this seed' }).click();
  await expect(app.afterwards('Again')).toBeFocused();
  await expect(page.locator('.summary-text')).toContainText('seed');
  expect(await app.write()).toBe(first);
});

test('works from the keyboard', { tag: ONCE }, async ({ app, page }) => {
  await app.open(LONG);
  const order = [
    page.locator('.skip'),
    ...(await page.locator('.head button').all()),
    app.chip,
    app.prompt,
    app.button,
    page.locator('.settings-button'),
    page.getByRole('button', { name: 'X-ray' }),
    ...(await page.locator('.opening').all()),
    page.getByRole('button', { name: 'Open a chat model' }),
    page.locator('.figures-more'),
  ];
  for (const element of order) {
    await page.keyboard.press('Tab');
    await expect(element).toBeFocused();
  }
  await app.prompt.focus();
  // The page itself presses Escape: a key pressed by the test could come after the whole story.
  await page.evaluate(() => {
    const target = document.getElementById('written') as HTMLElement;
    const observer = new MutationObserver(() => {
      if (target.textContent === '') return;
      observer.disconnect();
      const escape = new KeyboardEvent('keydown', { key: 'Escape', bubbles: true });
      document.activeElement?.dispatchEvent(escape);
    });
    observer.observe(target, { childList: true, subtree: true });
  });
  await page.keyboard.press('Control+Enter');
  await expect(app.ending).toContainText('Stopped');
  await expect(app.button).toHaveText('Write');
  await app.button.focus();
  await page.keyboard.press('Enter');
  await app.written();
});

test(
  'a sheet that is opened again as soon as it was closed stays open',
  { tag: ONCE },
  async ({ app }) => {
    await app.open();
    const sheet = await app.openSheet();
    await sheet.evaluate((dialog) => {
      const press = (selector: string) =>
        document.querySelector<HTMLButtonElement>(selector)?.click();
      // This comes before the event that tells of the closing.
      new MutationObserver((_, observer) => {
        observer.disconnect();
        press('.chip');
      }).observe(dialog, { attributeFilter: ['open'] });
      const told = new Promise((told) => dialog.addEventListener('close', told));
      press('dialog[open] .dialog-head button');
      return told;
    });
    await expect(sheet).toBeVisible();
  },
);

test('the address keeps prompt and settings', { tag: ONCE }, async ({ app, page }) => {
  await app.open();
  await app.prompt.fill('The cat & the dog = 100% #1');
  await app.openSettings();
  await page.getByLabel('Seed').fill('9');
  await page.getByLabel('Length').fill('30');
  await app.closeDialog();
  await expect(page).toHaveURL(/[#&]prompt=.*length=30&seed=9$/);
  const text = await app.write();
  await page.reload();
  await app.ready();
  await expect(app.prompt).toHaveValue('The cat & the dog = 100% #1');
  expect(await app.write()).toBe(text);
  await page.evaluate(() => {
    location.hash = '#prompt=Another%20one';
  });
  await expect(app.prompt).toHaveValue('Another one');
  await expect(page.locator('.summary-text')).toHaveText('Balanced, up to 256 tokens');
});

test(
  'a hostile address is checked, and what was left out is named',
  { tag: ONCE },
  async ({ app, page }) => {
    await app.open(
      '#temperature=NaN&topK=-1&threads=1e9&model=javascript:alert(1)&seed=4&prompt=%3Cimg%20src=x%20onerror=alert(1)%3E',
    );
    await expect(
      page.getByRole('region', { name: 'Parts of this link were left out' }).locator('li'),
    ).toHaveText([
      'model: not an http, https or hf address',
      'temperature: not a number from 0 to 2',
      'topK: not a number from 0 to 1000',
      'threads: not a number from 1 to 64',
    ]);
    await expect(app.prompt).toHaveValue('<img src=x onerror=alert(1)>');
    await expect(app.offer).toHaveCount(0);
    await app.write();
    await expect(page.locator('#text img')).toHaveCount(0);
  },
);

test(
  'what is out of range is marked, and gives way to the nearest that can be used',
  { tag: ONCE },
  async ({ app, page }) => {
    await app.open();
    await app.openSettings();
    for (const [label, text, range, nearest] of [
      ['Length', '99999', 'A whole number from 1 to 4,096', '4096'],
      ['Top-k', '-3', 'A whole number from 0 to 1,000', '0'],
      ['Top-k', '', 'A whole number from 0 to 1,000', '0'],
    ] as const) {
      const field = page.getByLabel(label);
      await field.fill(text);
      await expect(field).toHaveAttribute('aria-invalid', 'true');
      await expect(page.getByText(range)).toBeVisible();
      await expect(field).toHaveValue(text);
      await field.press('Tab');
      await expect(field).toHaveValue(nearest);
      await expect(field).toHaveAttribute('aria-invalid', 'false');
      await expect(page.getByText(range)).toHaveCount(0);
    }
    await expect(page).toHaveURL(/[#&]topK=0&length=4096$/);
  },
);

test(
  'a memory limit that cannot be used stays as it is typed, and is not used',
  { tag: ONCE },
  async ({ app, page }) => {
    await app.open();
    await app.openSettings();
    const field = page.getByLabel('Memory (MB)');
    for (const text of ['1.5', '1.5G', '0', '-5', 'abc', '99999']) {
      await field.fill('');
      await field.pressSequentially(text);
      await field.press('Tab');
      await expect(field).toHaveValue(text);
      await expect(field).toHaveAttribute('aria-invalid', 'true');
      await expect(field).toHaveAccessibleDescription(/whole number of MB from 1 to 4,294/);
      await expect(page.getByRole('button', { name: 'Load the model again' })).toHaveCount(0);
    }
    await field.fill('');
    await expect(field).toHaveAttribute('aria-invalid', 'false');
    await field.pressSequentially('300');
    await expect(page.locator('.summary-text')).toContainText('memory up to 300 MB');
    await expect(page).toHaveURL(/[#&]memory=300$/);
  },
);

test(
  'a prompt longer than the context is refused with advice; a shorter one works',
  { tag: ONCE },
  async ({ app }) => {
    await app.open('#length=20');
    const before = await app.write();
    await app.prompt.fill('once upon a time there was a dog. '.repeat(400));
    await app.button.click();
    await expect(app.problem).toHaveAttribute('data-code', 'context_full');
    await expect(app.problem).toContainText('Shorten the prompt');
    await expect(app.problem).toContainText('there is room for 511');
    await expect(app.text).toHaveText(before);
    await app.prompt.fill('A dog');
    expect((await app.write()).length).toBeGreaterThan(0);
    await expect(app.problem).toHaveCount(0);
  },
);

test('a worker that dies is told of, and the model can be loaded again', async ({ app }) => {
  await app.open('#length=4096&seed=3');
  await app.endEngineWorker();
  await app.button.click();
  await expect(app.problem).toHaveAttribute('data-code', 'worker_died');
  await app.problem.getByRole('button', { name: 'Try again' }).click();
  await app.ready();
  expect((await app.write()).length).toBeGreaterThan(0);
});

test('threads can be chosen, and don’t change the text', async ({ app, page, isolation }) => {
  await app.open('#seed=8&length=40');
  const before = await app.write();
  await app.openSettings();
  if (!isolation) {
    await expect(page.getByLabel('Threads')).toBeDisabled();
    return;
  }
  await page.getByLabel('Threads').selectOption('1');
  await app.loadAgain();
  await app.openFigures();
  await expect(app.figure('Threads')).toHaveText('1');
  await app.closeDialog();
  expect(await app.write()).toBe(before);
});
