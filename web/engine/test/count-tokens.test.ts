// countTokens, and what stats say of chats.
import { describe, expect, it } from 'vitest';
import type { CoreStats } from '../src/shared/protocol.js';
import { NO_STATS, PageSession, type PageSessionHooks } from '../src/page/session.js';
import type { Finish } from '../src/shared/types.js';
import { ask, asStream, load, posted, until } from './chat-setup.js';
import { FakeWorker } from './fake-workers.js';

const user = (content: string): { role: string; content: string } => ({ role: 'user', content });

it('counts what a request for the same has as its prompt', async () => {
  const engine = await load();
  const messages = [user('Hi'), { role: 'assistant', content: 'Yes' }, user('grün')];
  const { usage } = await engine.chat.completions.create({ messages });
  expect(await engine.countTokens(messages)).toBe(usage.prompt_tokens);
  expect(await engine.countTokens('abc')).toBe(3);
  expect(await engine.countTokens('')).toBe(0);
  expect(await engine.countTokens([5, 6])).toBe(2);
  expect(FakeWorker.control.prompts).toBe(1); // that of the request is kept
  await engine.close();
});

it('gives the template what a request gives it', async () => {
  const engine = await load();
  const kwargs = { enable_thinking: false };
  await engine.countTokens([user('a')], { kwargs, chatTemplate: '{{ x }}' });
  const body = { chat_template_kwargs: kwargs, chat_template: '{{ x }}' };
  await engine.chat.completions.create(ask('a', body));
  const [counted, asked] = FakeWorker.control.asked.map((one) => one.slice(0, 6));
  expect(counted).toEqual(asked);
  expect(posted()).toHaveLength(1);
  await engine.close();
});

it('refuses what is neither, and ends with its signal', async () => {
  const engine = await load();
  const count = engine.countTokens as (...given: unknown[]) => Promise<number>;
  for (const [given, message] of [
    [[{}], 'prompt is {}; give a string or an array'],
    [[[{ role: 1 }]], 'messages[0].role is 1; give'],
    [[[user('wrong')]], 'line 1 of the template'],
    [['a', { kwarg: {} }], "unknown option 'kwarg'"],
    [['a', { special: 1 }], 'special is 1; give true or false'],
  ] as const)
    await expect(count(...given)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(message) as string,
    });
  const controller = new AbortController();
  const { signal } = controller;
  const counting = engine.countTokens('endless', { signal });
  controller.abort();
  for (const call of [counting, count([1], { signal }), count([user('a')], { signal })])
    await expect(call).rejects.toMatchObject({ code: 'aborted' });
  await until(() => FakeWorker.control.encodings === 0);
  await engine.close();
});

describe('stats', () => {
  it('are those of the last chat, while it runs and after it', async () => {
    const engine = await load({ replyWaits: (i) => i >= 2 && 'weights' });
    await engine.complete('a b', { maxTokens: 1 });
    expect(engine.stats).toMatchObject({ finish: 'length' });
    const chunks = await engine.chat.completions.create(asStream('a b c'));
    await until(() => engine.stats.tokens === 2);
    expect(engine.stats).toMatchObject({ promptTokens: 7, tokens: 2, ttftMs: 25, finish: null });
    await chunks.return?.();
    expect(engine.stats).toMatchObject({ tokens: 2, finish: 'aborted' });
    FakeWorker.control.replyWaits = () => false;
    await engine.chat.completions.create(ask('a b c'));
    expect(engine.stats).toMatchObject({ promptTokens: 7, tokens: 3, finish: 'eos' });
    await engine.completions.create({ prompt: 'abcd', max_tokens: 0 });
    expect(engine.stats).toMatchObject({ promptTokens: 4, tokens: 0, finish: 'length' });
    await engine.close();
  });

  it('are those of generate while that runs', () => {
    const hooks = {
      complete: (core: CoreStats, finish: Finish | null) => ({ ...core, finish }),
      ran: () => {},
    };
    const own = new PageSession(0, hooks as unknown as PageSessionHooks, NO_STATS);
    const run = own.begin(true, { seed: 7 });
    const chat = own.begin(false);
    chat.stats({ ...NO_STATS, seed: 9 });
    chat.ended('eos');
    expect(own.stats).toMatchObject({ seed: 7, finish: null });
    run.ended('length');
    expect(own.stats).toMatchObject({ seed: 7, finish: 'length' });
    const cancelled = own.begin(false);
    cancelled.ended('aborted');
    const next = own.begin(false);
    cancelled.stats({ ...NO_STATS, seed: 10 });
    expect(own.stats).toMatchObject({ seed: 7, finish: null });
    next.stats({ ...NO_STATS, seed: 11 });
    next.ended('eos');
    expect(own.stats).toMatchObject({ seed: 11, finish: 'eos' });
  });
});
