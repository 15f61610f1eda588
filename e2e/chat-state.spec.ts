// The states of conversations that the device keeps: after a reload only what is new is computed, and the text is the same.
import type { ChatCompletion, KeptState } from '@sluice/engine';
import type { Page } from '@playwright/test';
import { expect, test } from './fixtures';
import { PLAIN_TEMPLATE as TEMPLATE, harness, type LibraryWindow } from './library';
import { NO_NATIVE, nativeBuilt } from './models';

declare const window: LibraryWindow;

const STORY =
  'Once upon a time, there was a little girl named Lily. She had a cat and a red ball. ';
const FIRST = STORY.repeat(20);
const SECOND = ' Then the cat said "';

interface Message {
  role: string;
  content: string;
}

interface Asked {
  url: string;
  messages: Message[];
  state: string | null;
  load?: object;
  seed?: number;
  /** Answered first, by the same engine. */
  before?: Message[];
}

interface Answered {
  text: string;
  cached: number;
  prompt: number;
  logprobs: number[];
  /** Why its state is not kept. */
  notKept: (string | undefined)[];
}

/** Runs in the page: answers with a new engine, and waits until the state is kept. */
async function answer({
  url,
  messages,
  state,
  load,
  seed = 7,
  before,
  template,
}: Asked & { template: string }): Promise<Answered> {
  const { Engine, states } = window.library;
  const engine = await Engine.load(url, { contextSize: 2048, ...load });
  const options = { seed, max_tokens: 12, chat_template: template, logprobs: true };
  if (before !== undefined) await engine.chat.completions.create({ ...options, messages: before });
  const answered: ChatCompletion = await engine.chat.completions.create({
    ...options,
    messages,
    state,
  });
  const { usage, choices } = answered;
  const kept = async (): Promise<boolean> => {
    const notKept = engine.stats.notes.some(({ code }) => code === 'state_not_kept');
    const mine = (await states.list()).find(({ id }) => id === state);
    const { held = [] } = await navigator.locks.query();
    // It is written until its lock is free.
    const written = !held.some(({ name = '' }) => name.startsWith('sluice-state:'));
    return state === null || notKept || (written && (mine?.tokens ?? 0) === usage.total_tokens - 1);
  };
  while (!(await kept())) await new Promise((next) => setTimeout(next, 20));
  const { notes } = engine.stats;
  await engine.close();
  return {
    text: choices[0]?.message.content ?? '',
    cached: usage.prompt_tokens_details.cached_tokens,
    prompt: usage.prompt_tokens,
    logprobs: (choices[0]?.logprobs?.content ?? []).map(({ logprob }) => logprob),
    notKept: notes.flatMap(({ code, facts }) => (code === 'state_not_kept' ? [facts?.reason] : [])),
  };
}

function ask(page: Page, asked: Asked): Promise<Answered> {
  return page.evaluate(answer, { ...asked, template: TEMPLATE });
}

function list(page: Page): Promise<KeptState[]> {
  return page.evaluate(() => window.library.states.list());
}

/** Runs in the page: flips a bit of the only state's file. */
async function damage(at: number): Promise<void> {
  const root = await navigator.storage.getDirectory();
  const folder = await root.getDirectoryHandle('sluice');
  for await (const [name, handle] of folder.entries()) {
    if (!name.endsWith('.state')) continue;
    const file = await (handle as FileSystemFileHandle).getFile();
    const bytes = new Uint8Array(await file.arrayBuffer());
    bytes[at] = (bytes[at] as number) ^ 1;
    const writable = await (handle as FileSystemFileHandle).createWritable();
    await writable.write(bytes);
    await writable.close();
  }
}

const user = (content: string): Message => ({ role: 'user', content });
const assistant = (content: string): Message => ({ role: 'assistant', content });

test('after a reload a conversation computes only what is new, and writes the same text', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const url = models.good('stories.gguf');
  const first = await ask(page, { url, messages: [user(FIRST)], state: 'a' });
  expect(first.cached).toBe(0);
  expect(first.prompt).toBeGreaterThan(300);
  const [kept] = await list(page);
  expect(kept).toMatchObject({ id: 'a', tokens: first.prompt + 11 });
  expect(Date.now() - (kept?.used ?? 0)).toBeLessThan(3_600_000);

  await harness(page, site);
  const messages = [user(FIRST), assistant(first.text), user(SECOND)];
  const afresh = await ask(page, { url, messages, state: null });
  expect(afresh.cached).toBe(0);
  // The last token that was written is not computed, and then there is what is new.
  const second = await ask(page, { url, messages, state: 'a' });
  expect(second.cached).toBe(first.prompt + 11);
  expect({ ...second, cached: 0 }).toEqual(afresh);
  expect(second.notKept).toEqual([]);

  // With another type of the cache it counts as absent, and is replaced.
  const other = await ask(page, { url, messages, state: 'a', load: { kvType: 'q8_0' } });
  expect(other.cached).toBe(0);
  const again = await ask(page, { url, messages, state: 'a', load: { kvType: 'q8_0' } });
  expect(again.cached).toBe(again.prompt - 1);
  expect(again.text).toBe(other.text);
});

// With these seeds they write text; bytes that are none are not found again in the history.
for (const [name, seed] of [
  ['gemma4-q8_0.gguf', 57],
  ['qwen35-q8_0.gguf', 4],
] as const) {
  test(`${name}: after a reload a conversation goes on and is edited with the same text`, async ({
    page,
    site,
    models,
  }) => {
    test.skip(!nativeBuilt, NO_NATIVE);
    await harness(page, site);
    const url = models.good(name);
    const load = { contextSize: 512 };
    // Longer than any window; a token is a letter or two.
    const begin = STORY.repeat(2).trim();
    const about = { url, load, seed };
    const first = await ask(page, { ...about, messages: [user(begin)], state: 'a' });
    const goesOn = [user(begin), assistant(first.text), user(SECOND)];
    // The first message ends otherwise.
    const edited = [user(`${begin.slice(0, -4)}!`), assistant(' A red ball.'), user(SECOND)];
    await harness(page, site);
    const second = await ask(page, { ...about, messages: goesOn, state: 'a' });
    expect(second.cached).toBe(first.prompt + 11);
    // The tokens that were written may be others than those of their text.
    const before = [user(begin)];
    expect(await ask(page, { ...about, before, messages: goesOn, state: null })).toEqual(second);

    await harness(page, site);
    const third = await ask(page, { ...about, messages: edited, state: 'a' });
    const afresh = await ask(page, { ...about, messages: edited, state: null });
    expect({ ...third, cached: 0 }).toEqual(afresh);
    for (const { notKept } of [first, second, third]) expect(notKept).toEqual([]);
    expect(await list(page)).toMatchObject([{ id: 'a', tokens: third.prompt + 11 }]);
  });
}

test('a damaged state ends before the damage', async ({ page, site, models }) => {
  await harness(page, site);
  const url = models.good('stories.gguf');
  const messages = [user(FIRST)];
  const whole = await ask(page, { url, messages, state: 'a' });
  const [{ bytes = 0 } = {}] = await list(page);
  await page.evaluate(damage, bytes - 20);
  const found = await ask(page, { url, messages, state: 'a' });
  expect(found.cached).toBeGreaterThanOrEqual(256);
  expect(found.cached % 256).toBe(0);
  expect({ ...found, cached: 0 }).toEqual(whole);
  await page.evaluate(damage, 1200);
  expect(await ask(page, { url, messages, state: 'a' })).toEqual(whole);
  expect((await ask(page, { url, messages, state: 'a' })).cached).toBe(whole.prompt - 1);
});

test('the least recently used states go when there is no room', async ({ page, site, models }) => {
  await harness(page, site);
  const url = models.good('stories.gguf');
  for (const state of ['a', 'b', 'c']) await ask(page, { url, messages: [user(STORY)], state });
  const all = await list(page);
  expect(all.map(({ id }) => id)).toEqual(['c', 'b', 'a']);
  const bytes = Math.max(...all.map((one) => one.bytes));
  await page.evaluate((limit) => window.library.states.limit(limit), 2 * bytes);
  expect((await list(page)).map(({ id }) => id)).toEqual(['c', 'b']);
  await ask(page, { url, messages: [user(STORY)], state: 'd' });
  expect((await list(page)).map(({ id }) => id)).toEqual(['d', 'c']);
  const { text, notKept } = await ask(page, { url, messages: [user(FIRST)], state: 'e' });
  expect(text).not.toBe('');
  expect(notKept).toEqual(['storage_full']);
  expect((await list(page)).map(({ id }) => id)).not.toContain('e');
  expect(await page.evaluate(() => window.library.states.delete('d'))).toBe(true);
  await page.evaluate(() => window.library.states.clear());
  expect(await list(page)).toEqual([]);
});

test('an answer that is stopped is kept, and another tab goes without meanwhile', async ({
  page,
  context,
  site,
  models,
}) => {
  await harness(page, site);
  const url = models.good('stories.gguf');
  const other = await context.newPage();
  await harness(other, site);
  // The answer goes on until it is stopped.
  await page.evaluate(
    async ({ url, messages, template }) => {
      const engine = await window.library.Engine.load(url, { contextSize: 2048 });
      const stop = new AbortController();
      const chunks = await engine.chat.completions.create({
        messages,
        state: 'a',
        stream: true,
        chat_template: template,
        signal: stop.signal,
      });
      await chunks.next();
      // However soon the answer ends, this tab goes on holding its state.
      const { held = [] } = await navigator.locks.query();
      const name = held.find((lock) => lock.name?.startsWith('sluice-state:'))?.name ?? '';
      let release = (): void => {};
      const released = new Promise<void>((resolve) => (release = resolve));
      void navigator.locks.request(name, () => released);
      Object.assign(window, { chunks, stop, engine, release });
    },
    { url, messages: [user(FIRST)], template: TEMPLATE },
  );
  const without = await ask(other, { url, messages: [user(STORY)], state: 'a' });
  expect(without.text).not.toBe('');
  expect(without.notKept).toEqual(['in_use']);
  await page.evaluate(() => {
    const { stop, release } = window as unknown as {
      stop: AbortController;
      release: () => void;
    };
    stop.abort();
    release();
  });
  await expect.poll(async () => (await list(other))[0]?.tokens ?? 0).toBeGreaterThan(300);
  const next = await ask(other, { url, messages: [user(`${FIRST}!`)], state: 'a' });
  expect(next.cached).toBeGreaterThan(300);
  expect(next.notKept).toEqual([]);
  await other.close();
});

test('without storage the answer comes all the same, with a note', async ({
  page,
  site,
  models,
}) => {
  // Workers read the storage, so their script is changed.
  await page.route('**/engine/engine-worker.js', async (route) => {
    const response = await route.fetch();
    const body = `navigator.storage.getDirectory = () => Promise.reject(new DOMException('no', 'SecurityError'));\n`;
    await route.fulfill({ response, body: body + (await response.text()) });
  });
  await harness(page, site);
  const url = models.good('stories.gguf');
  const { text, notKept } = await ask(page, { url, messages: [user(STORY)], state: 'a' });
  expect(text).not.toBe('');
  expect(notKept).toEqual(['refused']);
});

test('a measurement tells about how fast a model decodes', async ({ page, site, models }) => {
  await harness(page, site);
  const found = await page.evaluate(async (url) => {
    const { Engine } = window.library;
    const rate = await Engine.measure();
    const { memory } = await Engine.probe(url);
    const engine = await Engine.load(url);
    await engine.ready;
    await engine.complete('Once', { maxTokens: 60, ignoreEos: true });
    const { tokensPerSecond, threads, bytesPerToken } = engine.stats;
    await engine.close();
    return { rate, memory, tokensPerSecond, threads, bytesPerToken };
  }, models.good('stories.gguf'));
  expect(found.memory?.bytesPerToken).toBe(found.bytesPerToken);
  expect(found.rate.threads).toBe(found.threads);
  const estimate = found.rate.bytesPerSecond / found.bytesPerToken;
  // It is of this machine, which may do other things: only the order of magnitude is expected.
  expect(estimate / found.tokensPerSecond).toBeGreaterThan(0.1);
  expect(estimate / found.tokensPerSecond).toBeLessThan(100);
});
