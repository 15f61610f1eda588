// Measures how quick the built page stays with much in it: 200 messages, one of 100 KB and one with a code block of 2,000
// lines; an answer of 100 KB while it is written; a search through 1,000 conversations; memory over 20 switches.
//   node e2e/bench/page.mjs [--answer] [--profile FILE]      --answer: only the answer
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { ROOT, main } from '../../scripts/lib.mjs';
import { serve } from '../../scripts/serve.mjs';
import { find_chromium } from './chromium.mjs';
import { median } from './figures.mjs';
import { counts } from './page_memory.mjs';
import { code, conversations, long_talk, markdown } from './page_texts.mjs';

/** Runs in the page: collects what keeps its thread busy. */
function watch() {
  const seen = { tasks: [], keys: [], gaps: [], shift: 0 };
  globalThis.seen = seen;
  const observe = (type, each, options = {}) =>
    new PerformanceObserver((list) => list.getEntries().forEach(each)).observe({
      type,
      buffered: true,
      ...options,
    });
  observe('longtask', ({ duration }) => seen.tasks.push(duration));
  observe('layout-shift', ({ value, hadRecentInput }) => {
    if (!hadRecentInput) seen.shift += value;
  });
  const key = ({ name, duration }) => name.startsWith('key') && seen.keys.push(duration);
  observe('event', key, { durationThreshold: 16 });
  let last = performance.now();
  const frame = (now) => {
    seen.gaps.push(now - last);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

const worst = (values) => (values.length === 0 ? 0 : Math.max(...values));
const ms = (value) => `${value.toFixed(0)} ms`;

function say(what, { tasks, keys, gaps, shift }) {
  const over = gaps.filter((gap) => gap > 50).length;
  const parts = [
    `longest task ${ms(worst(tasks))} (${tasks.length} over 50 ms)`,
    `longest gap between frames ${ms(worst(gaps))} (${over} of ${gaps.length} over 50 ms)`,
    `layout shift ${shift.toFixed(4)}`,
  ];
  // Events of less than 16 ms aren't told.
  if (keys.length > 0) parts.unshift(`key to paint ${ms(median(keys))}, worst ${ms(worst(keys))}`);
  console.log(`${what}: ${parts.join('; ')}`);
}

/** What is seen while `work` runs. */
async function seen_while(page, what, work) {
  await page.evaluate(() => {
    Object.assign(globalThis.seen, { tasks: [], keys: [], gaps: [], shift: 0 });
  });
  await work();
  // Event timing is told after the frame.
  await page.evaluate(() => new Promise((done) => setTimeout(done, 300)));
  const seen = await page.evaluate(() => globalThis.seen);
  say(what, seen);
  return seen;
}

/** Imports a file. It lies on the disk: bytes would be decoded by the page's thread. */
async function bring(page, name, text) {
  const file = path.join(ROOT, 'build/bench', name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
  await page.locator('.list input[type=file]').setInputFiles(file);
}

/** Seconds that the page's thread has spent so far. */
async function durations(cdp) {
  const { metrics } = await cdp.send('Performance.getMetrics');
  const names = ['Task', 'Script', 'Layout', 'RecalcStyle'].map((name) => `${name}Duration`);
  return Object.fromEntries(
    metrics.filter(({ name }) => names.includes(name)).map(({ name, value }) => [name, value]),
  );
}

async function measure(page, cdp) {
  const field = page.locator('#draft');
  const item = (title) => page.locator('.item-open').filter({ hasText: title });
  await seen_while(page, 'importing three conversations', async () => {
    await bring(page, 'long.json', long_talk());
    await item('Long').first().waitFor();
    await bring(page, 'a.json', JSON.stringify({ title: 'Other', messages: markdown_talk(30) }));
    await item('Other').waitFor();
  });
  await seen_while(page, 'opening 200 messages', async () => {
    await item('Long').click();
    await page.locator('.message').nth(199).waitFor();
  });
  await seen_while(page, 'typing below them', async () => {
    await field.pressSequentially('How quick is this field below so many messages?', { delay: 80 });
  });
  await field.fill('');
  await cdp.send('Performance.enable');
  const all = [];
  for (let i = 0; i < 20; ++i) {
    await item(i % 2 === 0 ? 'Other' : 'Long').click();
    await page
      .locator('.message')
      .nth(i % 2 === 0 ? 29 : 199)
      .waitFor();
    if (i % 2 === 0) await page.locator('.message').nth(30).waitFor({ state: 'detached' });
    await page.waitForFunction(() => document.querySelector('.markdown:empty') === null);
    if (i % 2 === 1) all.push(await counts(cdp));
  }
  for (const [i, { nodes, listeners, heap }] of all.entries()) {
    if (![1, 4, 9].includes(i)) continue;
    console.log(
      `after ${2 * i + 2} switches: ${nodes} nodes, ${listeners} listeners, ${(heap / 1e6).toFixed(1)} MB of heap`,
    );
  }
  await page.getByRole('button', { name: 'New conversation' }).first().click();
  await seen_while(page, 'importing 1,000 conversations', async () => {
    await bring(page, 'many.json', conversations(1000));
    await item('Talk 999').waitFor();
  });
  await seen_while(page, 'typing beside 1,000 conversations', async () => {
    await field.pressSequentially('How quick is it here?', { delay: 80 });
  });
  await field.fill('');
  await seen_while(page, 'searching 1,000 conversations', async () => {
    await page.locator('#search').pressSequentially('grammar quote', { delay: 80 });
    await page.locator('.list .label', { hasText: /conversations found/ }).waitFor();
  });
  await page.locator('#search').fill('');
}

async function measure_answer(page, cdp, args) {
  const field = page.locator('#draft');
  await seen_while(page, 'loading a model', async () => {
    await page.locator('.chip').click();
    await page
      .locator('dialog[open] input[type=file]')
      .first()
      .setInputFiles(await scripted());
    await page.locator('.chip-name', { hasText: 'Bench' }).waitFor();
  });
  await cdp.send('Performance.enable');
  const before = await durations(cdp);
  const profile = args.indexOf('--profile');
  if (profile >= 0) {
    await cdp.send('Profiler.enable');
    await cdp.send('Profiler.start');
  }
  await seen_while(page, 'writing an answer of 100 KB', async () => {
    await field.fill('Write it');
    await field.press('Enter');
    await page.locator('.message-figures').last().waitFor({ timeout: 580_000 });
  });
  const after = await durations(cdp);
  const length = await page
    .locator('.message .markdown')
    .last()
    .evaluate((e) => e.textContent.length);
  const spent = Object.keys(after).map(
    (name) => `${name} ${ms(1000 * (after[name] - before[name]))}`,
  );
  console.log(`  its ${length} characters took the page's thread: ${spent.join(', ')}`);
  if (profile >= 0) {
    const result = await cdp.send('Profiler.stop');
    fs.writeFileSync(args[profile + 1], JSON.stringify(result.profile));
  }
}

function markdown_talk(n) {
  return Array.from({ length: n }, (_, i) => ({
    role: i % 2 === 0 ? 'user' : 'assistant',
    content: i % 2 === 0 ? `Question ${i}` : markdown(2000, i),
  }));
}

/** The model whose answer is long. It is made by a module in TypeScript. */
async function scripted() {
  const { build } = await import('esbuild');
  const outfile = path.join(ROOT, 'build/bench/scripted-model.mjs');
  const entry = path.join(ROOT, 'e2e/scripted-model.ts');
  await build({ entryPoints: [entry], outfile, bundle: true, platform: 'node', format: 'esm' });
  const { scriptedModelBytes } = await import(outfile);
  const scripts = [`${markdown(95_000, 1)}\n\n${code(200)}`];
  const file = path.join(ROOT, 'build/bench/long-answer.gguf');
  const bytes = scriptedModelBytes({ name: 'Bench', scripts, contextLength: 131_072 });
  fs.writeFileSync(file, bytes);
  return file;
}

main(async () => {
  const args = process.argv.slice(2);
  const site = await serve({ port: 0 });
  const browser = await chromium.launch({
    executablePath: find_chromium(),
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
  console.log(`load of this machine: ${os.loadavg()[0].toFixed(1)} on ${os.cpus().length} cores`);
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(180_000);
    const cdp = await page.context().newCDPSession(page);
    await page.addInitScript(watch);
    await page.goto(`${site.url}#view=talk&context=65536`);
    await page.locator('.chip-name', { hasText: 'Sluice Stories' }).waitFor();
    if (!args.includes('--answer')) await measure(page, cdp);
    await measure_answer(page, cdp, args);
  } finally {
    await browser.close();
    await site.close();
  }
  return 0;
});
