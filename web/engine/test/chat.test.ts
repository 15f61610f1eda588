// engine.chat.completions and engine.completions: the shapes of the answers, and streams.
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { VERSION } from '../src/page/chat/shapes.js';
import type { ChatCompletionChunk } from '../src/index.js';
import { asStream, ask, collect, load, posted, until } from './chat-setup.js';
import { DROPPED, errorAnswer } from './fake-module.js';
import { FakeWorker } from './fake-workers.js';

const thinks = (): { text: string; reasoning?: boolean }[] => [
  { text: '', reasoning: true },
  { text: 'Hm', reasoning: true },
  { text: '.', reasoning: true },
  { text: '', reasoning: true },
  { text: 'Yes' },
  { text: '.' },
];

describe('a whole answer', () => {
  it("has OpenAI's shape", async () => {
    const engine = await load();
    const before = Math.floor(Date.now() / 1000);
    const answer = await engine.chat.completions.create(ask('a b c'));
    expect(answer).toEqual({
      id: expect.stringMatching(/^chatcmpl-[0-9a-f]{24}$/) as string,
      object: 'chat.completion',
      created: expect.any(Number) as number,
      model: 'llama',
      system_fingerprint: expect.stringMatching(/^fp_[0-9a-f]{8}$/) as string,
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'a b c', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: {
        prompt_tokens: 7,
        completion_tokens: 3,
        total_tokens: 10,
        prompt_tokens_details: { cached_tokens: 0 },
        completion_tokens_details: { reasoning_tokens: 0 },
      },
      timings: {
        cache_n: 0,
        prompt_n: 7,
        prompt_ms: 20,
        prompt_per_second: 350,
        predicted_n: 3,
        predicted_ms: 20,
        predicted_per_second: 150,
      },
    });
    expect(answer.created).toBeGreaterThanOrEqual(before);
    const again = await engine.chat.completions.create(ask('a b c', { max_tokens: 2 }));
    expect(again.id).not.toBe(answer.id);
    expect(again.system_fingerprint).toBe(answer.system_fingerprint);
    expect(again.choices[0]?.finish_reason).toBe('length');
    expect(again.usage.prompt_tokens_details.cached_tokens).toBe(6);
  });

  it('takes the version of the package into the fingerprint', () => {
    const manifest = fs.readFileSync(path.join(import.meta.dirname, '../package.json'), 'utf8');
    expect((JSON.parse(manifest) as { version: string }).version).toBe(VERSION);
  });

  it('has n answers with the seeds that follow, one after the other', async () => {
    const engine = await load({
      reply: (text, { seed }) => [{ text: `${text}${seed}` }],
    });
    const answer = await engine.chat.completions.create(ask('a', { n: 3, seed: 5 }));
    expect(answer.choices.map(({ index, message }) => [index, message.content])).toEqual([
      [0, 'a5'],
      [1, 'a6'],
      [2, 'a7'],
    ]);
    // The prompt counts once.
    expect(answer.usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 });
    expect(answer.timings.predicted_n).toBe(3);
    const wraps = await engine.chat.completions.create(ask('a', { n: 2, seed: 2 ** 53 - 1 }));
    expect(wraps.choices[1]?.message.content).toBe('a0');
    const drawn = await engine.chat.completions.create(ask('a', { n: 2 }));
    const [first, second] = drawn.choices.map(({ message }) => Number(message.content.slice(1)));
    expect(second).toBe((first as number) + 1);
  });

  it('has the reasoning apart', async () => {
    const engine = await load({ reply: thinks });
    const answer = await engine.chat.completions.create(ask('a'));
    expect(answer.choices[0]?.message).toEqual({
      role: 'assistant',
      content: 'Yes.',
      refusal: null,
      reasoning_content: 'Hm.',
    });
    expect(answer.usage.completion_tokens_details.reasoning_tokens).toBe(4);
    expect(answer.usage.completion_tokens).toBe(6);
  });

  it('has log-probabilities with bytes, of the content alone', async () => {
    const engine = await load({ reply: () => [{ text: 'é', reasoning: true }, { text: 'é' }] });
    const body = ask('a', { logprobs: true, top_logprobs: 2 });
    const { choices } = await engine.chat.completions.create(body);
    expect(choices[0]?.logprobs).toEqual({
      content: [
        {
          token: 'é',
          logprob: -1,
          bytes: [0xc3, 0xa9],
          top_logprobs: [
            { token: 'é', logprob: -1, bytes: [0xc3, 0xa9] },
            { token: 'ê', logprob: -2, bytes: [0xc3, 0xaa] },
          ],
        },
      ],
      refusal: null,
    });
    const plain = await engine.chat.completions.create(ask('a', { logprobs: true }));
    expect(plain.choices[0]?.logprobs?.content[0]?.top_logprobs).toEqual([]);
  });

  it('shows a part of a character as what it is', async () => {
    const engine = await load({ reply: () => [{ text: '€' }] });
    const { choices } = await engine.chat.completions.create(ask('a', { logprobs: true }));
    expect(choices[0]?.logprobs?.content[0]).toMatchObject({
      token: '\ufffd',
      bytes: [0xe2, 0x82],
    });
  });

  it('gives the options to the core by their names', async () => {
    const engine = await load();
    await engine.chat.completions.create(
      ask('a', {
        temperature: 0.5,
        top_p: 0.6,
        top_k: 7,
        min_p: 0.1,
        repetition_penalty: 1.1,
        seed: 9,
        stop: 'x',
        max_tokens: 20,
        max_completion_tokens: 10,
        logprobs: true,
        top_logprobs: 3,
        presence_penalty: 0.5,
        frequency_penalty: -2,
        logit_bias: { '50256': -100, 7: 1.5 },
        repeat_last_n: -1,
        top_n_sigma: 1.5,
        typical_p: 0.9,
        xtc_probability: 0.5,
        xtc_threshold: 0.2,
        dry_multiplier: 0.8,
        dry_base: 2,
        dry_allowed_length: 3,
        dry_penalty_last_n: 100,
        dry_sequence_breakers: '\n',
        reasoning: { max_tokens: 40 },
        reasoning_effort: 'low',
        truncation: 'auto',
        chat_template_kwargs: { a: [1] },
        chat_template: '{{ x }}',
      }),
    );
    expect(posted()).toEqual([
      {
        state: null,
        maxTokens: 10,
        thinkingTokens: 40,
        bytes: true,
        progress: false,
        prompt: {
          kind: 'chat',
          messages: '[{"role":"user","content":"a"}]',
          truncate: true,
          thinking: 1,
          kwargs: '{"reasoning_effort":"low","a":[1]}',
          chatTemplate: '{{ x }}',
        },
        options: expect.any(String) as string,
      },
    ]);
    expect(JSON.parse(posted()[0]?.options ?? '')).toEqual({
      temperature: 0.5,
      topP: 0.6,
      topK: 7,
      minP: 0.1,
      repeatPenalty: 1.1,
      seed: 9,
      stop: ['x'],
      maxTokens: 10,
      topLogprobs: 3,
      presencePenalty: 0.5,
      frequencyPenalty: -2,
      logitBias: { 50256: -100, 7: 1.5 },
      repeatLastN: -1,
      topNSigma: 1.5,
      typicalP: 0.9,
      xtcProbability: 0.5,
      xtcThreshold: 0.2,
      dryMultiplier: 0.8,
      dryBase: 2,
      dryAllowedLength: 3,
      dryPenaltyLastN: 100,
      drySequenceBreakers: ['\n'],
    });
    const off = [{ reasoning: { enabled: false } }, { reasoning_effort: 'none' as const }];
    for (const more of off) {
      await engine.chat.completions.create(ask('a', more));
      expect(posted().at(-1)).toMatchObject({
        thinkingTokens: 0,
        prompt: { thinking: 0, kwargs: '' },
      });
    }
    await engine.chat.completions.create(ask('a'));
    expect(posted().at(-1)).toMatchObject({
      thinkingTokens: -1,
      maxTokens: null,
      prompt: { thinking: -1, truncate: false },
    });
    // What the project has as default stays the core's.
    expect(Object.keys(JSON.parse(posted().at(-1)?.options ?? '') as object)).toEqual([
      'topLogprobs',
      'seed',
    ]);
  });

  it('tells how many messages were dropped, if that may be', async () => {
    const engine = await load({ dropped: 4 });
    const dropped = await engine.chat.completions.create(ask('a', { truncation: 'auto' }));
    expect(dropped.dropped_messages).toBe(4);
    expect(engine.stats.notes).toContainEqual(DROPPED);
    expect(await engine.chat.completions.create(ask('a'))).not.toHaveProperty('dropped_messages');
    const [first] = await collect(
      await engine.chat.completions.create(asStream('a', { truncation: 'auto' })),
    );
    expect(first?.dropped_messages).toBe(4);
  });

  it('leaves room for the answer when messages may be dropped', async () => {
    const control = { asked: [] as unknown[][], contextSize: 1000 };
    const engine = await load(control);
    for (const [more, most] of [
      [{}, 750],
      [{ max_tokens: 100 }, 900],
      [{ max_tokens: 5000 }, 500],
    ] as const) {
      await engine.chat.completions.create(ask('a', { ...more, truncation: 'auto' }));
      expect(control.asked.at(-1)?.[4]).toBe(most);
    }
  });

  it('tells how far the prompt is', async () => {
    const seen: number[] = [];
    const engine = await load({
      working: () => seen.length < 2,
      prompt: () => ({ computed: 5, total: 9, reused: 0, secondsLeft: -1, waiting: false }),
    });
    const on_prompt_progress = ({ computed }: { computed: number }): void => {
      seen.push(computed);
    };
    await engine.chat.completions.create(ask('a', { on_prompt_progress }));
    expect(seen.length).toBeGreaterThanOrEqual(2);
  });
});

describe('a stream', () => {
  it("has chunks in OpenAI's shape", async () => {
    const engine = await load({ reply: thinks });
    const chunks = await collect(await engine.chat.completions.create(asStream('a')));
    const [first] = chunks as [ChatCompletionChunk];
    const head = {
      id: expect.stringMatching(/^chatcmpl-/) as string,
      object: 'chat.completion.chunk',
      created: expect.any(Number) as number,
      model: 'llama',
      system_fingerprint: first.system_fingerprint,
    };
    const choice = { index: 0, logprobs: null, finish_reason: null };
    const deltas = [
      { role: 'assistant', content: '' },
      { reasoning_content: 'Hm' },
      { reasoning_content: '.' },
      { content: 'Yes' },
      { content: '.' },
    ];
    expect(chunks).toEqual([
      ...deltas.map((delta) => ({ ...head, choices: [{ ...choice, delta }] })),
      {
        ...head,
        choices: [{ ...choice, delta: {}, finish_reason: 'stop' }],
        timings: expect.objectContaining({ predicted_n: 6 }) as object,
      },
    ]);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });

  it('has the usage in a last chunk if that is wanted, and null before', async () => {
    const engine = await load();
    const stream_options = { include_usage: true };
    const body = asStream('a b', { stream_options, n: 2 });
    const chunks = await collect(await engine.chat.completions.create(body));
    const last = chunks.pop();
    expect(last).toMatchObject({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 4 } });
    expect(chunks.every(({ usage }) => usage === null)).toBe(true);
    const indexes = chunks.flatMap(({ choices }) => choices.map(({ index }) => index));
    expect(indexes).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
    expect(chunks.filter(({ timings }) => timings !== undefined)).toEqual([chunks.at(-1)]);
    const [first] = await collect(await engine.chat.completions.create(asStream('a')));
    expect(first).not.toHaveProperty('usage');
  });

  it('has the log-probability of each token', async () => {
    const engine = await load({ reply: () => [{ text: 'é' }, { text: '' }, { text: 'b' }] });
    const body = asStream('a', { logprobs: true, top_logprobs: 1 });
    const chunks = await collect(await engine.chat.completions.create(body));
    const found = chunks.flatMap(({ choices }) => choices[0]?.logprobs?.content ?? []);
    expect(found.map(({ bytes }) => bytes)).toEqual([[0xc3, 0xa9], [0], [98]]);
    expect(found[2]?.top_logprobs).toEqual([{ token: 'b', logprob: -1, bytes: [98] }]);
  });

  it('is cancelled when its loop is left', async () => {
    const control = { cancels: 0, replyWaits: (i: number) => i >= 2 && ('weights' as const) };
    const engine = await load(control);
    for await (const { choices } of await engine.chat.completions.create(asStream('a b c')))
      if (choices[0]?.delta.content === ' b') break;
    await until(() => FakeWorker.control.cancels === 1);
    FakeWorker.control.replyWaits = () => false;
    // The next request has its turn at once.
    const next = await engine.chat.completions.create(ask('x'));
    expect(next.choices[0]?.message.content).toBe('x');
  });

  it('ends with what has come when it is left before its end', async () => {
    const engine = await load();
    const chunks = await engine.chat.completions.create(asStream('a b c'));
    expect(await chunks.return?.()).toEqual({ done: true, value: undefined });
    expect(await chunks.next()).toEqual({ done: true, value: undefined });
  });

  it('throws what fails before the first token when it is asked for', async () => {
    const engine = await load();
    const tooLong = asStream('x'.repeat(200));
    await expect(engine.chat.completions.create(tooLong)).rejects.toMatchObject({
      code: 'context_full',
    });
    await expect(engine.chat.completions.create(asStream('wrong'))).rejects.toMatchObject({
      code: 'invalid_argument',
      message: 'line 1 of the template: no',
    });
    expect((await engine.chat.completions.create(ask('x'))).choices).toHaveLength(1);
  });

  it('throws what fails later after the tokens that have come, once', async () => {
    const fails = (i: number): string | null =>
      i === 2 ? errorAnswer('bad_file', 'the numbers overflow') : null;
    const engine = await load({ replyFails: fails });
    const chunks = await engine.chat.completions.create(asStream('a b c'));
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { choices } of chunks) seen.push(choices[0]?.delta.content ?? '');
    })();
    await expect(reading).rejects.toMatchObject({ code: 'bad_file' });
    expect(seen).toEqual(['', 'a', ' b']);
    expect(await chunks.next()).toEqual({ done: true, value: undefined });
    FakeWorker.control.replyFails = () => null;
    expect((await engine.chat.completions.create(ask('x'))).choices).toHaveLength(1);
  });
});

describe('completions', () => {
  it("have OpenAI's shape", async () => {
    const engine = await load();
    const answer = await engine.completions.create({ prompt: 'a b', logprobs: 1 });
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^cmpl-[0-9a-f]{24}$/) as string,
      object: 'text_completion',
      choices: [
        {
          index: 0,
          text: 'a b',
          finish_reason: 'stop',
          logprobs: {
            tokens: ['a', ' '],
            token_logprobs: [-1, -1],
            top_logprobs: [{ a: -1 }, { ' ': -1 }],
            text_offset: [0, 1],
          },
        },
      ],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    });
    expect((await engine.completions.create({ prompt: 'a' })).choices[0]?.logprobs).toBeNull();
  });

  it('take texts and ids, one or several, each with n answers', async () => {
    const control = { asked: [] as unknown[][] };
    const engine = await load(control);
    const indexes: number[][] = [];
    for (const prompt of ['a', ['a', 'b'], [1, 2], [[1], [2, 3]]]) {
      const { choices } = await engine.completions.create({ prompt: prompt as string, n: 2 });
      indexes.push(choices.map(({ index }) => index));
    }
    expect(indexes.map((list) => list.length)).toEqual([2, 4, 2, 4]);
    expect(indexes[3]).toEqual([0, 1, 2, 3]);
    const [a, b] = [
      ['text', 'a'],
      ['text', 'b'],
    ];
    expect(control.asked).toEqual([
      ...[a, a, a, a, b, b],
      ...[
        ['ids', 1, 2],
        ['ids', 1, 2],
        ['ids', 1],
        ['ids', 1],
        ['ids', 2, 3],
        ['ids', 2, 3],
      ],
    ]);
  });

  it('stream', async () => {
    const engine = await load();
    const stream_options = { include_usage: true };
    const body = { prompt: 'a b', stream: true as const, stream_options, logprobs: 0 };
    const chunks = await collect(await engine.completions.create(body));
    expect(chunks.map(({ choices }) => choices[0]?.text)).toEqual(['a', ' b', '', undefined]);
    expect(chunks[1]?.choices[0]).toMatchObject({
      finish_reason: null,
      logprobs: { tokens: [' '], text_offset: [1] },
    });
    expect(chunks[2]?.choices[0]?.finish_reason).toBe('stop');
    expect(chunks.map(({ usage }) => usage?.total_tokens)).toEqual([
      ...[undefined, undefined, undefined, 5],
    ]);
  });
});
