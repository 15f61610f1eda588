// engine.answer and session.answer: parts, their fold, how an answer ends, and who is to wait.
import { describe, expect, expectTypeOf, it } from 'vitest';
import {
  foldParts,
  type AnswerMessage,
  type AnswerPart,
  type AnswerRequest,
  type Engine,
} from '../src/index.js';
import { ask, collect, load, posted, until, user } from './chat-setup.js';
import { errorAnswer } from './fake-chat.js';
import { FakeWorker } from './fake-workers.js';

const to = (content: string, more: Partial<AnswerRequest> = {}): AnswerRequest => ({
  messages: [user(content)],
  ...more,
});
const THOUGHT = [
  { text: 'hm', reasoning: true },
  { text: '', reasoning: true },
  { text: 'a' },
  { text: 'b' },
];
const BARE = {
  tokens: [],
  dropped: 0,
  finish: 'aborted',
  message: { role: 'assistant', content: '', reasoning: '' },
};
const texts = (parts: readonly AnswerPart[]): string => parts.map(({ text }) => text).join('');

describe('the parts', () => {
  it('have the token, reasoning before text, and the candidates and bytes that are wanted', async () => {
    const engine = await load({ reply: () => [...THOUGHT, { text: '€' }] });
    expect(await collect(engine.answer(to('x')))).toEqual([
      { part: 'reasoning', id: 104, text: 'hm', logprob: -1 },
      { part: 'reasoning', id: 0, text: '', logprob: -1 },
      { part: 'text', id: 97, text: 'a', logprob: -1 },
      { part: 'text', id: 98, text: 'b', logprob: -1 },
      { part: 'text', id: 8364, text: '€', logprob: -1 },
    ]);
    const rich = await collect(engine.answer(to('x', { topLogprobs: 2, bytes: true })));
    expect(rich.at(2)).toEqual({
      part: 'text',
      id: 97,
      text: 'a',
      logprob: -1,
      top: [
        [97, -1],
        [98, -2],
      ],
      bytes: [97],
      topBytes: [[97], [98]],
    });
    expect(rich.at(4)?.bytes).toEqual([0xe2, 0x82]);
  });

  it('come to those who ask OpenAI’s way as the same texts', async () => {
    const engine = await load({ reply: () => THOUGHT });
    const parts = await collect(engine.answer(to('x', { seed: 1 })));
    const whole = await engine.chat.completions.create(ask('x', { seed: 1 }));
    const { content, reasoning } = foldParts(parts);
    expect(whole.choices[0]?.message).toMatchObject({ content, reasoning_content: reasoning });
    const [one, other] = posted().map(({ options: _, ...args }) => args);
    expect(one).toEqual(other);
  });

  it('get the request’s options, by the names of generate and of templates', async () => {
    const engine = await load();
    const request = to('a', {
      maxTokens: 5,
      temperature: 0,
      stop: 'x',
      seed: 9,
      ignoreEos: true,
      logitBias: { 5: 1 },
      thinking: true,
      thinkingTokens: 40,
      kwargs: { a: [1] },
      chatTemplate: 'mine',
      truncate: true,
      continueFinalMessage: true,
      state: 'it',
    });
    await collect(engine.answer(request));
    const [{ options, prompt, ...args }] = posted() as [ReturnType<typeof posted>[0]];
    expect(args).toMatchObject({ maxTokens: 5, thinkingTokens: 40, bytes: false });
    expect(args.state?.id).toBe('it');
    expect(JSON.parse(options)).toEqual({
      maxTokens: 5,
      temperature: 0,
      stop: ['x'],
      seed: 9,
      ignoreEos: true,
      logitBias: { 5: 1 },
    });
    expect(prompt).toEqual({
      kind: 'chat',
      messages: JSON.stringify([user('a')]),
      kwargs: '{"continue_final_message":true,"a":[1]}',
      chatTemplate: 'mine',
      truncate: true,
      thinking: 1,
    });
    await collect(engine.answer(to('a', { thinking: false, thinkingTokens: 40, maxTokens: -1 })));
    expect(posted()[1]).toMatchObject({ maxTokens: null, thinkingTokens: 0 });
    expect(posted()[1]?.prompt).toMatchObject({ thinking: 0, kwargs: '' });
  });

  it('take a message back that they made: templates get its reasoning by the name that they know', async () => {
    const engine = await load({ reply: () => THOUGHT });
    const stream = engine.answer(to('x'));
    await collect(stream);
    const { message } = await stream.ending;
    await collect(engine.answer({ messages: [user('x'), message, user('y')] }));
    const { messages } = posted()[1]?.prompt as { messages: string };
    expect(JSON.parse(messages)).toEqual([
      user('x'),
      { reasoning_content: 'hm', role: 'assistant', content: 'ab' },
      user('y'),
    ]);
  });

  it('are told how far the prompt is, and of messages that were left out', async () => {
    const engine = await load({ dropped: 3 });
    const stream = engine.answer(to('a b', { truncate: true }));
    await collect(stream);
    expect(await stream.ending).toMatchObject({ dropped: 3, finish: 'eos' });
    expect(engine.stats.notes.map(({ message }) => message)).toContain('dropped');
  });
});

describe('foldParts', () => {
  const part = (kind: string, text: string): AnswerPart =>
    ({ part: kind, id: 1, text, logprob: 0 }) as AnswerPart;

  it('makes the message, at once or bit by bit, and changes nothing that it is given', () => {
    const parts = [part('reasoning', 'h'), part('reasoning', 'm'), part('text', 'a')];
    const message = { role: 'assistant', content: 'a', reasoning: 'hm' };
    expect(foldParts(parts)).toEqual(message);
    let folded = foldParts([]);
    for (const one of parts) folded = foldParts([one], Object.freeze(folded));
    expect(folded).toEqual(message);
    expect(foldParts([part('text', 'b')], folded).content).toBe('ab');
    expectTypeOf(folded).toEqualTypeOf<AnswerMessage>();
  });

  it('goes on with an answer that was cut, and leaves out what it does not know', () => {
    const before = { role: 'assistant', content: 'Once', reasoning: 'so' } as const;
    expect(foldParts([part('text', ' upon'), part('tool_call', '{}')], before)).toEqual({
      ...before,
      content: 'Once upon',
    });
  });
});

describe('the end', () => {
  it('has the message, the tokens, the reason and the figures, as that of generate has', async () => {
    const engine = await load({ reply: () => THOUGHT });
    const stream = engine.answer(to('x', { maxTokens: 3 }));
    await collect(stream);
    const { stats, ...end } = await stream.ending;
    expect(end).toEqual({
      message: { role: 'assistant', content: 'a', reasoning: 'hm' },
      tokens: [104, 0, 97],
      dropped: 0,
      finish: 'length',
    });
    expect(stats).toMatchObject({
      promptTokens: 3,
      tokens: 3,
      reasoningTokens: 2,
      finish: 'length',
    });
    expect(engine.stats).toEqual(stats);
    const tokens = engine.generate('a b', { maxTokens: 3 });
    await collect(tokens);
    const text = await tokens.ending;
    expect(text).toEqual({
      ...(await engine.complete('a b', { maxTokens: 3 })),
      stats: text.stats,
    });
    expect(text).toMatchObject({ finish: 'length', stats: { tokens: 3, finish: 'length' } });
  });

  it('comes when the loop is left, with what was written, and the next one begins', async () => {
    const engine = await load({ replyWaits: (i) => i === 2 && 'weights' });
    const stream = engine.answer(to('a b c d'));
    let seen = '';
    for await (const { text } of stream) {
      seen += text;
      if (seen === 'a b') break;
    }
    expect(await stream.ending).toMatchObject({
      message: { content: 'a b' },
      finish: 'aborted',
      stats: { tokens: 2, finish: 'aborted' },
    });
    await until(() => FakeWorker.control.cancels === 1);
    FakeWorker.control.replyWaits = () => false;
    expect(texts(await collect(engine.answer(to('next'))))).toBe('next');
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  it('of one that was never read comes when it is left, and it does no work', async () => {
    const engine = await load();
    const stream = engine.answer(to('a'));
    await stream.return?.();
    expect(await stream.ending).toMatchObject(BARE);
    const tokens = engine.generate('a');
    await tokens.return?.();
    expect(await tokens.ending).toMatchObject({ text: '', tokens: [], finish: 'aborted' });
    expect(posted()).toEqual([]);
  });

  it.each(['while it is written', 'while it waits', 'before it begins'])(
    'is the signal’s reason, %s',
    async (when) => {
      const engine = await load({ replyWaits: (i) => i === 1 && 'weights' });
      const stop = new AbortController();
      const reason = new Error('enough');
      const first = when === 'while it waits' ? engine.answer(to('z z')) : null;
      await first?.next();
      const stream = engine.answer(to('a b', { signal: stop.signal }));
      if (when === 'before it begins') stop.abort(reason);
      const reading = collect(stream);
      if (when === 'while it is written')
        await until(() => FakeWorker.control.replies.length === 1);
      stop.abort(reason);
      await expect(reading).rejects.toBe(reason);
      await expect(stream.ending).rejects.toBe(reason);
      await first?.return?.();
      FakeWorker.control.replyWaits = () => false;
      expect(texts(await collect(engine.answer(to('next'))))).toBe('next');
      expect(FakeWorker.control.replies).toHaveLength(when === 'before it begins' ? 1 : 2);
    },
  );

  it('is the error in the middle, after the parts before it', async () => {
    const engine = await load({
      replyFails: (i) => (i === 2 ? errorAnswer('out_of_memory', 'no room') : null),
    });
    const stream = engine.answer(to('a b c'));
    let seen = '';
    const read = async (): Promise<void> => {
      for await (const { text } of stream) seen += text;
    };
    await expect(read()).rejects.toMatchObject({ code: 'out_of_memory' });
    expect(seen).toBe('a b');
    await expect(stream.ending).rejects.toMatchObject({ code: 'out_of_memory' });
  });

  it('is that of the engine, if that is closed', async () => {
    const engine = await load({ replyWaits: () => 'weights' });
    const [written, waiting] = [engine.answer(to('a')), engine.answer(to('b'))];
    const reads = [collect(written), collect(waiting)];
    await until(() => FakeWorker.control.replies.length === 1);
    await engine.close();
    for (const read of [...reads, written.ending, waiting.ending])
      await expect(read).rejects.toMatchObject({ code: 'aborted' });
    await expect(engine.answer(to('c')).next()).rejects.toMatchObject({ code: 'closed' });
  });
});

describe('a reader that stalls', () => {
  it('lets the engine rest, and then gets all parts', async () => {
    let steps = 0;
    const engine = await load({
      contextSize: 1e6,
      reply: () => Array.from({ length: 1500 }, () => ({ text: 'x' })),
      // A token takes so long that a slice has few of them.
      replyWaits: () => {
        const later = performance.now() + 0.1;
        while (performance.now() < later);
        steps += 1;
        return false;
      },
    });
    const stream = engine.answer(to('a'));
    await stream.next();
    const held = (): boolean =>
      FakeWorker.all.some(({ heard }) => heard.some((one) => one.type === 'hold' && one.on));
    await until(held);
    for (let i = 0; i < 20; ++i) await engine.tokenize('b');
    const before = steps;
    expect(before).toBeLessThan(700);
    for (let i = 0; i < 20; ++i) await engine.tokenize('b');
    expect(steps).toBe(before);
    expect(await collect(stream)).toHaveLength(1499);
    expect((await stream.ending).tokens).toHaveLength(1500);
  });
});

describe('answers wait for each other', () => {
  it('in one queue with the requests in OpenAI’s shape', async () => {
    const engine = await load({ replyWaits: (i) => i === 1 && 'weights' }, { queueLimit: 1 });
    const first = engine.answer(to('a b'));
    await first.next();
    const second = engine.chat.completions.create(ask('c'));
    await expect(engine.answer(to('d')).next()).rejects.toMatchObject({ code: 'busy' });
    FakeWorker.control.replyWaits = () => false;
    await first.return?.();
    expect((await second).choices[0]?.message.content).toBe('c');
  });
});

describe('an answer in a session', () => {
  /** The prompt is '<a>', the answer one token for each word. */
  const reused = (): number[] => FakeWorker.control.replies.map(({ reused: n }) => n);

  it('leaves its tokens there, and the next one computes what is new', async () => {
    const engine = await load();
    const session = engine.session();
    const first = session.answer(to('a b'));
    expect(texts(await collect(first))).toBe('a b');
    const { message } = await first.ending;
    expect(String.fromCodePoint(...(await session.tokens()))).toBe('<a b>a b');
    await collect(session.answer({ messages: [user('a b'), message, user('c')] }));
    expect(reused()).toEqual([0, 8]);
    expect(session.stats).toMatchObject({ promptTokens: 11, reusedTokens: 8, finish: 'eos' });
    // The engine's own sessions know nothing of it, and its figures neither.
    await collect(engine.answer(to('a b')));
    expect(reused()).toEqual([0, 8, 0]);
  });

  it('goes on beside others, of its clone too, and an equal seed makes them equal', async () => {
    const engine = await load({ reply: (_, { seed = 0 }) => [{ text: 's' }, { text: `${seed}` }] });
    const session = engine.session();
    await collect(session.answer(to('a', { seed: 1 })));
    const clone = session.clone();
    const held = engine.answer(to('z'));
    await held.next();
    const both = [session, clone].map((one) => collect(one.answer(to('a b', { seed: 5 }))));
    const [one, other] = await Promise.all(both);
    expect(one).toEqual(other);
    expect(texts(one ?? [])).toBe('s5');
    expect(await session.tokens()).toEqual(await clone.tokens());
    await clone.truncate(2);
    expect(await clone.tokens()).toHaveLength(2);
    await clone.close();
    expect(texts(await collect(session.answer(to('a', { seed: 6 }))))).toBe('s6');
    await held.return?.();
  });

  it('is saved and restored with it', async () => {
    const engine = await load();
    const session = engine.session();
    await collect(session.answer(to('a')));
    const again = await engine.restore(await session.save());
    expect(await again.tokens()).toEqual(await session.tokens());
    await collect(
      again.answer({ messages: [user('a'), { role: 'assistant', content: 'a' }, user('b')] }),
    );
    expect(reused()).toEqual([0, 4]);
  });

  it('is busy while it writes, and closing it ends the answer', async () => {
    const engine = await load({ replyWaits: (i) => i === 1 && 'weights' });
    const session = engine.session();
    const stream = session.answer(to('a b'));
    await stream.next();
    await expect(session.answer(to('c')).next()).rejects.toMatchObject({ code: 'busy' });
    await expect(session.generate('c').next()).rejects.toMatchObject({ code: 'busy' });
    await expect(engine.chat.completions.create(ask('c'), { session })).rejects.toMatchObject({
      code: 'busy',
    });
    expect(() => session.clone()).toThrow(/generating/);
    const end = expect(stream.next()).rejects.toMatchObject({ code: 'aborted' });
    await session.close();
    await end;
    await expect(stream.ending).rejects.toMatchObject({ code: 'aborted' });
    await expect(session.answer(to('c')).next()).rejects.toMatchObject({ code: 'closed' });
    FakeWorker.control.replyWaits = () => false;
    expect(texts(await collect(engine.answer(to('next'))))).toBe('next');
  });

  it('that fails leaves the session usable', async () => {
    const engine = await load({
      replyFails: (i) => (i === 1 ? errorAnswer('out_of_memory', 'no room') : null),
    });
    const session = engine.session();
    await expect(collect(session.answer(to('a b')))).rejects.toMatchObject({
      code: 'out_of_memory',
    });
    await expect(collect(session.answer(to('wrong')))).rejects.toThrow(/template/);
    FakeWorker.control.replyFails = () => null;
    expect(texts(await collect(session.answer(to('a b'))))).toBe('a b');
    expect(FakeWorker.control.prompts).toBe(0);
  });
});

describe('OpenAI’s shape in a session', () => {
  it('writes its answers there, n of them, whole or as chunks', async () => {
    const engine = await load();
    const session = engine.session();
    const whole = await engine.chat.completions.create(ask('a', { n: 2 }), { session });
    expect(whole.choices.map(({ message }) => message.content)).toEqual(['a', 'a']);
    expect(whole.usage.prompt_tokens_details.cached_tokens).toBe(0);
    const chunks = await engine.chat.completions.create({ ...ask('a'), stream: true }, { session });
    await collect(chunks);
    expect(posted().map((args) => args.session)).toEqual([1, 1, 1]);
    expect(String.fromCodePoint(...(await session.tokens()))).toBe('<a>a');
    const text = await engine.completions.create({ prompt: 'bc' }, { session });
    expect(text.choices[0]?.text).toBe('bc');
    expect(String.fromCodePoint(...(await session.tokens()))).toBe('bcbc');
  });

  it('refuses what is no session of this engine, and a state besides', async () => {
    const engine = await load();
    const other = (await load()).session();
    const create = (session: unknown, more = {}): Promise<unknown> =>
      engine.chat.completions.create(ask('a', more), { session: session as never });
    const like: unknown = Object.create(Object.getPrototypeOf(other) as object);
    for (const wrong of [other, like, engine, {}, 1, 'x'])
      await expect(create(wrong)).rejects.toMatchObject({
        code: 'invalid_argument',
        param: 'session',
      });
    await expect(create(engine.session(), { state: 'it' })).rejects.toMatchObject({
      param: 'state',
    });
    await expect(create(null)).resolves.toBeDefined();
    // Through a proxy, as a framework holds it.
    await expect(create(new Proxy(engine.session(), {}))).resolves.toBeDefined();
  });
});

describe('a wrong request', () => {
  it.each<[string, object | undefined, RegExp]>([
    ['nothing', undefined, /options are undefined/],
    ['no messages', {}, /messages is undefined; give an array of messages/],
    ['no message', { messages: [] }, /messages is empty/],
    [
      'an image',
      { messages: [user('a'), { role: 'user', content: [{ type: 'image' }] }] },
      /'image'/,
    ],
    ['an unknown name', { ...to('a'), max_tokens: 3 }, /it is called maxTokens here/],
    ['special', { ...to('a'), special: true }, /unknown option 'special'/],
    ['a wrong option', to('a', { temperature: -1 }), /temperature is -1/],
    ['a wrong number', to('a', { thinkingTokens: -1 }), /thinkingTokens is -1/],
    ['a wrong state', to('a', { state: '' }), /state is ''/],
    ['kwargs that are no JSON', to('a', { kwargs: { a: 1n } }), /can't be read/],
  ])('is refused when the first part is asked for: %s', async (_, request, message) => {
    const engine = await load();
    const stream = engine.answer(request as AnswerRequest);
    const error = { code: 'invalid_argument', message: expect.stringMatching(message) as string };
    await expect(stream.next()).rejects.toMatchObject(error);
    await expect(stream.ending).rejects.toMatchObject(error);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(posted()).toEqual([]);
  });

  it('can’t name a state in a session', async () => {
    const engine: Engine = await load();
    const stream = engine.session().answer(to('a', { state: 'it' }));
    await expect(stream.next()).rejects.toThrow(/save the session with its save\(\)/);
  });
});
