// The first five minutes in six roles, from the first paint to the first answer: what has to be pressed and read.
import fs from 'node:fs';
import type { Page } from '@playwright/test';
import { overflow, violations } from './looks';
import { scriptedModel } from './scripted-model';
import { Visitor, WISE, expect, playHub, test } from './visitor';

const QUESTION = 'Why is the sky blue?';
/** A download that stops before its end, until the hub drops its connections. */
function stalling(): { stalls: boolean; at: number } {
  return { stalls: true, at: fs.statSync(WISE).size - 1000 };
}

test.describe('a stranger on a laptop', () => {
  test('one press leads to a download, two to an answer, and no other host hears of the visit before', async ({
    visitor,
    shelf,
    page,
  }) => {
    await shelf.play();
    await visitor.arrive();
    await expect(page.getByRole('button', { name: /^Talk/, pressed: true })).toBeVisible();
    await expect(visitor.field).toBeFocused();
    await visitor.look();
    expect(visitor.words, [...visitor.read].join('\n')).toBeLessThan(90);
    const read = [...visitor.read].join('\n');
    expect(read).not.toMatch(/GGUF|\bhub\b|\bLook\b|\bPin\b|\bOwn\b|f16|connect-src/);
    expect(visitor.elsewhere).toEqual([]);

    await visitor.press(visitor.download);
    await visitor.uses('Qwen3 0.6B');
    expect(visitor.elsewhere).not.toEqual([]);
    await expect(visitor.field).toBeFocused();
    const first = page.locator('.suggestion').first();
    const question = await first.innerText();
    await visitor.press(first);
    await visitor.answered();
    await expect(page.locator('.message.user')).toContainText(question);
    await expect(visitor.field).toHaveValue('');
    expect(visitor.presses).toBe(2);
    expect(visitor.words, [...visitor.read].join('\n')).toBeLessThan(130);
  });

  test('a question that is asked while the model comes waits for it', async ({
    visitor,
    shelf,
    hub,
    page,
  }) => {
    const download = stalling();
    await shelf.play({ plan: () => (download.stalls ? { stall: download.at } : {}) });
    await visitor.arrive();
    await page.keyboard.type('Why');
    await visitor.press(visitor.download);
    await expect(visitor.card.getByRole('progressbar')).toBeVisible();
    await expect(visitor.field).toHaveValue('Why');
    await page.keyboard.type(' is the sky blue?');
    await page.keyboard.press('Enter');
    await expect(visitor.facts).toContainText('Waiting');
    // A name, not an address
    await expect(visitor.chip).toContainText('Qwen3 0.6B');
    await expect(visitor.chip).not.toContainText(/[/@]/);
    await expect(page.locator('.message.user')).toContainText(QUESTION);
    await expect(visitor.modelName).toHaveText('Sluice Stories');
    await expect(visitor.answers).not.toContainText(/Once|Blue/);
    download.stalls = false;
    hub.drop_connections();
    await visitor.answered();
    await visitor.uses('Qwen3 0.6B');
    await expect(page.locator('.written-with')).toHaveCount(0);
  });

  test('terms are shown and accepted before the download, once', async ({ visitor, shelf }) => {
    await shelf.play();
    await visitor.arrive();
    await visitor.press(visitor.others);
    const gemma = visitor.sheet.locator('.shelf li').filter({ hasText: /^Gemma 3 270M/ });
    await expect(gemma).toContainText('agreeing to Google’s terms');
    await expect(gemma.getByRole('link')).toHaveAttribute('href', /^https:\/\/ai\.google\.dev\//);
    expect(visitor.elsewhere).toEqual([]);
    await visitor.press(gemma.getByRole('button', { name: /Accept and download/ }));
    await visitor.uses('Gemma 3 270M');
    await visitor.field.fill(QUESTION);
    await visitor.press(visitor.send);
    await visitor.answered();
    expect(visitor.presses).toBe(3);
    expect(visitor.words, [...visitor.read].join('\n')).toBeLessThan(220);
    await visitor.openSheet();
    // What is here comes first.
    await expect(visitor.sheet.getByRole('heading', { level: 3 }).first()).toHaveText(
      'On this device',
    );
    const own = visitor.sheet.locator('.kept li');
    await expect(own.getByRole('button', { name: /^Remove/ })).toBeVisible();
    await expect(own.getByRole('button', { name: /^Open/ })).toHaveCount(0);
    await expect(gemma).not.toContainText('agreeing');
    const larger = visitor.sheet.getByRole('listitem').filter({ hasText: /^Gemma 3 1B/ });
    await expect(larger.getByRole('button')).toHaveText(/^Download/);
    const llama = visitor.sheet.getByRole('listitem').filter({ hasText: /^Llama/ });
    await expect(llama.getByRole('button')).toHaveText(/^Accept/);
  });
});

test.describe('someone with a file', () => {
  /** What people have that isn't a model, and what the page says. */
  const WRONG = [
    ['report.pdf', Buffer.from('%PDF-1.7\n\0'), /report\.pdf is a PDF/],
    ['wise.zip', Buffer.from(`PK\x03\x04${'\0'.repeat(40)}`), /wise\.zip is an archive/],
    [
      'wise.safetensors',
      Buffer.from('\x40\0\0\0\0\0\0\0{"__metadata__":{"format":"pt"}}'),
      /wise\.safetensors is a model .* ends in \.gguf/,
    ],
  ] as const;
  const HALF = fs.readFileSync(WISE).subarray(0, 100_000);

  test('dropped, it is opened; what is none is told apart', async ({ visitor, shelf, page }) => {
    await shelf.play();
    await visitor.arrive();
    const refusal = page.locator('.talk-field').getByRole('alert');
    for (const [name, content, said] of WRONG) {
      await visitor.drop(name, content);
      await expect(refusal).toHaveText(said);
      await expect(visitor.download).toBeInViewport();
    }
    await visitor.drop('half.gguf', HALF);
    await expect(visitor.card.locator('.notice')).toContainText('damaged');
    await expect(visitor.card.locator('.notice .path')).toHaveText('half.gguf');
    await expect(refusal).toHaveCount(0);
    await visitor.drop('wise.gguf', fs.readFileSync(WISE));
    await visitor.uses('Wise');
    await visitor.field.fill(QUESTION);
    await visitor.press(visitor.send);
    await visitor.answered();
    expect(visitor.presses).toBe(1);
    expect(visitor.words, [...visitor.read].join('\n')).toBeLessThan(100);
    expect(visitor.elsewhere).toEqual([]);
  });

  test('chosen, it is opened; after a wrong one another is one press away', async ({
    visitor,
    shelf,
    page,
  }) => {
    // As in browsers that have only the dialog of forms.
    await page.addInitScript(() => {
      Reflect.deleteProperty(window, 'showOpenFilePicker');
    });
    await shelf.play();
    await visitor.arrive();
    await visitor.press(visitor.chip);
    const [first] = await Promise.all([
      page.waitForEvent('filechooser'),
      visitor.press(visitor.sheet.getByLabel('Choose a model file')),
    ]);
    await first.setFiles({ name: 'half.gguf', mimeType: '', buffer: HALF });
    const notice = visitor.card.getByRole('alert');
    await expect(notice).toContainText('can’t be read as a model');
    await expect(page.getByRole('button', { name: /^Talk/ })).toBeInViewport({ ratio: 1 });
    const [second] = await Promise.all([
      page.waitForEvent('filechooser'),
      visitor.press(notice.getByRole('button', { name: 'Choose another file' })),
    ]);
    await expect(visitor.field).toBeFocused();
    await second.setFiles({ name: 'wise.gguf', mimeType: '', buffer: fs.readFileSync(WISE) });
    await visitor.uses('Wise');
    await visitor.field.fill(QUESTION);
    await visitor.press(visitor.send);
    await visitor.answered();
    expect(visitor.presses).toBe(4);
    expect(visitor.words, [...visitor.read].join('\n')).toBeLessThan(260);
  });
});

test('someone with an address: one button says what it does, and what is wrong', async ({
  visitor,
  hub,
  context,
  allowed,
}) => {
  allowed.push(/status of 40[14]/, /ERR_INTERNET_DISCONNECTED/);
  const file = hub.add('wise.gguf', WISE);
  hub.api.repository('owner/wise', { 'wise-Q4_0.gguf': file, 'big/wise-Q8_0.gguf': file });
  hub.api.repository('owner/own', { 'own.gguf': file }, { token: 'x' });
  await playHub(context, hub);
  await visitor.arrive();
  const button = visitor.sheet.locator('.by-address button');
  const found = visitor.sheet.getByRole('region', { name: 'What was found' });
  const give = async (address: string, does: string | RegExp): Promise<void> => {
    await visitor.openSheet();
    await visitor.sheet.getByLabel('Address').fill(address);
    await expect(button).toHaveText(does);
    await visitor.press(button);
  };
  await visitor.press(visitor.chip);
  await expect(visitor.sheet).toBeVisible(); // it is loaded first: a second press would wait for ever
  await give('owner/own', 'Show its files');
  await expect(found.getByRole('heading')).toContainText('needs an account');
  await give('https://huggingface.co/owner/own/blob/main/own.gguf', 'Download');
  await expect(visitor.card.locator('.notice')).toContainText('needs an account');
  const link = visitor.card.getByRole('link', { name: 'Open its page' });
  await expect(link).toHaveAttribute('href', 'https://huggingface.co/owner/own');
  await give('huggingface.co/owner/wise/resolve/main/gone.gguf', 'Download');
  await expect(visitor.card.locator('.notice')).toContainText('no such file');
  await give('wise', 'Download');
  await expect(visitor.sheet.locator('#address-wrong')).toContainText('owner/model');
  await context.route('https://huggingface.co/**', (route) => route.abort('internetdisconnected'));
  await context.setOffline(true);
  await give('owner/wise', 'Show its files');
  await expect(found.getByRole('heading')).toContainText('You are offline');
  await context.setOffline(false);
  await context.unroute('https://huggingface.co/**');
  await playHub(context, hub);

  visitor.presses = 1;
  visitor.read.clear();
  await give('https://huggingface.co/owner/wise/tree/main', 'Show its files');
  await expect(found.getByRole('listitem').locator('.type')).toHaveText(['Q4_0', 'Q8_0']);
  await visitor.press(found.getByRole('button', { name: /^Download .*Q4_0/ }));
  await visitor.uses('Wise');
  await visitor.field.fill(QUESTION);
  await visitor.press(visitor.send);
  await visitor.answered();
  // The model's name, "Show its files", "Download", Send
  expect(visitor.presses).toBe(4);
  expect(visitor.words, [...visitor.read].join('\n')).toBeLessThan(230);
  await give('huggingface.co/owner/wise/blob/main/big/wise-Q8_0.gguf', 'Download');
  await visitor.hasFact('From', 'huggingface.co');
});

test.describe('a returning visitor', () => {
  // The page itself is kept, too.
  test.use({ serviceWorkers: 'allow' });

  test('offline the model is there without a press, and each conversation with its own', async ({
    visitor,
    shelf,
    context,
    page,
  }) => {
    const other = scriptedModel({ name: 'Other', scripts: ['The other answers.'] });
    await shelf.play({ files: { 'smollm2-135m': other } });
    await visitor.arrive();
    await visitor.download.click();
    await visitor.uses('Qwen3 0.6B');
    await visitor.field.fill(QUESTION);
    await visitor.send.click();
    await visitor.answered();
    await visitor.openSheet();
    await visitor.sheet.getByRole('button', { name: /^SmolLM2 135M/ }).click();
    await visitor.uses('SmolLM2 135M Instruct');
    await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    await context.setOffline(true);
    await page.close();

    const next = new Visitor(await context.newPage(), visitor.site);
    await next.page.goto(next.site.url);
    await next.uses('SmolLM2 135M Instruct');
    await expect(next.field).toBeFocused();
    await next.press(next.page.getByRole('button', { name: QUESTION, exact: true }));
    const line = next.page.locator('.written-with');
    await expect(line).toContainText('Written with Qwen3 0.6B.');
    await next.press(line.getByRole('button', { name: 'Load it' }));
    await next.uses('Qwen3 0.6B');
    await next.field.fill('And at night?');
    await next.press(next.send);
    await expect(next.answers).toHaveCount(2);
    await next.answered();
    expect(next.presses).toBe(3);
    expect(next.words, [...next.read].join('\n')).toBeLessThan(130);
    expect(next.elsewhere).toEqual([]);
  });
});

test.describe('on a phone', () => {
  test.use({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });

  /** What can be touched and is smaller than this. */
  function smaller(page: Page, pixels: number, within = 'body'): Promise<string[]> {
    return page.evaluate(
      ([pixels, within]) => {
        const touched = 'button, a, summary, select, input, textarea, label';
        return [...document.querySelectorAll<HTMLElement>(`${within} :is(${touched})`)]
          .filter(
            (one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest('.skip'),
          )
          .map((one) => ({ one, box: one.getBoundingClientRect() }))
          .filter(({ box }) => box.width > 1 && Math.min(box.width, box.height) < pixels)
          .map(({ one, box }) => `${one.outerHTML.slice(0, 80)}: ${box.width} x ${box.height}`);
      },
      [pixels, within] as const,
    );
  }

  test('what is offered fits, is large enough for a finger, and stays beside the keyboard', async ({
    visitor,
    shelf,
    page,
  }) => {
    await page.addInitScript(() => {
      Object.defineProperty(navigator, 'deviceMemory', { get: () => 2 });
    });
    // Half of 2 GiB is for a model: this one suits larger devices.
    const address = 'hf:owner/huge:huge.gguf';
    const files = [{ type: 'Q4_0', address, bytes: 2e9, sha256: null, verified: true }];
    const huge = { id: 'huge', name: 'Huge', kind: 'chat', first: true, recommend: 9, files };
    await shelf.play({ also: [huge] });
    await visitor.arrive();
    const tap = (what: typeof visitor.send): Promise<void> => what.tap();
    const inOrder = async (): Promise<void> => {
      expect(await overflow(page)).toBe(0);
      expect(await smaller(page, 24)).toEqual([]);
      expect(await smaller(page, 44, '.head')).toEqual([]);
      expect(await smaller(page, 44, '.first-model')).toEqual([]);
      expect(await smaller(page, 44, '.talk-field')).toEqual([]);
    };
    await expect(visitor.card.locator('.first-name')).toHaveText('Qwen3 0.6B');
    await expect(visitor.card).not.toContainText('too large');
    await expect(visitor.download).toBeInViewport({ ratio: 1 });
    await inOrder();
    // A keyboard on the screen comes only when the field is touched.
    await expect(visitor.field).not.toBeFocused();
    await visitor.press(visitor.download, tap);
    await visitor.uses('Qwen3 0.6B');
    await inOrder();
    await visitor.field.tap();
    await page.setViewportSize({ width: 360, height: 400 });
    await page.keyboard.type(QUESTION);
    await expect(visitor.field).toBeInViewport({ ratio: 1 });
    await expect(visitor.send).toBeInViewport({ ratio: 1 });
    await inOrder();
    await visitor.press(visitor.send, tap);
    await expect(visitor.field).not.toBeFocused();
    await page.setViewportSize({ width: 360, height: 740 });
    await visitor.answered();
    await expect(visitor.answers.last()).toBeInViewport();
    await inOrder();
    expect(visitor.presses).toBe(2);
    expect(visitor.words, [...visitor.read].join('\n')).toBeLessThan(100);
  });
});

test.describe('auf Deutsch, by keyboard alone', () => {
  test.use({ locale: 'de-DE' });

  /** Collects what is said to screen readers. */
  function watchSaid(): void {
    const said: string[] = [];
    Object.assign(window, { said });
    const live = '[role=status], [role=alert], [role=log], [aria-live]';
    new MutationObserver((all) => {
      for (const { target } of all) {
        const holder = target instanceof Element ? target : target.parentElement;
        const text = holder?.closest(live)?.textContent.trim() ?? '';
        if (text !== '' && said.at(-1) !== text) said.push(text);
      }
    }).observe(document, { childList: true, characterData: true, subtree: true });
  }

  /** The focus is somewhere, and can be seen. */
  async function seesFocus({ page }: Visitor): Promise<void> {
    await expect(page.locator(':focus-visible')).toBeInViewport();
    const marked = await page.locator(':focus-visible').evaluate((at) => {
      // The field's frame is marked in its place.
      const frame = at.closest('.talk-field') !== null && at.id === 'draft';
      const { outlineStyle, outlineWidth } = getComputedStyle(at);
      return frame || (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2);
    });
    expect(marked).toBe(true);
  }

  test('the way leads with Tab and Enter to the answer, and all that is said is German', async ({
    visitor,
    shelf,
    hub,
    page,
  }) => {
    const answer = 'Blaues Licht wird am meisten gestreut.';
    const file = scriptedModel({ name: 'Klug', scripts: [answer] });
    const download = { stalls: true, at: fs.statSync(file).size - 1000 };
    await page.addInitScript(watchSaid);
    await shelf.play({
      files: { 'qwen3-0.6b': file },
      plan: () => (download.stalls ? { stall: download.at } : {}),
    });
    await visitor.arrive();
    await expect(page.locator('html')).toHaveAttribute('lang', 'de');
    await expect(visitor.field).toBeFocused();
    await seesFocus(visitor);
    expect(await violations(page)).toEqual([]);
    const chosen = (): Promise<boolean> =>
      visitor.download.evaluate((at) => at === document.activeElement);
    let tabs = 0;
    while (!(await chosen()) && tabs < 12) {
      await page.keyboard.press('Shift+Tab');
      tabs += 1;
      await seesFocus(visitor);
    }
    expect(tabs).toBeLessThan(6);
    await visitor.press(visitor.download, () => page.keyboard.press('Enter'));
    await expect(visitor.card.getByRole('progressbar')).toBeVisible();
    await expect(visitor.field).toBeFocused();
    await page.keyboard.type('Warum ist der Himmel blau?');
    expect(await violations(page)).toEqual([]);
    await visitor.press(visitor.send, () => page.keyboard.press('Enter'));
    await expect(visitor.facts).toContainText('Wartet');
    await seesFocus(visitor);
    download.stalls = false;
    hub.drop_connections();
    await visitor.answered(answer);
    await visitor.uses('Qwen3 0.6B');
    await expect(visitor.field).toBeFocused();
    await seesFocus(visitor);
    expect(await violations(page)).toEqual([]);
    expect(visitor.presses).toBe(2);
    expect(visitor.words, [...visitor.read].join('\n')).toBeLessThan(120);
    const said = await page.evaluate(() => (window as unknown as { said: string[] }).said);
    expect(said.join('\n')).toContain('Qwen3 0.6B ist bereit');
    expect(said.join('\n')).toContain(answer);
    expect(said.join('\n')).not.toContain('@');
    const english = /\b(the|is|of|and|with|your|this|ready|loading|stopped|done|waiting)\b/i;
    expect([...said, ...visitor.read].filter((text) => english.test(text))).toEqual([]);
  });
});
