import { describe, expect, it, vi } from 'vitest';
import {
  coreLoadOptions,
  show,
  takeGenerateOptions,
  takeIds,
  takeLoadOptions,
  takeLogitsOptions,
  takePrompt,
  takeText,
} from '../src/page/options.js';
import { resolveSource } from '../src/page/sources.js';
import type { GenerateOptions } from '../src/shared/types.js';

const REFUSED = expect.objectContaining({ code: 'invalid_argument' });

/** The error that `run` throws. */
function thrown(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

/** An object whose property `name` throws when it is read. */
function throwing(name: string): object {
  return Object.defineProperty({}, name, {
    enumerable: true,
    get: () => {
      throw new Error('a getter of the caller');
    },
  });
}

const REVOKED = 'a revoked proxy';

/** The value for an entry of a table, where REVOKED stands for a revoked proxy: a table can't hold one. */
function real(value: unknown): never {
  if (value !== REVOKED) return value as never;
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  return proxy as never;
}

describe('options of load', () => {
  it("hands on what is the core's and keeps what is not", () => {
    const options = takeLoadOptions({
      contextSize: 256,
      kvType: 'q8_0',
      memoryBudget: 1e9,
      threads: 4,
      flavour: 'simd',
      cache: 'none',
      headers: { a: 'b' },
      stallTimeout: 100,
      onProgress: () => {},
    });
    expect(JSON.parse(coreLoadOptions(options, 3))).toEqual({
      contextSize: 256,
      kvType: 'q8_0',
      memoryBudget: 1e9,
      threads: 3,
      tuneThreads: false,
    });
    expect(JSON.parse(coreLoadOptions(takeLoadOptions({ contextSize: undefined }), 2))).toEqual({
      threads: 2,
      tuneThreads: true,
    });
  });

  it.each([
    ['cache', { cache: 'disk' }, "cache is 'disk'; give"],
    ['flavour', { flavour: 'turbo' }, "flavour is 'turbo'; give relaxed-mt, simd-mt, "],
    ['threads', { threads: 0 }, 'threads is 0; give a whole number from 1 to 64'],
    ['threads', { threads: 1.5 }, 'threads is 1.5; give a whole number from 1 to 64'],
    ['threads', { threads: '4' }, "threads is '4'; give a whole number from 1 to 64"],
    ['threads', { threads: 65n }, 'threads is 65n; give a whole number from 1 to 64'],
    ['contextSize', { contextSize: NaN }, 'contextSize is NaN; give a whole number from 1 to'],
    ['contextSize', { contextSize: { big: true } }, 'contextSize is {"big":true}; give a whole'],
    ['memoryBudget', { memoryBudget: Infinity }, 'memoryBudget is Infinity; give a whole number'],
    ['kvType', { kvType: 'f64' }, "kvType is 'f64'; give f32, f16 or q8_0"],
    ['kernels', { kernels: null }, 'kernels is null; give a string'],
    ['headers', { headers: 'x: y' }, "headers is 'x: y'; give an object"],
    ['stallTimeout', { stallTimeout: 0 }, 'stallTimeout is 0; give milliseconds from 1 to'],
    ['stallTimeout', { stallTimeout: 'soon' }, "stallTimeout is 'soon'; give milliseconds"],
    ['signal', { signal: 'now' }, "signal is 'now'; give an AbortSignal"],
    ['onProgress', { onProgress: 1 }, 'onProgress is 1; give a function'],
    ['threads', throwing('threads'), "threads can't be read: reading it threw an error"],
    ['no object', null, 'the options are null; give an object'],
    ['no object', () => 1, 'the options are a function; give an object'],
    ['no object', [], 'the options are []; give an object'],
    ['no object', REVOKED, "can't be read"],
  ])('refuses a wrong one by its name: %s', (_, options, message) => {
    const error = thrown(() => takeLoadOptions(real(options)));
    expect(error).toEqual(REFUSED);
    expect((error as Error).message).toContain(message);
  });

  it.each([
    ['load', 'n_ctx', 'it is called contextSize here'],
    ['load', 'contextLength', 'it is called contextSize here'],
    ['load', 'context_size', 'it is called contextSize here'],
    ['load', 'n_threads', 'it is called threads here'],
    ['load', 'max_tokens', 'maxTokens is an option of generate'],
    ['load', 'temperature', 'temperature is an option of generate'],
    ['load', 'progress_callback', 'it is called onProgress here'],
    ['load', 'constructor', 'the options are contextSize, threads, '],
    ['generate', 'max_tokens', 'it is called maxTokens here'],
    ['generate', 'n_predict', 'it is called maxTokens here'],
    ['generate', 'top_k', 'it is called topK here'],
    ['generate', 'repetition_penalty', 'it is called repeatPenalty here'],
    ['generate', 'n_ctx', 'contextSize is an option of Engine.load'],
    ['generate', 'messages', 'the options are maxTokens, temperature, '],
  ])('says what an option is called, or whose it is: %s, %s', (call, name, message) => {
    const take =
      call === 'load' ? takeLoadOptions : (options: object) => takeGenerateOptions(options, true);
    const error = thrown(() => take({ [name]: 1 }));
    expect(error).toEqual(REFUSED);
    expect((error as Error).message).toContain(`unknown option '${name}'; ${message}`);
  });

  it('refuses what can not be read', () => {
    expect(() => takeLoadOptions({ signal: real(REVOKED) })).toThrow("signal can't be read");
    expect(() => takeGenerateOptions({ stop: real(REVOKED) }, true)).toThrow("stop can't be read");
  });

  it('reads each once', () => {
    let reads = 0;
    const options = {
      get threads() {
        return ++reads;
      },
    };
    expect(takeLoadOptions(Object.freeze(options))).toEqual({ threads: 1 });
  });
});

describe('options of generate', () => {
  it('draws a seed where there is none', () => {
    const { seed } = JSON.parse(takeGenerateOptions({}, true).json) as { seed: number };
    expect(Number.isSafeInteger(seed)).toBe(true);
    expect(JSON.parse(takeGenerateOptions({ seed: 5, stop: 'x', topK: 3 }, true).json)).toEqual({
      seed: 5,
      stop: ['x'],
      topK: 3,
    });
  });

  it('takes biases by ids, and texts where one stands alone', () => {
    const options = {
      seed: 5,
      logitBias: { 7: -100, 0: 1.5 },
      drySequenceBreakers: '\n',
    };
    expect(JSON.parse(takeGenerateOptions(options, true).json)).toEqual({
      seed: 5,
      logitBias: { 0: 1.5, 7: -100 },
      drySequenceBreakers: ['\n'],
    });
    const none = takeGenerateOptions({ drySequenceBreakers: [] }, false).json;
    expect(JSON.parse(none)).toEqual({ drySequenceBreakers: [] });
  });

  it.each([
    [{ temperature: NaN }, 'temperature is NaN; give a number from 0 to 100, or leave it out'],
    [{ topP: -Infinity }, 'topP is -Infinity; give a number from 0 to 1'],
    [{ topP: 1.0000001 }, 'topP is 1.0000001; give a number from 0 to 1'],
    [{ seed: -1 }, 'seed is -1; give a whole number from 0 to 9007199254740991'],
    [{ seed: 2 ** 53 }, 'seed is 9007199254740992; give a whole number from 0'],
    [{ seed: 0.5 }, 'seed is 0.5; give a whole number'],
    [{ seed: null }, 'seed is null; give a whole number'],
    [{ minP: null }, 'minP is null; give a number from 0 to 1'],
    [{ topK: 1n }, 'topK is 1n; give a whole number from 0'],
    [{ maxTokens: -2 }, 'maxTokens is -2; give a whole number from -1'],
    [{ repeatPenalty: 0 }, 'repeatPenalty is 0; give a number from 0.01 to 100'],
    [{ presencePenalty: 2.5 }, 'presencePenalty is 2.5; give a number from -2 to 2'],
    [{ repeatLastN: -2 }, 'repeatLastN is -2; give a whole number from -1'],
    [{ logitBias: 5 }, 'logitBias is 5; give an object of token ids and numbers from -100 to 100'],
    [{ logitBias: [1] }, 'logitBias is [1]; give an object'],
    [{ logitBias: new Map([[1, 1]]) }, 'logitBias is [object Map]; give an object'],
    [{ logitBias: { a: 1 } }, "logitBias holds 'a'; token ids are whole numbers"],
    [{ logitBias: { '-1': 1 } }, "logitBias holds '-1'"],
    [{ logitBias: { 2147483648: 1 } }, "logitBias holds '2147483648'"],
    [{ logitBias: { 1: NaN } }, 'logitBias[1] is NaN; give a number from -100 to 100'],
    [{ logitBias: { 1: '2' } }, "logitBias[1] is '2'"],
    [
      { logitBias: Object.fromEntries(Array.from({ length: 1025 }, (_, id) => [id, 1])) },
      'logitBias holds 1025 tokens; give 1024 at most',
    ],
    [{ drySequenceBreakers: ['x'.repeat(65)] }, 'drySequenceBreakers holds a text of 65 bytes'],
    [{ topLogprobs: 101 }, 'topLogprobs is 101; give a whole number from 0 to 100'],
    [{ ignoreEos: 'no' }, "ignoreEos is 'no'; give true or false"],
    [{ special: 1 }, 'special is 1; give true or false'],
    [{ temprature: 1 }, "unknown option 'temprature'; the options are maxTokens, temperature, "],
    [{ stop: 5 }, 'stop is 5; give a string or a list of strings'],
    [{ stop: '' }, 'stop holds a text of 0 bytes; give texts of 1 to 1024 bytes'],
    [{ stop: ['a', 'é'.repeat(513)] }, 'stop holds a text of 1026 bytes'],
    [{ stop: ['a', 1n] }, 'stop holds 1n; give strings'],
    [{ stop: [undefined] }, 'stop holds undefined; give strings'],
    [{ stop: [Symbol('x')] }, 'stop holds Symbol(x); give strings'],
    [{ stop: '\ud800' }, 'stop holds a text that is not well-formed: one half of a surrogate pair'],
    [{ stop: ['ok', 'a\udc00'] }, 'stop holds a text that is not well-formed'],
    [{ stop: Array.from({ length: 65 }, () => 'x') }, 'stop holds 65 strings; give 64 at most'],
    [{ stop: Array.from({ length: 64 }, () => 'x'.repeat(1024)) }, 'the texts of stop have 65729'],
  ])('refuses a wrong one by its name: $1', (options, message) => {
    const error = thrown(() => takeGenerateOptions(options as unknown as GenerateOptions, true));
    expect(error).toEqual(REFUSED);
    expect((error as Error).message).toContain(message);
  });
});

describe('arguments', () => {
  it.each([
    [[1, -1], 'ids holds -1; token ids are whole numbers from 0 on'],
    [[1.5], 'ids holds 1.5'],
    [[NaN], 'ids holds NaN'],
    [[2 ** 31], 'ids holds 2147483648'],
    [['1'], "ids holds '1'"],
    [[undefined], 'ids holds undefined'],
    [new Array(2), 'ids holds undefined'],
    ['12', "ids is '12'; give an array of token ids"],
    [null, 'ids is null; give an array'],
    [new Int32Array(1), 'ids is [object Int32Array]; give an array'],
    [REVOKED, "ids can't be read"],
  ])('refuses ids %#', (ids, message) => {
    const error = thrown(() => takeIds(real(ids), 'ids'));
    expect(error).toEqual(REFUSED);
    expect((error as Error).message).toContain(message);
  });

  it('makes copies of ids that can be posted', () => {
    const ids = Object.assign(new Proxy([0, 1], {}), { call: () => 1 });
    expect(structuredClone(takeIds(ids, 'ids'))).toEqual([0, 1]);
  });

  it('takes prompts as text or ids', () => {
    expect(takePrompt('')).toBe('');
    expect(takePrompt([0, 1])).toEqual([0, 1]);
    const example = "generate('Once upon a time', { maxTokens: 100 })";
    for (const [prompt, what] of [
      [{}, '{}'],
      [undefined, 'undefined'],
      [{ messages: [] }, '{"messages":[]}'],
    ] as const) {
      expect(thrown(() => takePrompt(prompt))).toMatchObject({
        code: 'invalid_argument',
        message: `prompt is ${what}; give a string or an array of token ids, and the options behind it: ${example}`,
      });
    }
    expect(thrown(() => takePrompt(real(REVOKED)))).toEqual(REFUSED);
  });

  it('says of chat messages what to give instead', () => {
    for (const chat of [[{ role: 'user', content: 'Hi' }], [{ content: [] }]]) {
      const error = thrown(() => takePrompt(chat));
      expect(error).toEqual(REFUSED);
      expect((error as Error).message).toMatch(
        /^prompt is a list of chat messages, .*applyTemplate/,
      );
    }
    expect(thrown(() => takePrompt([{ id: 1 }]))).toMatchObject({
      message: 'prompt holds {"id":1}; token ids are whole numbers from 0 on',
    });
    expect(thrown(() => takePrompt([real(REVOKED)]))).toEqual(REFUSED);
  });

  it('puts U+FFFD in place of half a surrogate pair', () => {
    expect(takeText('a\ud83d\ude00b', 'text')).toBe('a\ud83d\ude00b');
    expect(takeText('\ude00a\ud83d', 'text')).toBe('\ufffda\ufffd');
    expect(takePrompt('\ud800\ud800\udc00')).toBe('\ufffd\ud800\udc00');
  });

  it('holds counts within bounds', () => {
    expect(takeLogitsOptions({ top: 0 })).toEqual({ top: 0 });
    expect(thrown(() => takeLogitsOptions({ top: 1001 }))).toEqual(REFUSED);
  });
});

describe('show', () => {
  it.each([
    ['x'.repeat(100), `'${'x'.repeat(60)}'`],
    [10n ** 100n, `1${'0'.repeat(59)}`],
    [class Secret {}, 'a function'],
    [[1, 'a', { b: [null] }], '[1,"a",{"b":[null]}]'],
    [new Array(1e6).fill(7), `[${'7,'.repeat(29)}7..`],
    [{ text: 'x'.repeat(1e6) }, `{"text":"${'x'.repeat(51)}..`],
    [
      { n: 1n, f: () => 1, m: new Map(), u: undefined },
      '{"n":"1n","f":"a function","m":"[object Map]"}',
    ],
    [{ headers: { Authorization: 'Bearer secret' } }, '{"headers":{"Authorization":".."}}'],
    [
      { 'X-Api-Key': 's', 'proxy-authorization': 's' },
      '{"X-Api-Key":"..","proxy-authorization":".."}',
    ],
    [{ cookie: 's' }, '{"cookie":".."}'],
    [
      new (class Own {
        a = 1;
      })(),
      '{"a":1}',
    ],
    [new Map(), '[object Map]'],
    [throwing(Symbol.toStringTag as unknown as string), 'an object that can not be read'],
    [REVOKED, 'an object that can not be read'],
    [Symbol('s'), 'Symbol(s)'],
    [Object.create(null), '{}'],
  ])('has a short word for anything: %#', (value, text) => {
    expect(show(real(value))).toBe(text);
  });
});

async function read(): Promise<Response> {
  const response = new Response('x');
  await response.text();
  return response;
}

function locked(): Response {
  const response = new Response('x');
  response.body?.getReader();
  return response;
}

/** An opaque Response, which Node itself never makes. */
function opaque(): Response {
  return Object.defineProperty(new Response('x'), 'type', { value: 'opaque' });
}

describe('resolveSource', () => {
  it('knows what it is given', async () => {
    const blob = new Blob(['x']);
    expect(await resolveSource(blob, {})).toEqual({ kind: 'blobs', blobs: [blob] });
    const bytes = new ArrayBuffer(4);
    expect(await resolveSource(bytes, {})).toEqual({
      kind: 'bytes',
      bytes: { name: 'the ArrayBuffer', buffer: bytes, offset: 0, length: 4 },
    });
    expect(await resolveSource(new Uint8Array(bytes, 1, 2), {})).toEqual({
      kind: 'bytes',
      bytes: { name: 'the Uint8Array', buffer: bytes, offset: 1, length: 2 },
    });
    expect(await resolveSource(new ArrayBuffer(0), {})).toMatchObject({
      bytes: { length: 0 },
    });
    const response = new Response('x');
    expect(await resolveSource(response, {})).toEqual({ kind: 'response', response });
    expect(
      await resolveSource(new URL('https://a.example/m.gguf'), { headers: { X: 'y' } }),
    ).toEqual({
      kind: 'url',
      addresses: ['https://a.example/m.gguf'],
      headers: [['x', 'y']],
      hub: 'https://huggingface.co',
      sha256: [],
      cache: 'opfs',
      asked: false,
      refresh: false,
      custom: null,
    });
  });

  it.each([
    ['http://', "'http://' is not an address"],
    ['', "'' is not an address"],
    ['ftp://a.example/m', "'ftp://a.example/m' can't be fetched"],
    ['file:///m.gguf', "can't be fetched"],
    [[], 'the source is a list of 0; give the addresses or the files of one model, 999 at most'],
    [['https://a.example/1', new Blob([])], 'the source is a list with [object Blob]; give only'],
    ['hf:owner', "'hf:owner' is no address; give hf:owner/repo"],
    ['hf:../x', "'../x' is no repository of a hub"],
    [
      7,
      'the source is 7; give an address, a File, a Blob, a FileSystemFileHandle, an ArrayBuffer, a',
    ],
    [null, 'the source is null'],
    [new Uint16Array(4), 'the source is [object Uint16Array]; give .* a Uint8Array or a Response'],
    [new SharedArrayBuffer(4), 'a Uint8Array (of shared memory, a copy) or a Response'],
    [new Uint8Array(new SharedArrayBuffer(4)), 'a Uint8Array (of shared memory, a copy)'],
    [new Proxy(new Uint8Array(4), {}), "the source can't be read"],
    [REVOKED, "the source can't be read"],
  ])('refuses %#', async (source, message) => {
    const refused = resolveSource(real(source), {});
    await expect(refused).rejects.toEqual(REFUSED);
    for (const part of message.split(' .* ')) await expect(refused).rejects.toThrow(part);
  });

  it('refuses a buffer that was transferred', async () => {
    const bytes = new ArrayBuffer(4);
    const view = new Uint8Array(bytes, 1);
    structuredClone(bytes, { transfer: [bytes] });
    await expect(resolveSource(bytes, {})).rejects.toThrow('the ArrayBuffer is detached');
    await expect(resolveSource(view, {})).rejects.toThrow('the Uint8Array is detached');
  });

  it.each([
    ['one that was read', read, 'invalid_argument', /body is read already/],
    ['one with a reader', locked, 'invalid_argument', /body is read already, or somebody/],
    [
      '404',
      () => new Response('', { status: 404 }),
      'download_failed',
      /the Response answered 404/,
    ],
    ['204', () => new Response(null, { status: 204 }), 'download_failed', /204 \(no content\)/],
    ['a failed one', () => Response.error(), 'download_failed', /failed fetch/],
    [
      'an opaque one',
      opaque,
      'invalid_argument',
      /the Response is opaque: scripts may not read it/,
    ],
  ])('refuses a Response: %s', async (_, make, expected, message) => {
    const refused = resolveSource(await make(), {});
    await expect(refused).rejects.toMatchObject({ code: expected });
    await expect(refused).rejects.toThrow(message);
  });

  it.each([
    'https://reader:s3cret@a.example/m',
    'https://reader@a.example/m',
    'ftp://reader:s3cret@a.example/m',
    'https://reader:s3cret@a.example:99999/m',
    new URL('https://:s3cret@a.example/m'),
  ])('refuses credentials in an address and keeps them to itself: %#', async (source) => {
    const error: unknown = await resolveSource(source, {}).catch((e: unknown) => e);
    expect(error).toEqual(REFUSED);
    expect((error as Error).message).toContain('a.example');
    expect((error as Error).message).not.toMatch(/s3cret|reader/);
  });

  it('takes relative addresses on a page whose own address has credentials', async () => {
    vi.stubGlobal('location', { href: 'https://reader:s3cret@a.example/page/' });
    expect(await resolveSource('m.gguf', {})).toMatchObject({
      addresses: ['https://a.example/page/m.gguf'],
    });
    vi.unstubAllGlobals();
  });

  it.each([
    [{ 'a b': 'c' }, "headers holds 'a b'"],
    [{ ok: 'fine', authorization: 's3cret\n' + '\u2028' }, "headers holds 'authorization'"],
    [throwing('x'), "headers can't be read"],
  ])(
    'refuses headers that HTTP does not allow, and shows no value: %#',
    async (headers, message) => {
      const refused = resolveSource('https://a.example/m', {
        headers: headers as Record<string, string>,
      });
      await expect(refused).rejects.toEqual(REFUSED);
      await expect(refused).rejects.toThrow(message);
      await expect(refused).rejects.not.toThrow('s3cret');
    },
  );

  it('takes lists of addresses and of files, and what is said of a download', async () => {
    const blobs = [new Blob(['x']), new Blob(['y'])];
    expect(await resolveSource(blobs, {})).toEqual({ kind: 'blobs', blobs });
    const sha256 = 'AB'.repeat(32);
    const custom = async (): Promise<Response> => new Response('x');
    expect(
      await resolveSource(['hf:owner/repo:Q4_0', 'https://a.example/m.gguf'], {
        cache: 'opfs',
        sha256,
        hubUrl: 'https://mirror.example/hub/',
        refresh: true,
        fetch: custom,
      }),
    ).toEqual({
      kind: 'url',
      addresses: ['hf:owner/repo:Q4_0', 'https://a.example/m.gguf'],
      headers: [],
      hub: 'https://mirror.example/hub',
      sha256: [sha256.toLowerCase()],
      cache: 'opfs',
      asked: true,
      refresh: true,
      custom,
    });
    for (const address of ['data:,x', 'blob:https://a.example/1'])
      expect(await resolveSource(address, {})).toMatchObject({ cache: 'none' });
  });

  it.each([
    [{ sha256: 'ab' }, "sha256 holds 'ab'; give 64 hexadecimal digits for each file"],
    [{ sha256: [7] }, 'sha256 holds 7; give 64'],
    [{ hubUrl: 'ftp://h.example' }, "'ftp://h.example/' can't be fetched"],
    [{ hubUrl: 'https://u:p@h.example' }, 'holds a user name or a password'],
  ])('refuses %#: what is said of a download', async (options, message) => {
    const refused = resolveSource('https://a.example/m', options as never);
    await expect(refused).rejects.toEqual(REFUSED);
    await expect(refused).rejects.toThrow(message);
  });

  it('gives other sites no header but authorization, for a redirect would take it along', async () => {
    vi.stubGlobal('location', new URL('https://page.example/'));
    const take = (address: string, headers: Record<string, string>): Promise<unknown> =>
      resolveSource(address, { headers });
    const given = { 'x-key': 's3cret' };
    await expect(take('https://a.example/m', given)).rejects.toThrow(/'x-key' for another site/);
    await expect(take('hf:owner/repo', given)).rejects.toThrow(/only authorization may be given/);
    expect(await take('https://page.example/m', given)).toMatchObject({
      headers: [['x-key', 's3cret']],
    });
    expect(await take('https://a.example/m', { Authorization: 'b' })).toMatchObject({
      headers: [['authorization', 'b']],
    });
    vi.unstubAllGlobals();
  });
});
