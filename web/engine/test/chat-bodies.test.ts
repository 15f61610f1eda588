// What may be in the body of a request: each field that is wrong or not supported is refused by its name.
import { beforeEach, describe, expect, it } from 'vitest';
import { takeChatRequest, takeTextRequest } from '../src/page/chat/request.js';
import { SluiceError } from '../src/index.js';
import { useFakes } from './fake-workers.js';

const messages = [{ role: 'user', content: 'Hi' }];

/** The error that `take` throws. */
function errorOf(take: () => unknown): SluiceError {
  try {
    take();
  } catch (error) {
    if (error instanceof SluiceError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

beforeEach(() => {
  useFakes();
});

describe('a field that is not supported', () => {
  it.each([
    ['tools', [{ type: 'function', function: { name: 'f' } }]],
    ['tool_choice', 'required'],
    ['tool_choice', { type: 'function', function: { name: 'f' } }],
    ['parallel_tool_calls', false],
    ['functions', [{ name: 'f' }]],
    ['function_call', { name: 'f' }],
    ['response_format', { type: 'json_object' }],
    ['response_format', { type: 'text', more: 1 }],
    ['audio', { voice: 'alloy', format: 'wav' }],
    ['modalities', ['text', 'audio']],
    ['store', true],
    ['prediction', { type: 'content', content: 'x' }],
    ['web_search_options', {}],
    ['verbosity', 'low'],
    ['moderation', { model: 'x' }],
    ['service_tier', 'flex'],
    ['best_of', 2],
    ['echo', true],
    ['suffix', 'end'],
    ['guided_json', { type: 'object' }],
    ['topK', 3],
    ['__proto__', 3],
    ['constructor', 3],
  ])('%s is refused by its name', (name, value) => {
    const body = Object.defineProperty({ messages }, name, { value, enumerable: true });
    const error = errorOf(() => takeChatRequest(body));
    expect(error).toMatchObject({ code: 'invalid_argument', param: name });
    expect(error.message).toContain(name);
  });

  it('says what to do', () => {
    const says = (more: object): string =>
      errorOf(() => takeChatRequest({ messages, ...more })).message;
    expect(says({ response_format: { type: 'json_object' } })).toBe(
      `response_format is not supported yet (it is {"type":"json_object"}); leave it out, or give { type: 'text' }`,
    );
    expect(says({ tools: [{}] })).toContain('tools is not supported yet (it is [{}])');
    expect(says({ temprature: 1 })).toContain(
      "unknown field 'temprature'; the fields are messages, ",
    );
    const [, fields = ''] = says({ temprature: 1 }).split('; the fields are ');
    expect(fields.split(', ')).toEqual(
      expect.arrayContaining([
        'temperature',
        'repetition_penalty',
        'dry_base',
        'logprobs',
        'state',
      ]),
    );
    expect(fields).toMatch(/^[a-z_, ]+$/);
  });
});

describe('what changes nothing passes', () => {
  it.each([
    ['model', 'gpt-6'],
    ['user', 'me'],
    ['metadata', { a: 'b' }],
    ['safety_identifier', 'x'],
    ['prompt_cache_key', 'x'],
    ['prompt_cache_retention', '24h'],
    ['service_tier', 'auto'],
    ['service_tier', 'default'],
    ['tools', []],
    ['tool_choice', 'auto'],
    ['tool_choice', 'none'],
    ['parallel_tool_calls', true],
    ['functions', []],
    ['function_call', 'none'],
    ['response_format', { type: 'text' }],
    ['modalities', ['text']],
    ['store', false],
    ['verbosity', 'medium'],
    ['best_of', 1],
    ['echo', false],
    ['suffix', ''],
    ['n', 1],
    ['logprobs', false],
    ['top_logprobs', 0],
    ['stop', []],
    ['stream', false],
    ['reasoning', {}],
    ['reasoning', { enabled: null, max_tokens: null }],
    ['chat_template_kwargs', {}],
    ['truncation', 'disabled'],
  ])('%s: %j', (name, value) => {
    const plain = takeChatRequest({ messages, seed: 1 });
    const taken = takeChatRequest({ messages, seed: 1, [name]: value });
    const without = (one: typeof taken): object => ({
      ...one,
      options: JSON.parse(one.options(0)),
    });
    const stops = name === 'stop' ? { stop: [] } : {};
    expect(without(taken)).toEqual({
      ...plain,
      options: { ...(JSON.parse(plain.options(0)) as object), ...stops },
    });
  });

  it('null and undefined, of any name', () => {
    const names = ['tools', 'n', 'stop', 'seed', 'signal', 'temperature', 'anything', 'logprobs'];
    for (const value of [null, undefined]) {
      const body = Object.fromEntries(names.map((name) => [name, value]));
      expect(takeChatRequest({ messages, ...body }).n).toBe(1);
      expect(takeTextRequest({ prompt: 'a', ...body }).n).toBe(1);
    }
  });
});

describe('a wrong value', () => {
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  const throws = {
    get role(): string {
      throw new Error('mine');
    },
  };
  const revoked = Proxy.revocable([], {});
  revoked.revoke();

  it.each<[string, object]>([
    ['messages', { messages: undefined }],
    ['messages', { messages: 'Hi' }],
    ['messages', { messages: [] }],
    ['messages', { messages: circle }],
    ['messages', { messages: [circle] }],
    ['messages', { messages: [throws] }],
    ['messages', { messages: [{ role: 'user', content: 1n }] }],
    ['messages', { messages: revoked.proxy }],
    ['messages[0]', { messages: ['Hi'] }],
    ['messages[1]', { messages: [...messages, null] }],
    ['messages[0].role', { messages: [{ content: 'Hi' }] }],
    ['messages[0].role', { messages: [{ role: 7, content: 'Hi' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 7 }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: { text: 'Hi' } }] }],
    ['messages[0].content[0]', { messages: [{ role: 'user', content: ['Hi'] }] }],
    ['messages[0].content[0]', { messages: [{ role: 'user', content: [{ type: 'text' }] }] }],
    [
      'messages[0].content[1]',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: '' },
              { type: 'image_url', image_url: {} },
            ],
          },
        ],
      },
    ],
    ['temperature', { temperature: '1' }],
    ['temperature', { temperature: NaN }],
    ['temperature', { temperature: -1 }],
    ['top_p', { top_p: 2 }],
    ['top_k', { top_k: 1.5 }],
    ['min_p', { min_p: {} }],
    ['repetition_penalty', { repetition_penalty: 0 }],
    ['seed', { seed: -1 }],
    ['n', { n: 0 }],
    ['n', { n: 129 }],
    ['max_tokens', { max_tokens: -1 }],
    ['max_completion_tokens', { max_completion_tokens: 1.5 }],
    ['stop', { stop: 7 }],
    ['stop', { stop: [7] }],
    ['stop', { stop: [''] }],
    ['stop', { stop: revoked.proxy }],
    ['stream', { stream: 'yes' }],
    ['stream_options', { stream_options: { include_usage: true } }],
    ['stream_options', { stream: true, stream_options: 7 }],
    ['stream_options.include_usage', { stream: true, stream_options: { include_usage: 1 } }],
    ['stream_options.more', { stream: true, stream_options: { more: 1 } }],
    ['logprobs', { logprobs: 3 }],
    ['top_logprobs', { top_logprobs: 3 }],
    ['top_logprobs', { logprobs: true, top_logprobs: 21 }],
    ['reasoning_effort', { reasoning_effort: 'extreme' }],
    ['reasoning_effort', { reasoning_effort: 'none', reasoning: { enabled: true } }],
    ['reasoning', { reasoning: [] }],
    ['reasoning.enabled', { reasoning: { enabled: 1 } }],
    ['reasoning.max_tokens', { reasoning: { max_tokens: -1 } }],
    ['reasoning.effort', { reasoning: { effort: 'high' } }],
    ['chat_template_kwargs', { chat_template_kwargs: [] }],
    ['chat_template_kwargs', { chat_template_kwargs: circle }],
    ['chat_template', { chat_template: 7 }],
    ['truncation', { truncation: 'yes' }],
    ['signal', { signal: {} }],
    ['on_prompt_progress', { on_prompt_progress: 7 }],
    ['metadata2', { metadata2: circle }],
    ['logit_bias', { logit_bias: circle }],
    ['logit_bias', { logit_bias: { word: 1 } }],
    ['logit_bias', { logit_bias: { 5: 101 } }],
    ['logit_bias', { logit_bias: [[5, 1]] }],
    ['presence_penalty', { presence_penalty: 2.5 }],
    ['frequency_penalty', { frequency_penalty: '1' }],
    ['repeat_last_n', { repeat_last_n: 0.5 }],
    ['typical_p', { typical_p: -0.1 }],
    ['dry_sequence_breakers', { dry_sequence_breakers: [''] }],
    ['tools', { tools: () => {} }],
  ])('is said of %s (%#)', (param, more) => {
    const error = errorOf(() => takeChatRequest({ messages, ...more }));
    expect(error).toMatchObject({ code: 'invalid_argument', param });
    expect(error.message).toContain(param);
  });

  it('is said of a body that is none', () => {
    const bodies = [undefined, null, 7, 'Hi', [messages], revoked.proxy, () => {}];
    for (const body of bodies) {
      for (const take of [takeChatRequest, takeTextRequest]) {
        const { code, message } = errorOf(() => take(body));
        expect(code).toBe('invalid_argument');
        expect(message).toContain('the body');
      }
    }
  });

  it('is said of a prompt', () => {
    const prompts = [
      ...[undefined, null, 7, {}, [], [7, 'a'], ['a', 7], [[1], 'a'], [[1], [-1]], [1.5]],
      ...[[[['a']]], revoked.proxy],
    ];
    for (const prompt of prompts) {
      const { code, param, message } = errorOf(() => takeTextRequest({ prompt }));
      expect([code, param]).toEqual(['invalid_argument', 'prompt']);
      expect(message).toContain('prompt');
    }
  });

  it('is said of what a text has not', () => {
    for (const name of [
      'messages',
      'top_logprobs',
      'reasoning',
      'max_completion_tokens',
      'chat_template',
    ])
      expect(errorOf(() => takeTextRequest({ prompt: 'a', [name]: 1 })).param).toBe(name);
    expect(errorOf(() => takeTextRequest({ prompt: 'a', logprobs: true })).param).toBe('logprobs');
    expect(errorOf(() => takeChatRequest({ messages, prompt: 'a' })).param).toBe('prompt');
  });
});

describe('the caller', () => {
  it('is asked once for each field', () => {
    const asked: string[] = [];
    const counting = (of: object): object =>
      new Proxy(of, {
        get: (target, name, receiver) => {
          const value: unknown = Reflect.get(target, name, receiver);
          if (typeof name === 'string' && Object.hasOwn(of, name)) asked.push(name);
          return value;
        },
      });
    const names = { temperature: 1, seed: 3, logit_bias: {}, n: 2, top_logprobs: 0, model: 'x' };
    takeChatRequest(counting({ messages: [counting({ role: 'user', content: 'Hi' })], ...names }));
    expect(asked.sort()).toEqual(['content', 'messages', 'role', ...Object.keys(names)].sort());
  });

  it('can name the field whose getter throws', () => {
    const body = {
      messages,
      get temperature(): number {
        throw new Error('mine');
      },
    };
    const error = errorOf(() => takeChatRequest(body));
    expect(error).toMatchObject({ param: 'temperature', cause: { message: 'mine' } });
  });

  it('can give lone surrogates, which become U+FFFD', () => {
    const [prompt] = takeChatRequest({ messages: [{ role: 'user', content: '\ud800' }] }).prompts;
    expect(prompt).toMatchObject({ messages: '[{"role":"user","content":"\ufffd"}]' });
    expect(takeTextRequest({ prompt: ['\ud800'] }).prompts).toEqual([
      { kind: 'text', text: '\ufffd' },
    ]);
  });

  it('may change the body afterwards', () => {
    const body = { messages: [{ role: 'user', content: 'Hi' }], stop: ['a'], seed: 1 };
    const taken = takeChatRequest(body);
    body.stop.push('b');
    (body.messages[0] as { content: string }).content = 'no';
    expect(taken.prompts[0]).toMatchObject({ messages: '[{"role":"user","content":"Hi"}]' });
    expect(JSON.parse(taken.options(0))).toMatchObject({ stop: ['a'] });
  });
});
