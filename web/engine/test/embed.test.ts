// embed, similar and fillMask, with a fake module: what the worker is asked, what comes back, errors, aborts, order.
import { describe, expect, it } from 'vitest';
import { Engine, SluiceError, type EmbedProgress, type EmbedTexts } from '../src/index.js';
import { deferred } from '../src/shared/promises.js';
import { load } from './chat-setup.js';
import { MODEL, allEnded, collect } from './engine-setup.js';
import { FakeWorker, useFakes } from './fake-workers.js';

// The fake's vector of a text is: its number of tokens, its first id, its last one, the pooling. Around a text are < and >.
const LESS = 60;
const MORE = 62;
const raw = { normalize: false } as const;
const numbers = (list: { embedding: Float32Array }[]): number[][] =>
  list.map(({ embedding }) => Array.from(embedding));
const ids = (text: string): number[] => Array.from(text, (c) => c.charCodeAt(0));
const groups = (): number[][][] => FakeWorker.control.groups;

describe('embed', () => {
  it('gives a vector of each text, with the tokens that were computed', async () => {
    const engine = await load();
    const [one, two, three] = await engine.embed(['ab', 'c', [7, 8, 9]], raw);
    expect(one).toEqual({ embedding: Float32Array.of(4, LESS, MORE, 0), tokens: 4 });
    expect(two).toEqual({ embedding: Float32Array.of(3, LESS, MORE, 0), tokens: 3 });
    expect(three).toEqual({ embedding: Float32Array.of(3, 7, 9, 0), tokens: 3 });
    expect(groups()).toEqual([[[...ids('<ab>')], [...ids('<c>')], [7, 8, 9]]]);
    expect(await engine.embed('ab', raw)).toEqual([one]);
    expect(await engine.embed([])).toEqual([]);
    await engine.close();
  });

  it('normalizes unless it shall not, cuts, and takes the pooling', async () => {
    const engine = await load();
    const [whole] = numbers(await engine.embed('ab'));
    expect(Math.hypot(...(whole ?? []))).toBeCloseTo(1, 6);
    const [cut] = numbers(await engine.embed('ab', { dimensions: 2 }));
    expect(cut).toHaveLength(2);
    expect(Math.hypot(...(cut ?? []))).toBeCloseTo(1, 6);
    const poolings = [undefined, 'mean', 'cls', 'last'] as const;
    for (const [number, pooling] of poolings.entries())
      expect(numbers(await engine.embed('ab', { ...raw, pooling }))[0]?.[3]).toBe(number);
    await engine.close();
  });

  it("puts before a text what its kind wants, or the caller's own", async () => {
    const engine = await load();
    await engine.embed(['a', [7]], { kind: 'query' });
    await engine.embed('a', { kind: 'document' });
    await engine.embed('a', { kind: 'document', prefix: 'x' });
    await engine.embed('a', { kind: 'query', prefix: '' });
    await engine.embed('a');
    const texts = ['<q:a>', '<d:a>', '<xa>', '<a>', '<a>'].map((text) => [ids(text)]);
    texts[0]?.push([7]); // ids are taken as they are
    expect(groups()).toEqual(texts);
    await engine.close();
  });

  it('refuses a text that is too long, or cuts it', async () => {
    const engine = await load();
    const long = 'a'.repeat(200);
    await expect(engine.embed(['b', long])).rejects.toMatchObject({
      code: 'context_full',
      message: expect.stringContaining(
        'text 1 of the list (counted from 0) has 202 tokens',
      ) as string,
      facts: { tokens: 202, room: 100 },
    });
    await expect(
      engine.embed(
        ids(long)
          .map((id) => [id])
          .slice(0, 1),
      ),
    ).resolves.toHaveLength(1);
    await expect(engine.embed([ids(long)])).rejects.toThrow('the text has 200 tokens');
    const cut = await engine.embed([long, ids(long)], { truncate: true });
    expect(cut.map(({ tokens }) => tokens)).toEqual([100, 100]);
    expect(groups().at(-1)?.[0]?.at(-1)).toBe(MORE); // what ends a text stays
    await engine.close();
  });

  it('refuses what it can not take', async () => {
    const engine = await load();
    const embed = engine.embed as (...given: unknown[]) => Promise<unknown>;
    const wrong: [unknown, object, string][] = [
      [7, {}, 'texts is 7; give a text, or a list of texts'],
      [['a', 7], {}, 'texts[1] is 7; give a text'],
      [[[1, -1]], {}, 'texts[0] holds -1; token ids are whole numbers'],
      [['a', []], {}, 'text 1 of the list (counted from 0) is empty'],
      ['a', { pooling: 'max' }, "pooling is 'max'; give 'mean' or 'cls' or 'last'"],
      ['a', { dimensions: 0 }, 'dimensions is 0; give a whole number from 1'],
      ['a', { dimensions: 5 }, "dimensions is 5; the model's vectors have 4 numbers"],
      ['a', { kind: 'passage' }, "kind is 'passage'; give 'query' or 'document'"],
      ['a', { prefix: 1 }, 'prefix is 1; give a string'],
      ['a', { normalise: true }, "unknown option 'normalise'"],
    ];
    for (const [given, options, says] of wrong)
      await expect(embed(given, options)).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringContaining(says) as string,
      });
    expect(groups()).toEqual([]);
    await engine.close();
  });

  it('computes a long list in groups, and says how far it is', async () => {
    const engine = await load();
    const texts = Array.from({ length: 1100 }, (_, i) => 'a'.repeat(1 + (i % 3)));
    const news: EmbedProgress[] = [];
    const all = await engine.embed(texts, {
      ...raw,
      onProgress: (progress) => news.push(progress),
    });
    expect(all.map(({ tokens }) => tokens)).toEqual(texts.map(({ length }) => length + 2));
    expect(groups().map(({ length }) => length)).toEqual([512, 512, 76]);
    expect(news.length).toBeGreaterThanOrEqual(3);
    expect(news.map(({ done }) => done)).toEqual(
      news.map(({ done }) => done).sort((a, b) => a - b),
    );
    const tokens = all.reduce((sum, one) => sum + one.tokens, 0);
    expect(news.at(-1)).toEqual({ done: 1100, total: 1100, tokens });
    // Each vector has a buffer of its own, which the worker has handed over.
    expect(FakeWorker.transferred).toBe(1100);
    expect(new Set(all.map(({ embedding }) => embedding.buffer)).size).toBe(1100);
    expect(all.every(({ embedding }) => embedding.buffer.byteLength === 16)).toBe(true);
    await engine.close();
  });

  it('waits for weights that are still arriving', async () => {
    useFakes();
    const engine = await Engine.load(MODEL);
    expect(await engine.embed('ab', raw)).toHaveLength(1);
    await engine.close();
  });

  it('ends with its signal, and the next call is answered', async () => {
    const reason = new Error('enough');
    let controller = new AbortController();
    let endless = true;
    const abort = (): boolean => {
      if (endless) controller.abort(reason);
      return endless;
    };
    const engine = await load({ working: abort, encodes: abort });
    // While it is computed, while it is encoded, and before it begins.
    for (const text of [[7], 'endless']) {
      controller = new AbortController();
      const calls = [text, 'a'].map((one) => engine.embed([one], { signal: controller.signal }));
      for (const call of calls) await expect(call).rejects.toBe(reason);
    }
    const signal = AbortSignal.abort();
    await expect(engine.embed('a', { signal })).rejects.toMatchObject({ code: 'aborted' });
    endless = false;
    expect(await engine.embed('ab', raw)).toHaveLength(1);
    expect(FakeWorker.control.encodings).toBe(0);
    await engine.close();
  });

  it('is answered beside a text that is written, one call after the other', async () => {
    let reading = true;
    const engine = await load();
    const writing = collect(engine.generate('x y', { maxTokens: 400 })).finally(() => {
      reading = false;
    });
    const order: number[] = [];
    const note = (i: number) => (): number => order.push(i);
    await Promise.all([
      engine.embed(['a', 'b'], raw).then(note(1)),
      engine.embed('c', raw).then(note(2)),
      engine.embed([[]]).catch(note(3)),
      engine.embed('d', raw).then(note(4)),
    ]);
    expect(order).toEqual([1, 2, 3, 4]);
    expect(reading).toBe(false);
    expect((await writing).split(' ')).toHaveLength(400);
    await engine.close();
  });

  it('fails with the error of the core, and goes on', async () => {
    const engine = await load();
    FakeWorker.control.fail = JSON.stringify({
      event: 'error',
      code: 'out_of_memory',
      message: 'too little memory',
    });
    await expect(engine.embed('a')).rejects.toMatchObject({ code: 'out_of_memory' });
    FakeWorker.control.fail = null;
    expect(await engine.embed('a')).toHaveLength(1);
    await engine.close();
  });

  it('fails when the engine is closed or its worker dies', async () => {
    const engine = await load({ needed: Infinity });
    const waiting = engine.embed('a');
    const queued = engine.embed('b');
    void engine.close();
    for (const call of [waiting, queued])
      await expect(call).rejects.toMatchObject({ code: 'aborted' });
    for (const call of [engine.embed('a'), engine.similar('a', ['b']), engine.embed([])])
      await expect(call).rejects.toMatchObject({ code: 'closed' });
    await allEnded();
    const other = await load({ trap: 'unreachable' });
    await expect(other.embed('a')).rejects.toMatchObject({ code: 'worker_died' });
    await expect(other.embed('a')).rejects.toMatchObject({ code: 'worker_died' });
  });
});

describe('similar', () => {
  it('lists the texts, the nearest to the query first', async () => {
    const engine = await load();
    const texts: EmbedTexts = ['a'.repeat(60), 'aa', [1, 1, 1], 'a'];
    const found = await engine.similar('b', texts);
    expect(groups()).toEqual([
      [ids('<q:b>')],
      [ids(`<d:${'a'.repeat(60)}>`), ids('<d:aa>'), [1, 1, 1], ids('<d:a>')],
    ]);
    expect(found.map(({ index }) => index)).toEqual([3, 1, 0, 2]);
    expect(found[0]).toMatchObject({ index: 3, text: 'a' });
    expect(found[0]?.score).toBeCloseTo(1, 6);
    expect(found[3]).not.toHaveProperty('text');
    expect(found.map(({ score }) => score)).toEqual(
      found.map(({ score }) => score).sort((a, b) => b - a),
    );
    expect(await engine.similar('b', texts, { top: 2 })).toEqual(found.slice(0, 2));
    expect(await engine.similar('b', [])).toEqual([]);
    await engine.close();
  });

  it('takes vectors in place of texts', async () => {
    const engine = await load();
    const texts = ['a'.repeat(60), 'aa', 'a'];
    const made = await engine.embed(texts, { kind: 'document' });
    const vectors = made.map(({ embedding }) => embedding);
    const found = await engine.similar('b', texts);
    const scores = (await engine.similar('b', vectors)).map(({ index, score }) => [index, score]);
    expect(scores.map(([index]) => index)).toEqual(found.map(({ index }) => index));
    for (const [i, [, score]] of scores.entries())
      expect(score).toBeCloseTo(found[i]?.score ?? 0, 6);
    // Of another length, cut, and without one.
    const own = [Float32Array.of(-10, -160), Float32Array.of(0, 0), Float32Array.of(2.5, 30)];
    const cut = await engine.similar('b', own);
    expect(cut.map(({ index }) => index)).toEqual([2, 1, 0]);
    expect(cut[0]?.score).toBeCloseTo(1, 4);
    expect(cut[1]?.score).toBe(0);
    for (const [given, options, says] of [
      [[Float32Array.of(1, 2), Float32Array.of(1)], {}, 'texts[1] has 1 numbers, texts[0] has 2'],
      [[Float32Array.of(1, 2), 'a'], {}, "texts[1] is 'a'; give a Float32Array"],
      [[new Float32Array(5)], {}, "dimensions is 5; the model's vectors have 4"],
      [[new Float32Array(2)], { dimensions: 3 }, 'dimensions is 3, and the vectors have 2'],
      [['a'], { top: 0 }, 'top is 0; give a whole number from 1'],
    ] as const)
      await expect(engine.similar('b', given as never, options)).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringContaining(says) as string,
      });
    await engine.close();
  });
});

describe('fillMask', () => {
  it('lists tokens for each mask', async () => {
    const engine = await load({ makes: ['vectors', 'masks'] });
    const top = [{ id: 7, token: '\x07', logprob: -0.5 }];
    expect(await engine.fillMask('b*c*')).toEqual([
      { position: 2, top },
      { position: 4, top },
    ]);
    await expect(engine.fillMask('b')).rejects.toMatchObject({
      code: 'invalid_argument',
      message: 'the text has no mask; write * in place of the word to be found',
    });
    await expect(engine.fillMask('*', { top: 0 })).rejects.toThrow('top is 0');
    await expect(engine.fillMask(`*${'b'.repeat(100)}`)).rejects.toMatchObject({
      code: 'context_full',
    });
    expect(await engine.fillMask('*')).toHaveLength(1);
    await engine.close();
  });

  it('needs a model of masked words', async () => {
    const engine = await load();
    await expect(engine.fillMask('*')).rejects.toMatchObject({
      code: 'unsupported_model',
      message:
        'this model (llama) fills in no masked words; call engine.generate or engine.embed, or load another model',
      facts: { architecture: 'llama' },
    });
    await engine.close();
  });
});

describe('the script that computes texts', () => {
  it('is loaded once, for the first call', async () => {
    let loads = 0;
    const engine = await load({
      makes: ['text', 'vectors', 'masks'],
      loadsAnalysis: async () => void (loads += 1),
    });
    await engine.complete('a', { maxTokens: 1 });
    expect(loads).toBe(0);
    const [list, masks] = await Promise.all([engine.embed(['a', 'b']), engine.fillMask('*')]);
    expect([list.length, masks.length, loads]).toEqual([2, 1, 1]);
    expect(await engine.pieces([97])).toEqual(['a']);
    expect(loads).toBe(1);
    await engine.close();
  });

  it('may fail to load: its calls fail, and the next one tries again', async () => {
    let fails = true;
    const engine = await load({
      loadsAnalysis: async () => {
        if (fails) throw new SluiceError('offline', 'this device is offline');
      },
    });
    const calls = [engine.embed('a'), engine.similar('a', ['b'])];
    for (const call of calls)
      await expect(call).rejects.toMatchObject({
        code: 'offline',
        message: 'this device is offline',
      });
    expect((await engine.complete('a', { maxTokens: 1 })).tokens).toHaveLength(1);
    fails = false;
    expect(await engine.embed('a')).toHaveLength(1);
    await engine.close();
  });

  it('is not waited for by a call that is aborted, or when the engine is closed', async () => {
    const { promise, resolve } = deferred();
    const engine = await load({ loadsAnalysis: () => promise });
    const stop = new AbortController();
    const aborted = engine.embed('a', { signal: stop.signal });
    const kept = engine.embed('b');
    const reason = new Error('enough');
    stop.abort(reason);
    await expect(aborted).rejects.toBe(reason);
    resolve();
    expect(await kept).toHaveLength(1);
    expect(groups()).toEqual([[ids('<b>')]]);
    await engine.close();

    const never = await load({ loadsAnalysis: () => new Promise(() => {}) });
    const waiting = never.embed('a');
    void never.close();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
  });
});

it('a model that makes no text says what it makes', async () => {
  const engine = await load({ makes: ['vectors', 'masks'] });
  const messages = [{ role: 'user', content: 'a' }];
  const session = engine.session();
  for (const call of [
    () => engine.generate('a').next(),
    () => engine.complete('a'),
    () => session.generate('a').next(),
    () => session.resume().next(),
    () => engine.chat.completions.create({ messages }),
    () => engine.completions.create({ prompt: 'a' }),
  ])
    await expect(call()).rejects.toMatchObject({
      code: 'unsupported_model',
      message:
        'this model (llama) makes no text; call engine.embed or engine.fillMask, or load another model',
    });
  expect(engine.info.makes).toEqual(['vectors', 'masks']);
  expect(await engine.embed('a')).toHaveLength(1);
  await engine.close();
});
