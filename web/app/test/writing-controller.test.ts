// Texts of the writing view, and what happens while one is written.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fromJson, toJson } from '../src/writing/kept-texts';
import type { TokenLog } from '../src/inside/log';
import { relatedTo } from '../src/writing/look';
import { FakeBrowser, modelOf, settled, soon, type FakeEngine, type FakeTab } from './controllers';

let browser: FakeBrowser;
let tab: FakeTab;
let engine: FakeEngine;

beforeEach(() => {
  browser = new FakeBrowser();
  tab = browser.tab();
  engine = tab.lender.has();
});
afterEach(() => browser.close());

const idle = (): Promise<unknown> => soon(() => expect(tab.runs.busy.value).toBe(false));

/** The run that `begin` begins. */
async function run(begin: () => void, by = engine) {
  const before = by.asked.length;
  begin();
  await soon(() => expect(by.asked.length).toBe(before + 1));
  return by.answer();
}
const writes = (prompt = 'Once'): ReturnType<typeof run> =>
  run(() => {
    tab.writing.prompt.value = prompt;
    tab.writing.write();
  });

/** A text that has ended. */
async function wrote(prompt: string, ...words: string[]): Promise<void> {
  const text = await writes(prompt);
  await text.say(...words.map((content) => ({ content })));
  await text.end();
  await idle();
}

it('writes from the prompt on, keeps the text, and says how it ended', async () => {
  const text = await writes();
  expect(text.request).toMatchObject({ prompt: 'Once', maxTokens: 256, seed: 5 });
  expect(tab.writing.writingNow.value).toBe(true);
  await text.say({ content: ' upon' }, { content: ' a' });
  expect(tab.writing.written.value).toMatchObject({ text: ' upon a', tokens: 2, finish: null });
  expect(tab.runs.run.value).toBe('writing');
  await text.end();
  await idle();
  expect(tab.writing.written.value).toMatchObject({
    prompt: 'Once',
    text: ' upon a',
    tokens: 2,
    finish: 'length',
    seed: 7,
    by: { name: 'tiny', kind: 'address', url: 'https://example.com/tiny.gguf' },
  });
  expect(tab.texts.texts).toEqual([tab.writing.written.value]);
  expect(tab.told).toEqual(['begun 0', 'done 2']);
  expect(tab.lender.learned).toEqual([engine.stats]);
  expect(tab.writing.writingNow.value).toBe(false);
});

it('begins nothing while it can’t', async () => {
  tab.lender.model.value = null;
  tab.writing.write();
  expect(tab.runs.busy.value).toBe(false);
  engine = tab.lender.has();
  const text = await writes();
  tab.writing.write();
  tab.writing.again();
  tab.writing.goOn();
  tab.writing.show(0);
  expect(engine.asked).toHaveLength(1);
  await text.end();
  await idle();
});

it('stops: what came stays, and before that the text that was shown comes back', async () => {
  await wrote('First', ' text');
  const first = tab.writing.written.value;
  const text = await writes('Second');
  expect(tab.writing.written.value).toMatchObject({ prompt: 'Second', text: '' });
  await tab.runs.finish();
  expect(tab.writing.written.value).toBe(first);
  expect(tab.writing.texts.value).toMatchObject({ at: 0 });
  expect((text.request['signal'] as AbortSignal).aborted).toBe(true);
  const third = await writes('Third');
  await third.say({ content: ' half' });
  await tab.runs.finish();
  expect(tab.writing.written.value).toMatchObject({ text: ' half', finish: 'aborted', seed: 7 });
  expect(tab.told.slice(-2)).toEqual(['begun 0', 'stopped 1']);
  expect(tab.writing.texts.value.texts.map(({ prompt }) => prompt)).toEqual(['First', 'Third']);
});

it('stops while it waits for a model', async () => {
  tab.lender.loads();
  tab.writing.write();
  expect(tab.runs.run.value).toBe('waiting');
  await tab.runs.finish();
  expect(tab.writing.written.value).toBeNull();
  expect(engine.asked).toEqual([]);
});

it('keeps what came before an error, which is told elsewhere', async () => {
  const text = await writes();
  await text.say({ content: ' half' });
  text.fail(new Error('worker_died'));
  await idle();
  expect(tab.writing.written.value).toMatchObject({ text: ' half', finish: null, seed: null });
  expect(tab.lender.problem.value).toMatchObject({ code: 'worker_died' });
  expect(tab.told).toEqual(['begun 0']);
  // The next one takes it away.
  await wrote('Once', ' more');
  expect(tab.lender.problem.value).toBeNull();
});

it('begins anew with the next engine, and is told as that one’s', async () => {
  const text = await writes();
  await text.say({ content: ' lost' });
  const second = tab.lender.replace('second');
  const next = await second.answer();
  expect(tab.writing.written.value).toMatchObject({ text: '', tokens: 0, by: { name: 'second' } });
  await next.say({ content: ' found' });
  await next.end();
  await idle();
  expect(tab.writing.written.value).toMatchObject({ text: ' found', by: { name: 'second' } });
});

it('stays the work of its model, though another one is there', async () => {
  await wrote('Once', ' more');
  const so = tab.writing.written.value;
  expect(so !== null && tab.writing.isByModel(so)).toBe(true);
  tab.lender.model.value = modelOf('other');
  expect(so !== null && tab.writing.isByModel(so)).toBe(false);
  tab.lender.model.value = null;
  expect(so !== null && tab.writing.isByModel(so)).toBe(false);
});

it('goes on with all that stands there, and not where the model has ended', async () => {
  await wrote('Once', ' upon', ' a\ufffd');
  expect(tab.writing.further.value).toBe('Once upon a');
  const more = await run(() => tab.writing.goOn());
  expect(more.request['prompt']).toBe('Once upon a');
  await more.say({ content: ' time' });
  engine.stats.finish = 'eos';
  await more.end();
  await idle();
  expect(tab.writing.written.value).toMatchObject({
    prompt: 'Once',
    text: ' upon a time',
    tokens: 3,
    begun: ' upon a'.length,
    finish: 'eos',
  });
  expect(tab.writing.texts.value.texts).toHaveLength(1);
  expect(tab.writing.further.value).toBeNull();
  tab.writing.goOn();
  expect(tab.runs.busy.value).toBe(false);
});

it('shows the text as it was where going on adds nothing', async () => {
  await wrote('Once', ' upon');
  const more = await run(() => tab.writing.goOn());
  await more.end();
  await idle();
  expect(tab.writing.written.value).toMatchObject({ text: ' upon', finish: 'length' });
  expect(tab.writing.texts.value.texts).toHaveLength(1);
});

it('goes through the texts of the visit, each with what was typed beside it', async () => {
  await wrote('One', ' a');
  await wrote('Two', ' b');
  tab.writing.prompt.value = 'typed beside two';
  tab.writing.show(0);
  expect(tab.writing.prompt.value).toBe('One');
  tab.writing.show(7);
  tab.writing.show(1);
  expect(tab.writing.prompt.value).toBe('typed beside two');
  // Another text from the prompt of this one.
  const again = await run(() => tab.writing.again());
  expect(again.request['prompt']).toBe('Two');
  await again.say({ content: ' c' });
  await again.end();
  await idle();
  expect(tab.writing.texts.value).toMatchObject({
    texts: [{ text: ' a' }, { text: ' b' }, { text: ' c' }],
    at: 2,
  });
});

it('has its texts after a reload, and what was being written as far as it came', async () => {
  await wrote('One', ' a');
  tab.writing.readKept();
  const text = await writes('Two');
  tab.window.dispatchEvent(new Event('pagehide'));
  expect(tab.texts.texts).toHaveLength(1);
  await text.say({ content: ' half' });
  tab.window.dispatchEvent(new Event('pagehide'));
  const next = browser.tab();
  next.texts = fromJson(toJson(tab.texts));
  next.writing.readKept();
  expect(next.writing.texts.value.texts).toHaveLength(2);
  expect(next.writing.written.value).toMatchObject({
    prompt: 'Two',
    text: ' half',
    finish: 'aborted',
    seed: 7,
  });
  await text.end();
  await idle();
  await settled();
});

/** Tokens with ids, as the library gives them. */
function told(id: number, content: string, raw?: object) {
  return { content, more: { id, logprob: -id / 10, ...(raw === undefined ? {} : { raw }) } };
}

it('keeps which tokens a text is made of, and what they were chosen from while somebody looks', async () => {
  const text = await writes();
  expect(text.request).not.toHaveProperty('trace');
  await text.say(told(5, ' upon'), told(6, ' a'));
  await text.end();
  await idle();
  const firstRun = { begun: 0, from: 'text', ids: [5, 6], lengths: [5, 2], seed: 7 };
  expect(tab.writing.written.value?.runs).toMatchObject([firstRun]);
  tab.looking = true;
  const raw = { logSum: 1, entropy: 2, draws: 0, ids: [], logits: [] };
  const more = await run(() => tab.writing.goOn());
  expect(more.request['trace']).toBe(256);
  await more.say(told(9, ' time', raw));
  await more.end();
  await idle();
  const so = tab.writing.written.value;
  if (so === null) throw new Error('no text');
  expect(so.runs).toMatchObject([firstRun, { begun: 7, from: 'text', ids: [9], lengths: [5] }]);
  expect(tab.writing.logOf(so).runs.map(({ raws }) => raws)).toEqual([[null, null], [raw]]);
  // A reload has the tokens, but not what they were chosen from.
  const [kept] = fromJson(toJson(tab.texts)).texts;
  expect(kept?.runs).toEqual(so.runs);
});

it('branches off: another text with the same beginning, from ids, that knows where it comes from', async () => {
  const first = await writes();
  await first.say(told(5, ' upon'), told(6, ' a'), told(7, ' time'));
  await first.end();
  await idle();
  const parent = tab.writing.written.value;
  if (parent === null) throw new Error('no text');
  const log = tab.writing.logOf(parent).branch(0, 1, { id: 8, length: 4, logprob: -3 });
  const branch = await run(() => tab.writing.branch(5, ' the', [1, 2, 5, 8], log));
  expect(branch.request['prompt']).toEqual([1, 2, 5, 8]);
  expect(tab.writing.written.value).toMatchObject({ text: ' upon the', tokens: 2, begun: 9 });
  await branch.say(told(4, ' sea'));
  await branch.end();
  await idle();
  const so = tab.writing.written.value;
  expect(so).toMatchObject({
    prompt: 'Once',
    text: ' upon the sea',
    tokens: 3,
    branch: { of: parent.id, at: 5 },
    runs: [
      { from: 'text', ids: [5], lengths: [5] },
      { from: 'reader', begun: 5, ids: [8], lengths: [4] },
      { from: 'ids', begun: 9, ids: [4], lengths: [4] },
    ],
  });
  expect(tab.writing.texts.value).toMatchObject({ at: 1, texts: [parent, so] });
  expect(so?.id).not.toBe(parent.id);
  expect(so === null ? [] : relatedTo(so, tab.writing.texts.value.texts)).toEqual([
    { id: parent.id, at: 5, text: ' the', kind: 'parent' },
  ]);
  expect(relatedTo(parent, tab.writing.texts.value.texts)).toEqual([
    { id: so?.id, at: 5, text: ' the', kind: 'branch' },
  ]);
  // The parent is as it was.
  tab.writing.show(0);
  expect(tab.writing.written.value).toBe(parent);
});

it('a branch that nothing follows stays; one that is stopped before its first token goes', async () => {
  await wrote('Once', ' upon', ' a');
  const parent = tab.writing.written.value;
  if (parent === null) throw new Error('no text');
  const log = (): TokenLog =>
    tab.writing.logOf(parent).branch(0, 1, { id: 8, length: 4, logprob: -3 });
  const stopped = await run(() => tab.writing.branch(5, ' the', [5, 8], log()));
  expect(stopped.request['prompt']).toEqual([5, 8]);
  await tab.runs.finish();
  expect(tab.writing.written.value).toBe(parent);
  const ended = await run(() => tab.writing.branch(5, ' the', [5, 8], log()));
  await ended.end();
  await idle();
  expect(tab.writing.texts.value).toMatchObject({
    at: 1,
    texts: [{ text: ' upon a' }, { text: ' upon the', branch: { of: parent.id } }],
  });
});

it('begins the tokens anew with the next engine', async () => {
  const text = await writes();
  await text.say(told(5, ' lost'));
  const second = tab.lender.replace('second');
  const next = await second.answer();
  await next.say(told(6, ' found'));
  await next.end();
  await idle();
  expect(tab.writing.written.value?.runs).toMatchObject([{ ids: [6] }]);
});
