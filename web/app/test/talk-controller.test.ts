// What the reader does with a conversation, and what happens meanwhile.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { partsOf, textOf } from '../src/history/parts';
import { HistoryError, type Store } from '../src/history/store';
import { path, siblings, type Message } from '../src/history/tree';
import type { Loading } from '../src/model/state';
import {
  FakeBrowser,
  settled,
  soon,
  storeWith,
  type FakeEngine,
  type FakeTab,
} from './controllers';
import { texts } from './history-setup';

let browser: FakeBrowser;
let tab: FakeTab;
let engine: FakeEngine;

beforeEach(async () => {
  browser = new FakeBrowser();
  tab = browser.tab();
  engine = tab.lender.has();
  await tab.ready();
});
afterEach(() => browser.close());

const shown = (of: FakeTab = tab): string[] => of.talk.shown.value.map(textOf);
const last = (of: FakeTab = tab): Message => of.talk.shown.value.at(-1) as Message;
const idle = (of: FakeTab = tab): Promise<unknown> =>
  soon(() => expect(of.runs.busy.value).toBe(false));
const live = (of: FakeTab = tab): [string, string][] =>
  (of.talk.answering.value?.parts.value ?? []).map(({ part, text }) => [part, text.value]);
/** What the database has of the conversation that is shown. */
const read = async (): Promise<string[]> =>
  texts(await browser.tab().library.read(tab.talk.open.value.id));
/** The same when all is written. */
const kept = async (): Promise<string[]> => {
  await tab.library.settle();
  return read();
};

/** Sends a message, and gives its answer. */
async function asks(text: string, of = tab, by = engine) {
  const before = by.asked.length;
  of.say(text);
  await soon(() => expect(by.asked.length).toBe(before + 1));
  return by.answer();
}

/** A conversation with one answer. */
async function talked(...said: string[]): Promise<void> {
  for (const text of said) {
    const answer = await asks(text);
    await answer.say({ content: `${text}!` });
    await answer.end();
    await idle();
  }
  // For other tabs
  await tab.library.settle();
}

it('sends what is in the field, and keeps the parts of its answer', async () => {
  const answer = await asks(' Hello ');
  expect(tab.talk.field.draft.value).toBe('');
  expect(tab.talk.doing.value).toBe('reading');
  expect(answer.messages).toEqual([{ role: 'user', content: 'Hello' }]);
  await answer.say({ reasoning: 'Let me' });
  // The first token at once, the others with the next frame.
  expect(live()).toEqual([['reasoning', 'Let me']]);
  expect(tab.talk.doing.value).toBe('writing');
  await answer.say({ reasoning: ' think.' }, { content: 'Well' }, { content: ', hi.' });
  expect(live()).toEqual([['reasoning', 'Let me']]);
  tab.clock.draw();
  expect(live()).toEqual([
    ['reasoning', 'Let me think.'],
    ['text', 'Well, hi.'],
  ]);
  expect(tab.talk.answering.value?.tokens.value).toBe(4);
  await answer.end();
  await idle();
  expect(last()).toMatchObject({
    parts: partsOf('Well, hi.', 'Let me think.'),
    finish: 'stop',
    figures: { tokens: 4, promptTokens: 7, reusedTokens: 2, seed: 5, model: 'The tiny' },
  });
  expect(tab.talk.conversation.value).toMatchObject({ model: 'tiny', from: 'ref:tiny' });
  expect(tab.lender.learned).toEqual([{ tokens: 4, tokensPerSecond: 10, bytesPerToken: 1 }]);
  expect(tab.clock.waiting.frames).toBe(0);
  expect(await kept()).toEqual(['Hello', 'Well, hi.']);
});

it('sends nothing while it can’t', async () => {
  const sends = (text: string): boolean => {
    tab.say(text);
    return tab.talk.field.draft.value === '';
  };
  expect(sends('')).toBe(true);
  expect(shown()).toEqual([]);
  tab.lender.model.value = null;
  expect(sends('no model')).toBe(false);
  engine = tab.lender.has();
  tab.talk.field.add([{ name: 'a.txt', text: '' }]);
  expect(sends('a file is being read')).toBe(false);
  tab.talk.field.attachments.value = [];
  const answer = await asks('Hello');
  expect(sends('it is being answered')).toBe(false);
  tab.talk.again(last().id);
  tab.talk.goOn();
  expect(engine.asked).toHaveLength(1);
  await answer.end();
  await idle();
  expect(shown()).toEqual(['Hello', '']);
});

it('stops while it waits for a model: the message stays, the answer goes', async () => {
  tab.lender.loads();
  tab.say('Hello');
  expect(shown()).toEqual(['Hello', '']);
  expect(tab.talk.doing.value).toBe('waiting');
  await tab.runs.finish();
  expect(shown()).toEqual(['Hello']);
  expect(tab.told).toEqual(['stopped']);
  expect(engine.asked).toEqual([]);
  expect(await kept()).toEqual(['Hello']);
});

it('stops while the prompt is read', async () => {
  const answer = await asks('Hello');
  await tab.runs.finish();
  expect((answer.request['signal'] as AbortSignal).aborted).toBe(true);
  expect(shown()).toEqual(['Hello']);
  expect(tab.talk.answering.value).toBeNull();
  expect(tab.talk.open.value.work).toBeNull();
});

it('stops while it writes: all that came stays, also what no frame has shown', async () => {
  const answer = await asks('Hello');
  await answer.say({ content: 'One' }, { content: ' two' }, { content: ' three' });
  expect(live()).toEqual([['text', 'One']]);
  await tab.runs.finish();
  expect(last()).toMatchObject({ parts: partsOf('One two three'), finish: 'aborted' });
  expect(tab.clock.waiting.frames).toBe(0);
  expect(tab.told).toEqual(['stopped']);
  expect(await kept()).toEqual(['Hello', 'One two three']);
});

it('keeps what came before an error, which belongs to its conversation', async () => {
  const answer = await asks('Hello');
  await answer.say({ content: 'Half' });
  answer.fail(new Error('worker_died'));
  await idle();
  expect(last()).toMatchObject({ parts: partsOf('Half'), finish: 'error' });
  expect(tab.talk.failure.value).toMatchObject({ code: 'worker_died' });
  // The page has no other place for it.
  expect(tab.lender.problem.value).toBeNull();
  const failed = tab.talk.open.value;
  tab.list.newConversation();
  expect(tab.talk.failure.value).toBeNull();
  tab.talk.show(failed);
  expect(tab.talk.failure.value).not.toBeNull();
  // A load begins: it is about another engine.
  tab.lender.loading.value = {} as Loading;
  expect(tab.talk.failure.value).toBeNull();
});

it('leaves no answer of which nothing came before the error, and takes the error away with the next one', async () => {
  const answer = await asks('Hello');
  answer.fail(new Error('out_of_memory'));
  await idle();
  expect(shown()).toEqual(['Hello']);
  expect(tab.talk.failure.value).toMatchObject({ code: 'out_of_memory' });
  tab.talk.answer();
  expect(tab.talk.failure.value).toBeNull();
  const next = await engine.answer();
  await next.say({ content: 'Hi' });
  await next.end();
  await idle();
  expect(shown()).toEqual(['Hello', 'Hi']);
});

it('goes on in its conversation while another one is shown, and lets it go at its end', async () => {
  const answer = await asks('Hello');
  await answer.say({ content: 'One' });
  const first = tab.talk.open.value;
  tab.talk.field.draft.value = 'for later';
  tab.list.newConversation();
  expect(tab.talk.field.draft.value).toBe('');
  expect(tab.talk.answeringHere.value).toBeNull();
  expect(tab.talk.doing.value).toBe('idle');
  expect(tab.talk.sendable.value).toBe(false);
  await answer.say({ content: ' two' });
  await answer.end();
  await idle();
  expect(shown()).toEqual([]);
  expect(texts(first.tree.value)).toEqual(['Hello', 'One two']);
  await tab.library.settle();
  // Another tab may write it now.
  await soon(() => expect(first.writer.value).toBe(false));
  await tab.list.openConversation(first.id);
  expect(tab.talk.open.value).not.toBe(first);
  expect(shown()).toEqual(['Hello', 'One two']);
  expect(tab.talk.field.draft.value).toBe('for later');
});

it('ends with its conversation, which is deleted here', async () => {
  tab.list.leaveDeleted();
  const answer = await asks('Hello');
  await answer.say({ content: 'One' });
  const { id } = tab.talk.open.value;
  await tab.list.remove(id, 'Hello');
  await idle();
  expect(tab.talk.open.value.id).not.toBe(id);
  await tab.library.settle();
  expect(await browser.tab().library.read(id)).toBeNull();
  expect(tab.states.deleted).toContain(id);
});

it('ends with its conversation, which another tab deletes', async () => {
  tab.list.leaveDeleted();
  const answer = await asks('Hello');
  await answer.say({ content: 'One' });
  await tab.library.settle();
  const { id } = tab.talk.open.value;
  const other = browser.tab();
  await other.library.forget(id);
  await idle();
  await soon(() => expect(tab.talk.open.value.id).not.toBe(id));
  // What the reader is told is that it was deleted, not that an answer was stopped.
  expect(tab.told).toEqual(['Hello was deleted']);
  await tab.library.settle();
  await soon(async () => expect(await browser.tab().library.read(id)).toBeNull());
  expect(tab.library.summaries.value).toEqual([]);
});

it('edits, retries and goes between branches', async () => {
  await talked('Hello', 'More');
  const [hello, first] = tab.talk.shown.value as [Message, Message];
  tab.talk.field.draft.value = 'half a thought';
  tab.talk.field.startEdit(hello);
  expect(tab.talk.field.draft.value).toBe('Hello');
  const answer = await asks('Hallo');
  // The thought comes back.
  expect(tab.talk.field.draft.value).toBe('half a thought');
  expect(answer.messages).toEqual([{ role: 'user', content: 'Hallo' }]);
  await answer.say({ content: 'Servus' });
  await answer.end();
  await idle();
  expect(shown()).toEqual(['Hallo', 'Servus']);

  tab.talk.again(last().id);
  const other = await engine.answer();
  await soon(() => expect(engine.asked).toHaveLength(4));
  await (engine.asked.at(-1) ?? other).say({ content: 'Moin' });
  await engine.asked.at(-1)?.end();
  await idle();
  expect(shown()).toEqual(['Hallo', 'Moin']);
  tab.talk.switchTo(hello.id);
  expect(shown()).toEqual(['Hello', 'Hello!', 'More', 'More!']);
  tab.talk.again(first.id);
  await soon(() => expect(engine.asked).toHaveLength(5));
  expect(engine.asked.at(-1)?.messages).toEqual([{ role: 'user', content: 'Hello' }]);
  await tab.runs.finish();
  // Of the answer that never came nothing stays.
  expect(path(tab.talk.conversation.value)).toHaveLength(4);
});

it.each([
  ['in its text', [{ reasoning: 'Hm. ' }, { content: 'One \n' }], [0, 1]],
  ['in its reasoning', [{ reasoning: 'Hm. ' }], [0]],
])('goes on with an answer that was cut %s', async (_, chunks, parts) => {
  const answer = await asks('Count');
  await answer.say(...chunks);
  await answer.end('length');
  await idle();
  const cut = last();
  expect(cut.finish).toBe('length');
  tab.talk.goOn();
  await soon(() => expect(engine.asked).toHaveLength(2));
  const more = engine.asked[1];
  expect(more?.request['continueFinalMessage']).toBe(true);
  expect(more?.messages).toEqual([
    { role: 'user', content: 'Count' },
    parts.length === 2
      ? { role: 'assistant', content: 'One', reasoning_content: 'Hm.' }
      : { role: 'assistant', content: '<think>\nHm.' },
  ]);
  await more?.say({ reasoning: parts.length === 1 ? 'So:' : undefined, content: ' two' } as never);
  await more?.end();
  await idle();
  expect(last()).toMatchObject({
    id: cut.id,
    parts: parts.length === 2 ? partsOf('One two', 'Hm.') : partsOf(' two', 'Hm. So:'),
    finish: 'stop',
    // With those that were there.
    figures: { tokens: (cut.figures?.tokens ?? 0) + 1 },
  });
  expect(tab.talk.shown.value).toHaveLength(2);
});

it('begins anew with the next engine, where the load of the first one fails', async () => {
  const answer = await asks('Hello');
  await answer.say({ reasoning: 'The first' }, { content: 'thinks' });
  const second = tab.lender.replace('second');
  const next = await second.answer();
  expect(live()).toEqual([]);
  expect(tab.talk.answering.value?.tokens.value).toBe(0);
  await next.say({ content: 'The second' });
  await next.end();
  await idle();
  expect(last()).toMatchObject({ parts: partsOf('The second'), figures: { tokens: 1 } });
  expect(tab.talk.conversation.value.model).toBe('second');
});

it('takes the engine that has come while it waited', async () => {
  tab.lender.loads();
  tab.say('Hello');
  const next = tab.lender.has('next');
  const answer = await next.answer();
  await answer.say({ content: 'Hi' });
  await answer.end();
  await idle();
  expect(engine.asked).toEqual([]);
  expect(tab.talk.conversation.value.model).toBe('next');
});

it('stops where another tab takes over, which has all that was written', async () => {
  const answer = await asks('Hello');
  await answer.say({ content: 'One' }, { content: ' two' });
  await tab.library.settle();
  const other = browser.tab();
  await other.list.openConversation(tab.talk.open.value.id);
  expect(other.talk.sendable.value).toBe(false);
  await other.talk.open.value.takeOver();
  await idle();
  await soon(() => expect(shown(other)).toEqual(['Hello', 'One two']));
  expect(last(other).finish).toBe('aborted');
  // This tab reads from now on.
  expect(tab.talk.open.value.writer.value).toBe(false);
  expect(tab.talk.sendable.value).toBe(false);
  const engineThere = other.lender.has();
  const more = await asks('More', other, engineThere);
  await more.say({ content: 'More!' });
  await more.end();
  await idle(other);
  await soon(() => expect(shown()).toEqual(['Hello', 'One two', 'More', 'More!']));
});

it('goes on where nothing can be kept, and keeps all of it once there is room', async () => {
  let full = true;
  const put =
    (by: Store): Store['put'] =>
    (...all) =>
      full ? Promise.reject(new HistoryError('full')) : by.put(...all);
  const poor = browser.tab((by) => storeWith(by, { put: put(by) }));
  const by = poor.lender.has();
  await poor.ready();
  const answer = await asks('Hello', poor, by);
  await answer.say({ content: 'One' });
  await soon(() => expect(poor.library.trouble.value).toBe('full'));
  await answer.end();
  await idle(poor);
  expect(shown(poor)).toEqual(['Hello', 'One']);
  const { id } = poor.talk.open.value;
  expect(await tab.library.read(id)).toBeNull();
  // It stays here also when another one is shown.
  poor.list.newConversation();
  await poor.library.settle();
  await poor.list.openConversation(id);
  expect(shown(poor)).toEqual(['Hello', 'One']);
  full = false;
  poor.list.newConversation();
  await poor.library.settle();
  expect(poor.library.trouble.value).toBeNull();
  expect(texts(await tab.library.read(id))).toEqual(['Hello', 'One']);
});

it('shows once a frame what comes, and keeps it twice a second, also while no frame is drawn', async () => {
  const answer = await asks('Hello');
  await answer.say({ content: '0' });
  await tab.library.settle();
  const writes = vi.spyOn(tab.library, 'written');
  let changes = 0;
  const undo = tab.talk.answering.value?.tokens.subscribe(() => ++changes);
  for (let i = 1; i <= 20; ++i) {
    await answer.say({ content: ` ${i}` }, { content: ',' });
    tab.clock.draw();
  }
  // Once when the test begins to look.
  expect(changes).toBe(21);
  tab.clock.hidden = true;
  await answer.say({ content: ' unseen' });
  await soon(async () => expect((await read()).at(-1)).toMatch(/unseen$/));
  expect(writes.mock.calls.length).toBeLessThanOrEqual(2);
  undo?.();
  await answer.end();
  await idle();
});

it('shows what a quick model says with every second frame', async () => {
  const answer = await asks('Hello');
  await answer.say({ content: '0' });
  const shown: string[] = [];
  for (let i = 1; i <= 6; ++i) {
    await answer.say({ content: String(i) });
    tab.clock.draw(16);
    shown.push(live()[0]?.[1] ?? '');
  }
  expect(shown).toEqual(['0', '012', '012', '01234', '01234', '0123456']);
  await answer.end();
  await idle();
});

it('reads out each sentence of the conversation that is shown once', async () => {
  const said: string[] = [];
  tab.talk.spoken.subscribe((text) => said.push(text));
  const answer = await asks('Hello');
  await answer.say({ reasoning: 'I think. So. ' }, { content: 'One is here. Two' });
  tab.clock.draw();
  await answer.say({ content: ' is not. Three' });
  tab.clock.draw();
  await answer.end();
  await idle();
  expect(said.filter((text) => text !== '')).toEqual(['One is here.', 'Two is not.', 'Three']);
});

it('tells a story with the page’s own model, and begins it', async () => {
  const model = { ...tab.lender.model.value, source: { kind: 'bundled' } };
  tab.lender.model.value = { ...model, info: { ...model.info, metadata: {} } } as never;
  const answer = await asks('Tell me about a fox');
  expect(answer.request['prompt']).toBe('Once upon a time, there was a fox.');
  expect(answer.request).not.toHaveProperty('thinking');
  await answer.say({ content: ' It ran.' });
  await answer.end();
  await idle();
  expect(shown().at(-1)).toBe('Once upon a time, there was a fox. It ran.');
});

it('comes back after a reload, with what was in the fields', async () => {
  await talked('Hello');
  const { id } = tab.talk.open.value;
  tab.talk.field.keep(null);
  tab.talk.field.draft.value = 'a draft';
  tab.clock.pass(300);
  tab.library.tabs.close();
  const next = browser.tab();
  next.drafts = tab.drafts;
  const remembered: (string | null)[] = [];
  await next.talk.comeBack({
    remembered: () => id,
    remember: (shownNow) => remembered.push(shownNow) > 0,
  });
  expect(shown(next)).toEqual(['Hello', 'Hello!']);
  expect(next.talk.field.draft.value).toBe('a draft');
  next.list.newConversation();
  expect(remembered).toEqual([id, null]);
});

it('comes back to a new conversation where the other one is gone, with its draft, and says where nothing is remembered', async () => {
  const field = { text: 'a draft', attachments: [], editing: null, refusal: '' };
  const aside = { text: '', attachments: [] };
  const gone = '0b8f3c1e-5a4d-4c6b-9e2f-7d1a3b5c9e0f';
  tab.drafts = new Map([[gone, { ...field, aside }]]);
  await tab.talk.comeBack({ remembered: () => gone, remember: () => false });
  expect(shown()).toEqual([]);
  expect(tab.talk.field.draft.value).toBe('a draft');
  expect(tab.library.trouble.value).toBe('none');
});

it('takes what was typed before the conversation had come along with it', async () => {
  await talked('Hello');
  const { id } = tab.talk.open.value;
  const next = browser.tab();
  const coming = next.talk.comeBack({ remembered: () => id, remember: () => true });
  next.talk.field.draft.value = 'typed meanwhile';
  await coming;
  expect(shown(next)).toEqual(['Hello', 'Hello!']);
  expect(next.talk.field.draft.value).toBe('typed meanwhile');
});

it('leaves the conversation that comes back where the reader has begun another one', async () => {
  await talked('Hello');
  const { id } = tab.talk.open.value;
  tab.talk.open.value.leave();
  await tab.library.settle();
  const next = browser.tab();
  const by = next.lender.has();
  await next.ready();
  const coming = next.talk.comeBack({ remembered: () => id, remember: () => true });
  const answer = await asks('Another', next, by);
  await coming;
  expect(shown(next)).toEqual(['Another', '']);
  await answer.end();
  await idle(next);
  // Nobody holds the one that had come.
  await next.library.settle();
  await tab.list.openConversation(id);
  await soon(() => expect(tab.talk.open.value.writer.value).toBe(true));
});

it('takes a name that another tab gives while an answer is written', async () => {
  const answer = await asks('Hello');
  await answer.say({ content: 'One' });
  await tab.library.settle();
  const other = browser.tab();
  await other.list.rename(tab.talk.open.value.id, 'Named');
  await soon(() => expect(tab.talk.conversation.value.title).toBe('Named'));
  await answer.say({ content: ' two' });
  await answer.end();
  await idle();
  await tab.library.settle();
  const kept = await browser.tab().library.read(tab.talk.open.value.id);
  expect(kept).toMatchObject({ title: 'Named', named: true });
  expect(texts(kept)).toEqual(['Hello', 'One two']);
});

it('says where nothing can be kept or read, and goes on in the page’s memory', async () => {
  const blocked = browser.tab(() => {
    throw new HistoryError('none');
  });
  const by = blocked.lender.has();
  await blocked.ready();
  const answer = await asks('Hello', blocked, by);
  await answer.say({ content: 'Hi' });
  await answer.end();
  await idle(blocked);
  await blocked.library.settle();
  expect(blocked.library.trouble.value).toBe('none');
  const { id } = blocked.talk.open.value;
  blocked.list.newConversation();
  await blocked.library.settle();
  await blocked.list.openConversation(id);
  expect(shown(blocked)).toEqual(['Hello', 'Hi']);
  const get = (): Promise<never> => Promise.reject(new HistoryError('failed'));
  const broken = browser.tab((store) => storeWith(store, { get }));
  await broken.list.openConversation(id);
  expect(shown(broken)).toEqual([]);
  expect(broken.library.trouble.value).toBe('failed');
});

it('cuts off what a page was writing when it ended', async () => {
  const answer = await asks('Hello');
  await answer.say({ content: 'Half' });
  const { id } = tab.talk.open.value;
  tab.window.dispatchEvent(new Event('pagehide'));
  await settled();
  // Its lock goes with the page.
  await tab.talk.open.value.forgotten();
  const next = browser.tab();
  await next.list.openConversation(id);
  await soon(() => expect(last(next)).toMatchObject({ parts: partsOf('Half'), finish: 'aborted' }));
});

it('keeps the tokens of an answer, and what they were chosen from while somebody looks', async () => {
  tab.looking = true;
  const answer = await asks('Hello');
  expect(answer.request['trace']).toBe(256);
  const raw = { logSum: 1, entropy: 2, draws: 0, ids: [], logits: [] };
  await answer.say(
    { content: 'Good', more: { id: 4, logprob: -1, raw } },
    { content: ' day', more: { id: 5, logprob: -2 } },
  );
  await answer.end();
  await idle();
  expect(tab.talk.logOf(last().id)?.runs).toMatchObject([
    {
      begun: 0,
      from: 'text',
      ids: [4, 5],
      lengths: [4, 4],
      raws: [raw, null],
      seed: 5,
      promptTokens: 7,
    },
  ]);
  tab.looking = false;
  expect((await asks('Again')).request).not.toHaveProperty('trace');
  await tab.runs.finish();
});

it('branches off within an answer: a sibling that begins with its words and another token', async () => {
  const answer = await asks('Hello');
  await answer.say(
    { content: 'Good', more: { id: 4, logprob: -1 } },
    { content: ' day', more: { id: 5, logprob: -2 } },
    { content: '.', more: { id: 6, logprob: -2 } },
  );
  await answer.end();
  await idle();
  const first = last();
  const log = tab.talk.logOf(first.id)?.branch(0, 1, { id: 9, length: 15, logprob: -4 });
  if (log === undefined) throw new Error('no log');
  expect(tab.talk.branch('nobody', partsOf('Good evening to you'), log)).toBe(false);
  expect(tab.talk.branch(first.id, partsOf('Good evening to you'), log)).toBe(true);
  await soon(() => expect(engine.asked).toHaveLength(2));
  const other = await engine.answer();
  expect(engine.asked.at(-1)?.messages).toEqual([
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Good evening to you' },
  ]);
  expect(other.request['continueFinalMessage']).toBe(true);
  await other.say({ content: ', sir', more: { id: 8, logprob: -1 } });
  await other.end();
  await idle();
  expect(textOf(last())).toBe('Good evening to you, sir');
  // Two tokens were there, of four words, and one came.
  expect(last().figures?.tokens).toBe(3);
  expect(siblings(tab.talk.conversation.value, first.id)).toEqual([first.id, last().id]);
  expect(tab.talk.logOf(last().id)?.runs).toMatchObject([
    { from: 'text', ids: [4] },
    { from: 'reader', begun: 4, ids: [9] },
    { from: 'text', begun: 19, ids: [8] },
  ]);
  // The first answer is as it was.
  tab.talk.switchTo(first.id);
  expect(textOf(last())).toBe('Good day.');
});
