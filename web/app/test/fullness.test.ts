// How full the context is, and what can be done when something does not fit.
import { signal } from '@preact/signals';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Does } from '../src/model/makes';
import type { Model } from '../src/model/state';
import type { Source } from '../src/model/source';
import { Fullness } from '../src/talk/fullness';
import { FakeBrowser, settled, soon, type FakeEngine, type FakeTab } from './controllers';

let browser: FakeBrowser;
let tab: FakeTab;
let engine: FakeEngine;
let fullness: Fullness;
const does = signal<Does | null>('writes');
const loads: Source[] = [];
let end: () => void;

beforeEach(async () => {
  browser = new FakeBrowser();
  tab = browser.tab();
  engine = tab.lender.has();
  // A token for each character, and one for each message.
  engine.count = (messages) =>
    (messages as { content: string }[]).reduce((n, { content }) => n + content.length + 1, 0);
  const model = tab.lender.model.value as Model;
  const memory = { contextSize: 100, kv: 0, kvType: 'f16', kvBytesPerToken: 1 };
  const info = { ...model.info, contextLength: 1024, memory };
  tab.lender.model.value = { ...model, info } as unknown as Model;
  does.value = 'writes';
  loads.length = 0;
  fullness = new Fullness({
    talk: tab.talk,
    lender: tab.lender,
    runs: tab.runs,
    does,
    settings: tab.settings,
    engine: () => engine.engine,
    load: (source) => void loads.push(source),
    clock: tab.clock,
  });
  end = fullness.count();
  await tab.ready();
});
afterEach(async () => {
  end();
  await browser.close();
});

/** Types this, and rests. */
async function types(text: string): Promise<void> {
  tab.talk.field.draft.value = text;
  tab.clock.pass(250);
  await settled();
}

it('counts what is in the field when the reader rests, with the system prompt where it stands alone', async () => {
  tab.talk.field.draft.value = 'abc';
  tab.clock.pass(249);
  await settled();
  expect(fullness.used.value).toBe(0);
  tab.clock.pass(1);
  await settled();
  expect(fullness.used.value).toBe(4);
  const { tree } = tab.talk.open.value;
  tree.value = { ...tree.value, system: 'x'.repeat(99) };
  await types('abcd');
  expect(fullness.used.value).toBe(5);
  expect(fullness.tooLong.value).toBe(99 + 1 + 5 + 1 - 100);
  await types('');
  expect(fullness.used.value).toBe(0);
});

it('warns, and says by how much something is too long', async () => {
  await types('x'.repeat(85));
  expect([fullness.nearlyFull.value, fullness.tooLong.value]).toEqual([true, 0]);
  tab.talk.field.draft.value = 'x'.repeat(101);
  // Longer than the context has tokens: it waits until it is counted.
  expect(fullness.uncounted.value).toBe(true);
  await types('x'.repeat(101));
  expect(fullness.uncounted.value).toBe(false);
  expect(fullness.tooLong.value).toBe(3);
  expect(fullness.outgrown.value).toBe(3);
  does.value = 'finds';
  expect(fullness.contextSize.value).toBe(0);
  expect([fullness.tooLong.value, fullness.nearlyFull.value]).toEqual([0, false]);
});

it('counts what was said, and what is being written', async () => {
  tab.say('Hello');
  const answer = await engine.answer();
  await answer.say({ content: 'a' }, { content: 'b' });
  tab.clock.draw();
  expect(fullness.used.value).toBe(2);
  await answer.end();
  await soon(() => expect(tab.runs.busy.value).toBe(false));
  // 2 of the prompt were there, 5 were computed.
  expect(fullness.used.value).toBe(9);
  tab.list.newConversation();
  expect(fullness.used.value).toBe(0);
});

it('counts a conversation whose last answer was stopped', async () => {
  tab.say('Hello');
  const answer = await engine.answer();
  await answer.say({ content: 'a' }, { content: 'b' });
  tab.runs.stop();
  await soon(() => expect(tab.runs.busy.value).toBe(false));
  // Hello, and ab
  await soon(() => expect(fullness.used.value).toBe(5 + 1 + 2 + 1));
  await types('xy');
  expect(fullness.used.value).toBe(9 + 3);
});

it('offers a larger context that holds it, and loads the model with it', async () => {
  await types('x'.repeat(200));
  expect(fullness.larger.value?.size).toBe(512);
  tab.lender.loads();
  fullness.takeLarger();
  expect(loads).toEqual([]);
  tab.lender.loading.value = null;
  fullness.takeLarger();
  expect(tab.settings.value.context).toBe(512);
  expect(loads).toEqual([tab.lender.model.value?.source]);
  expect(tab.talk.field.draft.value).toHaveLength(200);
  await types('x'.repeat(2000));
  expect(fullness.larger.value).toBeNull();
});

it('keeps no count of another text, or where counting fails', async () => {
  let come = (_: number): void => undefined;
  const slow = new Promise<number>((resolve) => (come = resolve));
  engine.count = () => slow as never;
  await types('first');
  engine.count = () => 7;
  await types('second');
  expect(fullness.used.value).toBe(7);
  come(99);
  await settled();
  expect(fullness.used.value).toBe(7);
  engine.count = () => Promise.reject(new Error('closed')) as never;
  await types('third');
  expect(fullness.used.value).toBe(0);
});

it('an answer waits for no count', async () => {
  engine.count = () => new Promise(() => {}) as never;
  await types('abc');
  const ofField = engine.counting;
  expect(ofField?.aborted).toBe(false);
  tab.say('Hello');
  expect(ofField?.aborted).toBe(true);
  await engine.answer();
  tab.runs.stop();
  await soon(() => expect(tab.runs.busy.value).toBe(false));
  const ofStopped = engine.counting;
  expect(ofStopped).not.toBe(ofField);
  expect(ofStopped?.aborted).toBe(false);
  tab.say('Again');
  await soon(() => expect(ofStopped?.aborted).toBe(true));
});
