// An answer as it can be looked into: what stood before it, its tokens, the answers beside it.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { partsOf, textOf, type Parts } from '../src/history/parts';
import type { Message } from '../src/history/tree';
import type { Insight } from '../src/inside/library';
import { opened } from '../src/inside/looks';
import { firstOf, partsWith, subjectOf } from '../src/talk/look';
import { FakeBrowser, soon, type FakeEngine, type FakeTab } from './controllers';

let browser: FakeBrowser;
let tab: FakeTab;
let engine: FakeEngine;

/** A tokenizer of letters, with a template that says who speaks. */
const asked: { messages: unknown; options: unknown }[] = [];
const insight = {
  info: { tokenizer: { bos: 0, eos: 1 } },
  tokenize: async (text: string) => [...text].map((one) => one.charCodeAt(0)),
  countTokens: async (text: string) => text.length + 1,
  pieces: async (ids: number[]) => ids.map((id) => String.fromCharCode(id)),
  applyTemplate: async (messages: { role: string; content: string }[], options: object) => {
    asked.push({ messages, options });
    return messages.map(({ role, content }) => `${role[0]}:${content}`).join('|');
  },
} as unknown as Insight;
const codes = (text: string): number[] => [0, ...[...text].map((one) => one.charCodeAt(0))];

beforeEach(async () => {
  asked.length = 0;
  browser = new FakeBrowser();
  tab = browser.tab();
  engine = tab.lender.has();
  await tab.ready();
});
afterEach(async () => {
  opened.value = null;
  await browser.close();
});

const last = (): Message => tab.talk.shown.value.at(-1) as Message;
const looked = () => subjectOf({ talk: tab.talk, lender: tab.lender, settings: tab.settings });

async function talked(...words: string[]): Promise<Message> {
  const before = engine.asked.length;
  tab.say('Hi');
  await soon(() => expect(engine.asked.length).toBe(before + 1));
  const answer = engine.asked.at(-1);
  for (const content of words)
    await answer?.say({ content, more: { id: content.charCodeAt(0), logprob: -1 } });
  await answer?.end();
  await soon(() => expect(tab.runs.busy.value).toBe(false));
  return last();
}

it('knows what stood before it, by the template', async () => {
  const { id } = await talked('a', 'b');
  const subject = looked();
  expect(subject.value).toBeNull();
  opened.value = { answer: id };
  expect(subject.value).toMatchObject({ id, growing: false, own: true, by: 'The tiny' });
  expect(subject.value?.text()).toBe('ab');
  expect(await subject.value?.encode(insight, 0)).toEqual(codes('u:Hi'));
  expect(asked.at(-1)?.options).toEqual({});
  tab.settings.value = { ...tab.settings.value, reasoning: 'off' };
  expect(await subject.value?.encode(insight, 1)).toEqual(codes('u:Hi|a:a'));
  expect(asked.at(-1)?.options).toEqual({
    continueFinalMessage: true,
    kwargs: { enable_thinking: false },
  });
  // Another model is there: it did not write this.
  tab.lender.has('other');
  expect(subject.value?.own).toBe(false);
});

it('writes on with another token as the answer beside it, and each knows of the other', async () => {
  const first = await talked('a', 'b', 'c');
  opened.value = { answer: first.id };
  const subject = looked();
  expect(subject.value?.branch(0, 1, { id: 120, text: 'x', logprob: -3 }, [])).toBe(true);
  await soon(() => expect(engine.asked).toHaveLength(2));
  await engine.asked.at(-1)?.say({ content: 'y', more: { id: 121, logprob: -1 } });
  await engine.asked.at(-1)?.end();
  await soon(() => expect(tab.runs.busy.value).toBe(false));
  const second = last();
  expect(textOf(second)).toBe('axy');
  opened.value = { answer: second.id };
  expect(subject.value?.related).toEqual([{ id: first.id, at: 1, text: 'x', kind: 'parent' }]);
  subject.value?.show(first.id);
  expect(opened.value).toEqual({ answer: first.id });
  expect(last().id).toBe(first.id);
  expect(subject.value?.related).toEqual([{ id: second.id, at: 1, text: 'x', kind: 'branch' }]);
});

it('makes tokens of an answer of another visit; not where something was thought', async () => {
  const { id } = await talked('a', 'b');
  const next = browser.tab();
  await tab.library.settle();
  next.lender.has();
  const found = await next.library.openById(tab.talk.open.value.id);
  if (found === null) throw new Error('the conversation is gone');
  next.talk.show(found);
  opened.value = { answer: id };
  const subject = subjectOf({ talk: next.talk, lender: next.lender, settings: next.settings });
  expect(subject.value?.log.runs).toEqual([]);
  expect(await subject.value?.retell?.(insight)).toBe(true);
  expect(next.talk.logOf(id)?.runs).toMatchObject([
    { ids: [97, 98], lengths: [1, 1], raws: [null, null], seed: 5, promptTokens: 7 },
  ]);
});

it('cuts and joins the parts of a message', () => {
  const parts: Parts = partsOf('said', 'thought');
  expect(firstOf(parts, 3)).toEqual(partsOf('', 'tho'));
  expect(firstOf(parts, 9)).toEqual(partsOf('sa', 'thought'));
  expect(partsWith(parts, 9, '!')).toEqual(partsOf('sa!', 'thought'));
  expect(partsWith(parts, 3, '!')).toEqual(partsOf('', 'tho!'));
  expect(partsWith(parts, 7, '!')).toEqual(partsOf('!', 'thought'));
  expect(partsWith(parts, 11, '!')).toEqual(partsOf('said!', 'thought'));
});
