import { describe, expect, it, vi } from 'vitest';
import { Engine, type EngineStats, type LoadProgress, type ModelSource } from '../src/index.js';
import { makeNote } from '../src/shared/notes.js';
import { FILE_BYTES, HEADER_BYTES, errorAnswer } from './fake-module.js';
import { MODEL, allEnded, collect, file } from './engine-setup.js';
import { FakeWorker, piecesOf, streamOf, stubFetch, useFakes } from './fake-workers.js';

/** Serves a model of which only the first `bytes` come until `more` is called. */
function slowModel(bytes: number, model = file): { more(): void } {
  let more!: () => void;
  const gate = new Promise<void>((resolve) => {
    more = resolve;
  });
  const pieces = [model.slice(0, bytes), model.slice(bytes)];
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (pieces.length === 1) await gate;
      const piece = pieces.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(piece);
    },
  });
  stubFetch(() => new Response(stream));
  return { more };
}

function code(expected: string): unknown {
  return expect.objectContaining({ code: expected });
}

/** The file in the middle of other bytes. */
function within(): Uint8Array {
  const whole = new Uint8Array(FILE_BYTES + 3000).fill(7);
  whole.set(file, 1000);
  return whole.subarray(1000, 1000 + FILE_BYTES);
}

describe('load', () => {
  it.each([false, true])(
    'brings every byte to the engine once (shared memory: %s)',
    async (shared) => {
      const control = useFakes({ shared });
      const seen: LoadProgress[] = [];
      const engine = await Engine.load(MODEL, {
        onProgress: (p) => seen.push(p),
        ...(shared ? { flavour: 'simd-mt', threads: 1 } : { flavour: 'simd' }),
      });
      expect(engine.info.architecture).toBe('llama');
      await engine.ready;
      expect(control.taken).toEqual([...file]);
      expect(seen.at(-1)).toMatchObject({
        phase: 'ready',
        loaded: FILE_BYTES,
        total: FILE_BYTES,
        source: 'network',
      });
      // It ends itself: it might have had bytes to keep.
      const loader = FakeWorker.all.find((w) => w.kind === 'loader');
      await vi.waitFor(() => expect(loader?.terminated).toBe(true));
      expect(engine.stats).toMatchObject({
        flavour: shared ? 'simd-mt' : 'simd',
        kernels: 'fake',
        heapBytes: 65536,
      });
      await engine.close();
    },
  );

  it.each([
    ['goes on after ready while what is read again is still to come', 10_000, 'download'],
    ['is over when all stays in memory', 0, 'ready'],
  ])('%s', async (_, rereadBytes, phase) => {
    useFakes({ control: { rereads: rereadBytes > 0, memory: { rereadBytes } } });
    // The engine is ready before the file's end.
    const longer = new Uint8Array(FILE_BYTES + 10_000);
    longer.set(file);
    const slow = slowModel(FILE_BYTES, longer);
    const seen: LoadProgress[] = [];
    const engine = await Engine.load(MODEL, { onProgress: (p) => seen.push(p) });
    await engine.ready;
    let arrived = false;
    void engine.arrived.then(() => {
      arrived = true;
    });
    await vi.waitFor(() => expect(seen.at(-1)).toMatchObject({ phase }));
    expect(arrived).toBe(phase === 'ready');
    slow.more();
    await engine.arrived;
    expect(seen.at(-1)).toMatchObject({ phase: 'ready' });
    await engine.close();
  });

  it('rejects arrived when it is closed in the middle of the download', async () => {
    useFakes({ control: { rereads: true, memory: { rereadBytes: 10_000 } } });
    const longer = new Uint8Array(FILE_BYTES + 10_000);
    longer.set(file);
    slowModel(FILE_BYTES, longer);
    const engine = await Engine.load(MODEL);
    await engine.ready;
    await engine.close();
    await expect(engine.arrived).rejects.toMatchObject({ code: 'aborted' });
  });

  it.each([
    ['a Blob', () => new Blob([file])],
    ['an ArrayBuffer', () => file.buffer],
    ['a Uint8Array', () => file],
    ['a Uint8Array that is a part of another', within],
  ])('takes %s, and tells the core its size', async (_, source) => {
    const control = useFakes();
    const engine = await Engine.load(source());
    await engine.ready;
    expect(control.taken).toEqual([...file]);
    expect(control.opened[0]?.fileSize).toBe(FILE_BYTES);
    expect(file.byteLength).toBe(FILE_BYTES);
  });

  it.each([
    ['no length', {}],
    ['a length that is too small', { 'content-length': '1000' }],
    ['a length that is too large', { 'content-length': '9000000' }],
    ['a length that is none', { 'content-length': 'many' }],
  ])('takes a Response with %s, and leaves the arrays of its stream alone', async (_, headers) => {
    const control = useFakes();
    const pieces = piecesOf(file, 7777);
    const response = new Response(streamOf(pieces), { headers: headers as HeadersInit });
    const seen: LoadProgress[] = [];
    const engine = await Engine.load(response, { onProgress: (p) => seen.push(p) });
    await engine.ready;
    expect(control.taken).toEqual([...file]);
    expect(pieces.every((piece) => piece.byteLength > 0)).toBe(true);
    expect(seen.at(-1)).toMatchObject({ phase: 'ready', total: FILE_BYTES, source: 'network' });
    expect(response.bodyUsed).toBe(true);
    expect(FakeWorker.all.map(({ kind }) => kind)).toEqual(['engine']);
    await expect(Engine.load(response)).rejects.toThrow(/body is read already/);
    await engine.close();
  });

  it('says that a Response ended too soon, and that it stalls', async () => {
    useFakes();
    const short = await Engine.load(new Response(streamOf([file.slice(0, 50_000)])));
    await expect(short.ready).rejects.toThrow(`50000 of ${FILE_BYTES} bytes`);
    useFakes();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const silent = new Response(streamOf([file.slice(0, 1000)], 'hang'));
    const engine = await Engine.load(silent);
    const told = expect(engine.ready).rejects.toThrow('no byte came for 30 s (1000 bytes came)');
    await vi.advanceTimersByTimeAsync(30_000);
    await told;
    vi.useRealTimers();
    await allEnded();
  });

  it('says that a Response broke off, whatever its stream fails with', async () => {
    useFakes();
    const body = new ReadableStream({
      pull: (controller) => controller.error(Object.create(null)),
    });
    await expect(Engine.load(new Response(body))).rejects.toMatchObject({
      code: 'download_failed',
      message: expect.stringContaining("(an error that can't be read)") as string,
    });
  });

  it("cancels a Response's body once nothing more is wanted of it", async () => {
    const ends: [string, (response: Response) => Promise<unknown>][] = [
      ['probe', (response) => Engine.probe(response)],
      ['close', async (response) => (await Engine.load(response)).close()],
      [
        'abort',
        async (response) => {
          const controller = new AbortController();
          await Engine.load(response, { signal: controller.signal });
          controller.abort();
        },
      ],
    ];
    for (const [how, end] of ends) {
      useFakes();
      const cancelled = vi.fn();
      const pieces = [file.slice(0, HEADER_BYTES)];
      const pull = (controller: ReadableStreamDefaultController): unknown => {
        const piece = pieces.shift();
        return piece === undefined ? new Promise(() => {}) : controller.enqueue(piece);
      };
      const body = new ReadableStream({ pull: pull as () => void, cancel: cancelled });
      await end(new Response(body));
      await vi.waitFor(() => expect(cancelled, how).toHaveBeenCalledOnce(), 20_000);
    }
  });

  it('hands its options to the core, which refuses what it does not know', async () => {
    const control = useFakes();
    const engine = await Engine.load(MODEL, { contextSize: 64, kvType: 'f32' });
    expect(control.opened[0]?.options).toEqual({
      contextSize: 64,
      kvType: 'f32',
      threads: 1,
      tuneThreads: true,
    });
    await engine.close();
    await expect(Engine.load(MODEL, { nonsense: 1 } as never)).rejects.toEqual(
      code('invalid_argument'),
    );
  });

  it('says when there is only one thread', async () => {
    useFakes();
    const engine = await Engine.load(MODEL);
    expect(engine.stats.threads).toBe(1);
    expect(engine.stats.notes[0]).toMatchObject({
      code: 'threads_need_isolation',
      audience: 'developer',
    });
  });

  it("shows the core's notes beside its own", async () => {
    const notes = [
      makeNote('context_beyond_training', 'the context is large', { contextSize: 9, trained: 8 }),
      makeNote('fewer_threads', 'only 1 of 2 threads'),
    ];
    useFakes({ control: { notes } });
    const engine = await Engine.load(MODEL, { cache: 'none' });
    expect(engine.stats.notes.slice(-2)).toEqual(notes);
    expect(engine.stats.notes.length).toBe(3);
  });

  it('rejects a file that is no model, and the next load works', async () => {
    const control = useFakes();
    await expect(Engine.load(new Blob(['PK\x03\x04 a zip file']))).rejects.toEqual(
      code('bad_file'),
    );
    await allEnded();
    control.taken.length = 0;
    await (
      await Engine.load(MODEL)
    ).ready;
  });

  it('rejects ready and what runs when the download ends too soon', async () => {
    stubFetch(() => new Response(streamOf([file.slice(0, 50_000)])));
    useFakes();
    const engine = await Engine.load(MODEL);
    const text = collect(engine.generate('a b c'));
    await expect(text).rejects.toEqual(code('download_failed'));
    await expect(engine.ready).rejects.toThrow(`50000 of ${FILE_BYTES} bytes`);
    await allEnded();
    await expect(engine.tokenize('x')).rejects.toEqual(code('download_failed'));
  });

  it('sees by its length that a file is incomplete on the server', async () => {
    const half = file.slice(0, FILE_BYTES / 2);
    const headers = { 'content-length': String(half.byteLength) };
    stubFetch(() => new Response(streamOf(piecesOf(half, 5000)), { headers }));
    useFakes();
    const loading = Engine.load(MODEL);
    await expect(loading).rejects.toEqual(code('download_failed'));
    await expect(loading).rejects.toThrow(
      /the server has 100000 bytes of a file whose header names 200000/,
    );
    await expect(Engine.probe(MODEL)).rejects.toEqual(code('download_failed'));
  });

  it('names the status of a refusal', async () => {
    stubFetch(() => new Response('', { status: 404 }));
    useFakes();
    await expect(Engine.load(MODEL)).rejects.toMatchObject({
      code: 'download_failed',
      status: 404,
    });
  });
});

/** ArrayBuffer with the newer features that this TypeScript version has no types for. */
const Resizable = ArrayBuffer as unknown as new (
  bytes: number,
  limits: { maxByteLength: number },
) => ArrayBuffer & { resize(bytes: number): void };

describe('a source without a model', () => {
  const nothing = (): ArrayBuffer => new ArrayBuffer(0);
  const answering =
    (status: number, headers: Record<string, string> = {}) =>
    (): string => {
      stubFetch(() => new Response(null, { status, headers }));
      return MODEL;
    };
  const detached = (): ArrayBuffer => {
    const bytes = file.slice().buffer;
    structuredClone(bytes, { transfer: [bytes] });
    return bytes;
  };
  const words = (): ReadableStream =>
    new ReadableStream({
      pull: (controller) => controller.enqueue('GGUF'),
    });
  const broken = (): ReadableStream => streamOf([], new Error('gone'));
  const SOURCES: [string, () => ModelSource, string, RegExp][] = [
    ['an empty ArrayBuffer', nothing, 'bad_file', /the ArrayBuffer is empty \(0 bytes\)/],
    ['a detached ArrayBuffer', detached, 'invalid_argument', /the ArrayBuffer is detached/],
    ['an empty Uint8Array', () => new Uint8Array(nothing()), 'bad_file', /Uint8Array is empty/],
    ['a Response without a byte', () => new Response(''), 'bad_file', /the Response is empty/],
    ['a Response without a body', () => new Response(), 'bad_file', /the Response is empty/],
    ['a Response with text', () => new Response(words()), 'invalid_argument', /brings a string/],
    ['a Response that breaks', () => new Response(broken()), 'download_failed', /0 bytes .*: gone/],
    ['an empty Blob', () => new Blob([]), 'bad_file', /the file is empty \(0 bytes\)/],
    ['an empty File', () => new File([], 'm.gguf'), 'bad_file', /the file is empty/],
    ['an answer without a body', answering(200), 'bad_file', /models.example sent is empty/],
    ['204', answering(204), 'download_failed', /models.example answered 204 \(no content\)/],
    ['205', answering(205), 'download_failed', /models.example answered 205 \(no content\)/],
    ['304', answering(304), 'download_failed', /models.example answered 304/],
    [
      'the answer to a HEAD',
      answering(200, { 'content-length': '5000' }),
      'download_failed',
      /ended after 0 of 5000 bytes/,
    ],
  ];

  it.each(SOURCES)('settles and leaves no worker: %s', async (_, source, expected, message) => {
    for (const call of ['load', 'probe'] as const) {
      // The module opens late: messages that the loader sends meanwhile must not be lost.
      useFakes({ opening: new Promise((resolve) => setTimeout(resolve, 20)) });
      const settled = Engine[call](source(), { retryTimeout: 0 });
      await expect(settled).rejects.toEqual(code(expected));
      await expect(settled).rejects.toThrow(message);
      await allEnded();
    }
  });

  it('is also a buffer that changes while it is read', async () => {
    const changes: [(bytes: InstanceType<typeof Resizable>) => unknown, number][] = [
      [(bytes) => structuredClone(bytes, { transfer: [bytes] }), 0],
      [(bytes) => bytes.resize(100), 100],
    ];
    for (const [change, left] of changes) {
      const bytes = new Resizable(FILE_BYTES, { maxByteLength: FILE_BYTES });
      new Uint8Array(bytes).set(file);
      useFakes();
      const loading = Engine.load(bytes);
      change(bytes);
      await expect(loading).rejects.toEqual(code('invalid_argument'));
      await expect(loading).rejects.toThrow(`had ${FILE_BYTES} bytes and has ${left} now`);
      await allEnded();
    }
  });
});

describe('abort', () => {
  it('ends a load before it begins, before the header, and before the weights', async () => {
    useFakes();
    await expect(Engine.load(MODEL, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: 'AbortError',
      code: 'aborted',
    });
    expect(FakeWorker.all.length).toBe(0);

    slowModel(HEADER_BYTES - 1);
    const early = new AbortController();
    const loading = Engine.load(MODEL, { signal: early.signal });
    setTimeout(() => early.abort());
    await expect(loading).rejects.toEqual(code('aborted'));
    await allEnded();

    useFakes();
    slowModel(1000);
    const late = new AbortController();
    const engine = await Engine.load(MODEL, { signal: late.signal });
    late.abort();
    await expect(engine.ready).rejects.toMatchObject({ name: 'AbortError', code: 'aborted' });
    await expect(engine.tokenize('x')).rejects.toEqual(code('closed'));
  });

  it('ends a generation, and the engine stays usable', async () => {
    const control = useFakes();
    const engine = await Engine.load(MODEL);
    await engine.ready;
    const controller = new AbortController();
    let tokens = 0;
    const run = async (): Promise<void> => {
      for await (const _ of engine.generate('a b', { signal: controller.signal }))
        if (++tokens === 3) controller.abort();
    };
    const error: unknown = await run().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'AbortError', code: 'aborted' });
    expect((error as Error).cause).toBe(controller.signal.reason);
    expect(tokens).toBe(3);
    expect(await collect(engine.generate('x y', { maxTokens: 3 }))).toBe('x y x');
    expect(control.cancels).toBe(1);
  });

  it('ends a generation that waits for weights', async () => {
    const control = useFakes();
    slowModel(1000);
    const engine = await Engine.load(MODEL);
    const controller = new AbortController();
    const text = collect(engine.generate('a', { signal: controller.signal }));
    await vi.waitFor(() => expect(control.starts.length).toBe(1));
    controller.abort();
    await expect(text).rejects.toEqual(code('aborted'));
  });

  it('ends a text that is being tokenized; what came beside and behind it goes on', async () => {
    const control = useFakes();
    const engine = await Engine.load(MODEL);
    await engine.ready;
    const controller = new AbortController();
    const endless = engine.tokenize('endless', { signal: controller.signal });
    const behind = engine.tokenize('ab');
    expect(await collect(engine.generate('x y', { maxTokens: 3 }))).toBe('x y x');
    expect(control.encodings).toBe(2);
    controller.abort();
    await expect(endless).rejects.toEqual(code('aborted'));
    expect(await behind).toEqual([97, 98]);
    expect(control.encodings).toBe(0);
  });

  it.each([
    ['the TimeoutError of AbortSignal.timeout', new DOMException('time is up', 'TimeoutError')],
    ["an error of the caller's", new RangeError('enough')],
    ['a word', 'enough'],
    ['null', null],
  ])('rejects with what the signal gives, everywhere: %s', async (_, reason) => {
    const thrown = async (calling: Promise<unknown>): Promise<unknown> =>
      calling.then(
        () => 'nothing',
        (error: unknown) => error,
      );
    useFakes();
    const fired = { signal: AbortSignal.abort(reason) };
    expect(await thrown(Engine.load(MODEL, fired))).toBe(reason);
    expect(await thrown(Engine.probe(MODEL, fired))).toBe(reason);

    for (const call of ['load', 'probe'] as const) {
      useFakes();
      slowModel(HEADER_BYTES - 1);
      const later = new AbortController();
      const calling = thrown(Engine[call](MODEL, { signal: later.signal }));
      setTimeout(() => later.abort(reason), 5);
      expect(await calling).toBe(reason);
    }

    useFakes();
    slowModel(1000);
    const loading = new AbortController();
    const engine = await Engine.load(MODEL, { signal: loading.signal });
    const running = engine.generate('a b');
    const first = thrown(running.next());
    const writing = new AbortController();
    const other = thrown(engine.session().generate('a', { signal: writing.signal }).next());
    writing.abort(reason);
    expect(await other).toBe(reason);
    expect(await thrown(engine.tokenize('x', fired))).toBe(reason);
    expect(await thrown(engine.logits([1], fired))).toBe(reason);
    expect(await thrown(engine.generate('x', fired).next())).toBe(reason);
    loading.abort(reason);
    expect(await first).toBe(reason);
    expect(await thrown(engine.ready)).toBe(reason);
    // An iterator throws its error only once.
    expect(await running.next()).toEqual({ done: true, value: undefined });
    expect(await thrown(engine.tokenize('x'))).toEqual(code('closed'));
    await allEnded();
  });

  it('is heard by every call', async () => {
    useFakes();
    const engine = await Engine.load(MODEL);
    const signal = AbortSignal.abort();
    await expect(engine.tokenize('x', { signal })).rejects.toEqual(code('aborted'));
    await expect(engine.detokenize([1], { signal })).rejects.toEqual(code('aborted'));
    await expect(engine.logits([1], { signal })).rejects.toEqual(code('aborted'));
    await expect(engine.generate('x', { signal }).next()).rejects.toEqual(code('aborted'));
    const later = new AbortController();
    const logits = engine.logits([1], { signal: later.signal });
    later.abort();
    await expect(logits).rejects.toEqual(code('aborted'));
    await engine.ready;
    expect((await engine.logits([1])).hash).toBe('0123456789abcdef');
  });
});

describe('generate', () => {
  it('may be called before the weights are there', async () => {
    const control = useFakes();
    const { more } = slowModel(1000);
    const engine = await Engine.load(MODEL);
    const text = collect(engine.generate('one two', { maxTokens: 3, seed: 4 }));
    await vi.waitFor(() => expect(control.starts.length).toBe(1));
    more();
    expect(await text).toBe('one two one');
    expect(control.starts[0]).toEqual({ prompt: 'one two', options: { maxTokens: 3, seed: 4 } });
    expect(engine.stats.finish).toBe('length');
  });

  it('ends when its loop is left', async () => {
    const control = useFakes();
    const engine = await Engine.load(MODEL);
    for await (const token of engine.generate([5, 6])) {
      expect(token).toEqual({ id: 0, text: '5', logprob: -1 });
      break;
    }
    expect(await collect(engine.generate('z', { maxTokens: 1 }))).toBe('z');
    expect(control.cancels).toBe(1);
    expect(control.starts[0]?.prompt).toEqual([5, 6]);
  });

  it('gives sessions their turns, each with its own text and figures', async () => {
    const control = useFakes();
    const engine = await Engine.load(MODEL);
    await engine.ready;
    const other = engine.session();
    const texts = await Promise.all([
      collect(engine.generate('a b', { maxTokens: 3 })),
      collect(other.generate('x', { maxTokens: 2, seed: 9 })),
    ]);
    expect(texts).toEqual(['a b a', 'x x']);
    expect(engine.stats).toMatchObject({ promptTokens: 2, tokens: 3, finish: 'length' });
    expect(other.stats).toMatchObject({ promptTokens: 1, tokens: 2, finish: 'length' });
    expect(other.stats).toMatchObject({ flavour: engine.stats.flavour, kernels: 'fake' });
    expect(await other.tokens()).toEqual([0, 1]);
    const copy = other.clone();
    await copy.truncate(1);
    expect([await copy.tokens(), await other.tokens()]).toEqual([[0], [0, 1]]);
    expect(control.sessions).toBe(3);
    await copy.close();
    await copy.close();
    await vi.waitFor(() => expect(control.sessions).toBe(2));
    await expect(copy.tokens()).rejects.toEqual(code('closed'));
    await expect(copy.generate('a').next()).rejects.toEqual(code('closed'));
    await expect(other.truncate(-1)).rejects.toEqual(code('invalid_argument'));
    await engine.close();
    expect(control.sessions).toBe(0);
    await expect(other.tokens()).rejects.toEqual(code('closed'));
    expect(() => engine.session()).toThrow('closed');
  });

  it('is busy by the session', async () => {
    useFakes();
    const { more } = slowModel(1000);
    const engine = await Engine.load(MODEL);
    const other = engine.session();
    const text = engine.generate('a', { maxTokens: 1 });
    const first = text.next();
    await expect(engine.generate('b').next()).rejects.toEqual(code('busy'));
    const theirs = other.generate('c', { maxTokens: 1 });
    const second = theirs.next();
    expect(() => other.clone()).toThrow('generating');
    await expect(other.truncate(0)).rejects.toEqual(code('busy'));
    more();
    expect((await first).value?.text).toBe('a');
    expect((await second).value?.text).toBe('c');
    await engine.close();
  });

  it('ends the run of a session that is closed, after what it has written', async () => {
    useFakes();
    const engine = await Engine.load(MODEL);
    await engine.ready;
    const session = engine.session();
    const text = session.generate('a');
    expect((await text.next()).value?.text).toBe('a');
    await session.close();
    await expect(collect(text)).rejects.toEqual(code('aborted'));
    expect(await collect(engine.generate('b', { maxTokens: 1 }))).toBe('b');
    await engine.close();
  });

  it('is busy while one runs, for generate and logits, not for tokenize', async () => {
    useFakes();
    const engine = await Engine.load(MODEL);
    const first = engine.generate('a');
    await first.next();
    await expect(engine.generate('b').next()).rejects.toEqual(code('busy'));
    await expect(engine.logits([1])).rejects.toEqual(code('busy'));
    expect(await engine.tokenize('ab')).toEqual([97, 98]);
    expect(await engine.detokenize([104, 105])).toBe('hi');
    await first.return?.();
    expect(await collect(engine.generate('b', { maxTokens: 1 }))).toBe('b');
  });

  it("shows the core's refusals and stays usable", async () => {
    const control = useFakes();
    const engine = await Engine.load(MODEL);
    await engine.ready;
    const long = Array.from({ length: 101 }, () => 1);
    await expect(collect(engine.generate(long))).rejects.toEqual(code('context_full'));
    await expect(collect(engine.generate('a', { temperature: NaN }))).rejects.toEqual(
      code('invalid_argument'),
    );
    control.fail = errorAnswer('out_of_memory', 'no memory for the KV cache');
    await expect(collect(engine.generate('a'))).rejects.toEqual(code('out_of_memory'));
    control.fail = null;
    expect(await collect(engine.generate('a', { maxTokens: 2 }))).toBe('a a');
  });

  it('keeps its figures up to date from the start on', async () => {
    const control = useFakes();
    const engine = await Engine.load(MODEL);
    await engine.ready;
    expect(engine.stats.residentBytes).toBe(1000);
    for await (const _ of engine.generate('one', { maxTokens: 5 }));
    expect(engine.stats).toMatchObject({ promptTokens: 1, tokens: 5 });

    // Each step of the prompt takes 60 ms and changes a figure.
    let clock = 0;
    const now = vi.spyOn(performance, 'now').mockImplementation(() => clock);
    const seen: EngineStats[] = [];
    control.working = () => {
      seen.push(engine.stats);
      clock += 60;
      control.promptTokensPerSecond += 1;
      return seen.length < 9;
    };
    const text = engine.generate('a b c', { seed: 77, maxTokens: 1 });
    const first = text.next();
    // The figures of the text before are gone.
    expect(engine.stats).toMatchObject({ promptTokens: 0, tokens: 0, seed: 77, finish: null });
    await first;
    now.mockRestore();
    for (const stats of seen.slice(1)) expect(stats).toMatchObject({ promptTokens: 3, tokens: 0 });
    // Sent after the first slice, and then every 100 ms.
    expect(seen.map((stats) => stats.promptTokensPerSecond)).toEqual([0, 1, 1, 3, 3, 5, 5, 7, 7]);
    await text.return?.();

    control.working = () => false;
    let tokens = 0;
    for await (const _ of engine.generate('a b c', { maxTokens: 100 })) {
      expect(engine.stats.tokens).toBeGreaterThanOrEqual(++tokens);
    }
  });

  it('does not take the figures of a run that was left for those of the next', async () => {
    const control = useFakes();
    slowModel(1000);
    const engine = await Engine.load(MODEL);
    // It is still loading.
    expect(engine.stats).toMatchObject({ kernels: 'fake', heapBytes: 65536, loadMs: 0 });
    const left = engine.generate('one two three');
    void left.next();
    await left.return?.();
    void engine
      .generate('one')
      .next()
      .catch(() => {});
    await vi.waitFor(() => expect(control.starts.length).toBe(2));
    await vi.waitFor(() => expect(engine.stats.promptTokens).toBe(1));
    const stats = { ...engine.stats, promptTokens: 3, tokens: 99 };
    FakeWorker.all
      .find((w) => w.kind === 'engine')
      ?.emit('message', { data: { type: 'done', id: 1, finish: 'aborted', stats } });
    await new Promise((resolve) => setTimeout(resolve));
    expect(engine.stats).toMatchObject({ promptTokens: 1, tokens: 0 });
    await engine.close();
  });

  it('is not busy after arguments that could not be posted', async () => {
    useFakes();
    const engine = await Engine.load(MODEL);
    const ids = Object.assign(new Proxy([5, 6], {}), { call: () => 1 });
    expect(await collect(engine.generate(ids, { maxTokens: 2 }))).toBe('5 6');
    expect((await engine.logits(ids)).hash).toBe('0123456789abcdef');
    expect(await engine.detokenize(ids)).toBe('\x05\x06');
    await expect(engine.logits([1], null as never)).rejects.toEqual(code('invalid_argument'));
    await expect(engine.generate('a', null as never).next()).rejects.toEqual(
      code('invalid_argument'),
    );
    expect(await collect(engine.generate('z', { maxTokens: 1 }))).toBe('z');
  });

  it('does nothing until it is asked, and gives nothing after its end', async () => {
    const control = useFakes();
    const engine = await Engine.load(MODEL);
    await engine.ready;
    const unused = engine.generate('a');
    await unused.return?.();
    expect(await unused.next()).toEqual({ done: true, value: undefined });
    expect(control.starts.length).toBe(0);
  });
});

describe('close', () => {
  it('rejects what is pending, ends the workers, and forbids what comes after', async () => {
    useFakes();
    slowModel(1000);
    const engine = await Engine.load(MODEL);
    const text = collect(engine.generate('a'));
    const logits = engine.tokenize('a');
    const both = Promise.allSettled([text, logits, engine.ready]);
    await engine.close();
    for (const result of await both) {
      if (result.status === 'rejected') expect(result.reason).toEqual(code('aborted'));
    }
    expect((await both)[0]?.status).toBe('rejected');
    expect((await both)[2]?.status).toBe('rejected');
    await allEnded();
    await expect(collect(engine.generate('a'))).rejects.toEqual(code('closed'));
    await expect(engine.logits([1])).rejects.toEqual(code('closed'));
    await engine.close();
  });
});

describe('a worker that dies', () => {
  it.each(['engine', 'loader'])('is told: the %s worker', async (kind) => {
    useFakes();
    slowModel(1000);
    const engine = await Engine.load(MODEL);
    const text = collect(engine.generate('a'));
    FakeWorker.all
      .find((w) => w.kind === kind)
      ?.emit('error', { message: 'boom', preventDefault: () => {} });
    await expect(text).rejects.toEqual(code('worker_died'));
    await expect(engine.ready).rejects.toThrow(/boom/);
    await expect(engine.tokenize('x')).rejects.toEqual(code('worker_died'));
    await engine.close();
  });

  it('is told of a module that trapped, and the next load works', async () => {
    const control = useFakes();
    const engine = await Engine.load(MODEL);
    await engine.ready;
    control.trap = 'unreachable';
    await expect(collect(engine.generate('a'))).rejects.toEqual(code('worker_died'));
    await allEnded();
    useFakes();
    await (
      await Engine.load(MODEL)
    ).ready;
  });

  it('is told apart from one that ran out of memory', async () => {
    const control = useFakes();
    const engine = await Engine.load(MODEL);
    await engine.ready;
    control.trap = 'out_of_memory';
    await expect(collect(engine.generate('a'))).rejects.toEqual(code('out_of_memory'));
  });

  it('is told of a thread of the pool that trapped, while the engine worker hears nothing', async () => {
    useFakes({ shared: true });
    slowModel(1000);
    const engine = await Engine.load(MODEL, { flavour: 'simd-mt', threads: 2 });
    const text = collect(engine.generate('a'));
    const open = FakeWorker.all.find((w) => w.kind === 'engine')?.heard[0];
    const opened = open?.type === 'call' && open.name === 'open' ? open.args : null;
    const thread = opened === null ? null : new URL(opened.files.thread);
    const name = thread?.hash.slice(1) ?? '';
    expect(name).toMatch(/^sluice-/);
    const channel = new BroadcastChannel(name);
    channel.postMessage('Uncaught RuntimeError: unreachable');
    await expect(text).rejects.toEqual(code('worker_died'));
    await expect(text).rejects.toThrow(/RuntimeError: unreachable/);
    await allEnded();
    channel.close();
  });

  it('is told when it cannot be started at all', async () => {
    useFakes();
    vi.stubGlobal(
      'Worker',
      class {
        constructor() {
          throw new DOMException('no workers here', 'NotSupportedError');
        }
      },
    );
    await expect(Engine.load(MODEL)).rejects.toEqual(code('unsupported_environment'));
  });
});
