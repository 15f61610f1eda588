// Measures how quick the built page stays while somebody looks into a text: frames while 60 tokens a second come, with the x-ray
// closed and open; and steps through a text of 5,000 tokens, played and by keys.
//   node e2e/bench/xray.mjs
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { ROOT, main } from '../../scripts/lib.mjs';
import { serve } from '../../scripts/serve.mjs';
import { find_chromium } from './chromium.mjs';
import { median } from './figures.mjs';
import { trace } from './page_texts.mjs';

const RATE = 60;
const ROUNDS = 3;
const PLAYED_MS = 5000;

/** Runs in the page: its loops over the library's texts get a token no sooner than so many come in a second. */
function pace_streams(rate) {
  const iterator = Object.getPrototypeOf((async function* () {})());
  const platform = Object.getPrototypeOf(Object.getPrototypeOf(iterator));
  Object.defineProperty(platform, Symbol.asyncIterator, {
    value() {
      if (!('ending' in this)) return this;
      let due = 0;
      return {
        next: async () => {
          due = Math.max(due + 1000 / rate, performance.now());
          const left = due - performance.now();
          if (left > 0) await new Promise((done) => setTimeout(done, left));
          return this.next();
        },
        return: () => this.return(),
      };
    },
  });
}

/** Runs in the page: collects the gaps between its frames. */
function watch() {
  globalThis.gaps = [];
  let last = performance.now();
  const frame = (now) => {
    globalThis.gaps.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

/** What is seen while `work` runs, in words. */
async function frames_while(page, work) {
  await page.evaluate(() => void (globalThis.gaps = []));
  await work();
  const gaps = await page.evaluate(() => globalThis.gaps);
  const over = gaps.filter((gap) => gap > 34).length;
  return `${gaps.length} frames, median ${median(gaps).toFixed(0)} ms, longest ${Math.max(...gaps).toFixed(0)} ms, ${over} over 33 ms`;
}

async function live(page) {
  const view = page.locator('.xray');
  for (let round = 0; round < ROUNDS; ++round) {
    for (const open of [false, true]) {
      if ((await view.isVisible()) !== open) await page.locator('#xray-button').click();
      if (open) await view.locator('.xray-steps, .note').first().waitFor();
      await page.waitForFunction(() => document.querySelector('.xray-computing') === null);
      const begun = performance.now();
      const frames = await frames_while(page, async () => {
        await page.locator('.composer .primary').click();
        await page.locator('.composer .primary.stop').waitFor();
        await page.locator('.composer .primary:not(.stop)').waitFor();
      });
      const tokens = Number((await page.locator('.how').textContent()).match(/(\d+) tokens/)?.[1]);
      const rate = (1000 * tokens) / (performance.now() - begun);
      console.log(`x-ray ${open ? 'open' : 'closed'}: ${rate.toFixed(0)} tokens/s; ${frames}`);
    }
  }
}

async function replay(page) {
  const file = path.join(ROOT, 'build/bench/long.jsonl');
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, trace(5000));
  await page.locator('.xray input[type=file]').setInputFiles(file);
  const along = page.getByRole('slider', { name: 'Along the text' });
  await page.waitForFunction(
    () => document.querySelector('.xray-line input')?.getAttribute('max') === '5000',
  );
  await page.locator('.xray h2').last().focus();
  for (let i = 0; i < 6; ++i) await page.keyboard.press('+');
  const played = await frames_while(page, async () => {
    await page.keyboard.press('Space');
    await page.waitForTimeout(PLAYED_MS);
    await page.keyboard.press('Space');
  });
  const at = Number(await along.inputValue());
  console.log(`played at 64 tokens/s: ${((1000 * at) / PLAYED_MS).toFixed(0)} tokens/s; ${played}`);
  const keys = await frames_while(page, async () => {
    for (let i = 0; i < 100; ++i) await page.keyboard.press('ArrowRight');
  });
  console.log(`100 keys: ${keys}`);
}

main(async () => {
  const site = await serve({ port: 0 });
  const browser = await chromium.launch({
    executablePath: find_chromium(),
    args: ['--no-sandbox'],
  });
  console.log(`load of this machine: ${os.loadavg()[0].toFixed(1)} on ${os.cpus().length} cores`);
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(120_000);
    await page.addInitScript(watch);
    await page.addInitScript(pace_streams, RATE);
    await page.goto(`${site.url}#view=write&length=180&seed=5&prompt=Once%20upon`);
    await page.locator('.chip-name', { hasText: 'Sluice Stories' }).waitFor();
    await live(page);
    await replay(page);
  } finally {
    await browser.close();
    await site.close();
  }
  return 0;
});
