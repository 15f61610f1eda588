// The calls that look inside the model, with a fake module: what the worker is asked, what comes back, errors, aborts, order.
import { describe, expect, it } from 'vitest';
import { Engine, type LensProgress, type RawLogits, type StatesProgress } from '../src/index.js';
import { collect, load, until, user } from './chat-setup.js';
import { MODEL, allEnded, collect as collectWords } from './engine-setup.js';
import { FakeWorker, useFakes } from './fake-workers.js';

// The fake's state of a token at a layer is [id, layer, at, position]: see fake-inside.ts. Ids are code points, and around a text
// are < and > where the model writes none.
const [B, LESS, MORE] = [98, 60, 62];
const control = () => FakeWorker.control;
const raw = (draws: number | null = 3): RawLogits => ({
  logSum: 0.5,
  entropy: 1.5,
  draws,
  ids: Int32Array.of(5, 6),
  logits: Float32Array.of(2, 1),
});
const refused = (says: string): object => ({
  code: 'invalid_argument',
  message: expect.stringContaining(says) as string,
});

describe('a token with trace', () => {
  it('has what it was chosen from, in arrays that the worker hands over', async () => {
    const engine = await load();
    const before = FakeWorker.transferred;
    const tokens = await collect(engine.generate('a b', { maxTokens: 2, trace: 3 }));
    expect(tokens.map(({ raw: one }) => one)).toEqual(
      [0, 1].map((id) => ({
        logSum: 0.5,
        entropy: 1.5,
        draws: id,
        ids: Int32Array.of(id, id + 1, id + 2),
        logits: Float32Array.of(8, 7, 6),
      })),
    );
    expect(FakeWorker.transferred - before).toBe(2);
    expect(control().starts.at(-1)?.options).toMatchObject({ trace: 3 });
    const [plain] = await collect(engine.generate('a b', { maxTokens: 1 }));
    expect(plain).not.toHaveProperty('raw');
    await expect(engine.generate('a', { trace: 257 }).next()).rejects.toMatchObject(
      refused('trace is 257; give a whole number from 0 to 256'),
    );
    await engine.close();
  });

  it('is a part of an answer, too, and of a session that goes on', async () => {
    const engine = await load();
    const parts = await collect(engine.answer({ messages: [user('a b')], trace: 2 }));
    expect(parts.map(({ raw: one }) => one?.ids.length)).toEqual(parts.map(() => 2));
    const session = engine.session();
    await session.complete('a b', { maxTokens: 1 });
    const [more] = await collect(session.resume({ maxTokens: 1, trace: 1 }));
    expect(more?.raw?.logits).toEqual(Float32Array.of(8));
    await engine.close();
  });
});

describe('choice', () => {
  it('gives the core what a token was chosen from, and the options', async () => {
    const engine = await load();
    const options = { topK: 5, seed: 7, logitBias: { 3: 1 }, promptTokens: 1, most: 9 };
    expect(await engine.choice(raw(), [1, 2], options)).toEqual({
      enough: true,
      steps: [],
      candidates: [
        { id: 7, logprob: -1, changed: -Infinity, cut: null, p: 1 },
        { id: 8, logprob: -2, changed: -3, cut: 0, p: 0 },
      ],
      nucleus: 1,
      mass: 1,
      place: 0.5,
      taken: 3,
    });
    const core = { topK: 5, seed: 7, logitBias: { 3: 1 } };
    expect(control().choices.at(-1)).toEqual([[1, 2], 1, core, 3, 9]);
    expect(await engine.choice(raw(), [], { topNSigma: 1 })).toMatchObject({
      enough: false,
      candidates: [],
      taken: -1,
    });
    await engine.choice(raw(), []);
    expect(control().choices.at(-1)).toEqual([[], 0, {}, 3, 40]);
    await engine.choice(raw(null), []);
    expect(control().choices.at(-1)?.[3]).toBe(0);
    await engine.choice(raw(), [], { draws: 8 });
    expect(control().choices.at(-1)?.[3]).toBe(8);
    await engine.close();
  });

  it('is answered while a text is written', async () => {
    const engine = await load();
    const tokens = engine.generate('x y');
    await tokens.next();
    expect(await engine.choice(raw(), [1])).toMatchObject({ taken: 2 });
    expect(engine.stats.finish).toBeNull();
    await engine.close();
  });

  it('refuses what it can not take', async () => {
    const engine = await load();
    const choice = engine.choice as (...given: unknown[]) => Promise<unknown>;
    const wrong: [unknown, unknown, object, string][] = [
      [{ ...raw(), ids: [5, 6] }, [], {}, 'raw is {'],
      [{ ...raw(), ids: Int32Array.of(5) }, [], {}, 'raw is {'],
      [{ ...raw(), ids: Int32Array.of(), logits: Float32Array.of() }, [], {}, 'raw is {'],
      [{ ...raw(), ids: new Int32Array(257), logits: new Float32Array(257) }, [], {}, 'raw is'],
      [{ ...raw(), ids: Int32Array.of(5, -6) }, [], {}, 'raw.ids holds -6'],
      [{ ...raw(), ids: Int32Array.of(5, 0x110000) }, [], {}, 'token 1114112 is not in the voc'],
      [{ ...raw(), logSum: NaN }, [], {}, 'give what a token has as `raw` with `trace`'],
      [{ ...raw(), draws: -1 }, [], {}, 'give what a token has as `raw` with `trace`'],
      [7, [], {}, 'raw is 7'],
      [null, [], {}, 'raw is null'],
      [raw(), 7, {}, 'before is 7'],
      [raw(), [0x110000], {}, 'token 1114112 is not in the vocabulary'],
      [raw(), [], { most: 0 }, 'most is 0; give a whole number from 1 to 1000'],
      [raw(), [], { draws: 0.5 }, 'draws is 0.5'],
      [raw(), [], { temperature: 'hot' }, "temperature is 'hot'"],
      [raw(), [], { tempo: 1 }, "unknown option 'tempo'"],
    ];
    for (const [given, before, options, says] of wrong)
      await expect(choice(given, before, options)).rejects.toMatchObject(refused(says));
    expect(control().choices).toEqual([]);
    await engine.close();
  });
});

describe('choiceAt', () => {
  it('computes the logits anew, in a session of its own', async () => {
    const engine = await load();
    await engine.complete('a b', { maxTokens: 2 });
    const { stats } = engine;
    const sessions = control().sessions;
    expect(await engine.choiceAt([4, 5], { draws: 2, seed: 1 })).toMatchObject({ taken: 6 });
    expect(control().choices).toEqual([[[4, 5], 0, { seed: 1 }, 2, 40]]);
    expect(control().hidden).toEqual([['4 5', 1]]);
    expect(engine.stats).toMatchObject({ tokens: stats.tokens, finish: 'length' });
    expect(control().sessions).toBe(sessions);
    await expect(engine.choiceAt([])).rejects.toMatchObject(refused('ids is empty'));
    await engine.close();
  });
});

describe('rawLogits', () => {
  it('gives what each token was chosen from, after those before it', async () => {
    const engine = await load();
    const all = await collect(engine.rawLogits([8, 9, 10, 11], { from: 2, top: 2 }));
    // The states after the last layer, of the positions before the tokens.
    expect(all).toEqual(
      [9, 10].map((id) => ({
        logSum: id,
        entropy: 2,
        draws: null,
        ids: Int32Array.of(0, 1),
        logits: Float32Array.of(8, 7),
      })),
    );
    expect(control().hidden).toEqual([['8 9 10', 1]]);
    expect(control().heads).toEqual([1, 1]); // the vocabulary is large
    expect(await collect(engine.rawLogits([8, 9, 10]))).toHaveLength(2);
    expect(await collect(engine.rawLogits([8]))).toEqual([]);
    expect(await collect(engine.rawLogits([8, 9], { from: 5 }))).toEqual([]);
    await engine.close();
  });

  it('begins with the first item, rests while nobody reads, and ends with the reader', async () => {
    const engine = await load();
    const ids = Array.from({ length: 1000 }, (_, i) => i);
    const stream = engine.rawLogits(ids, { top: 1 });
    await engine.pieces([1]);
    expect(control().hidden).toEqual([]);
    await stream.next();
    // It rests when the queue is full, and others go on.
    await until(() => control().heads.length > 256);
    expect(await engine.choiceAt([1])).toMatchObject({ taken: 2 });
    await stream.return?.();
    const read = control().heads.length;
    expect(read).toBeLessThan(999);
    await engine.choiceAt([1]);
    expect(control().heads.length).toBe(read + 1);
    await expect(engine.rawLogits([1, 2], { from: 0 }).next()).rejects.toMatchObject(
      refused('from is 0; give a whole number from 1'),
    );
    await expect(engine.rawLogits([]).next()).rejects.toMatchObject(refused('ids is empty'));
    await engine.close();
  });
});

it('what a session has is not computed again', async () => {
  const engine = await load();
  const session = engine.session();
  await session.complete('a b', { maxTokens: 4 }); // the tokens 0 to 3
  const clones: number[] = [];
  control().cloned = (tokens) => clones.push(tokens);
  await engine.choiceAt([0, 1, 2, 9]);
  await collect(engine.rawLogits([0, 1, 2, 3, 9]));
  await engine.attention([9]);
  await engine.lens([0]);
  expect(clones).toEqual([4, 4, 4]);
  expect(await session.tokens()).toEqual([0, 1, 2, 3]);
  await engine.close();
});

it('a long text is computed in pieces', async () => {
  const engine = await load({ makes: ['text'] });
  const ids = Array.from({ length: 2500 }, () => 7);
  expect(await collect(engine.rawLogits(ids, { from: 100, top: 1 }))).toHaveLength(2400);
  const pieces = control().hidden.map(([all, from]) => [all.split(' ').length, from]);
  expect(pieces).toEqual([
    [1123, 99],
    [2147, 1123],
    [2499, 2147],
  ]);
  await engine.close();
});

describe('lens', () => {
  it('gives the cells of layers and positions, and says how far it is', async () => {
    const engine = await load();
    const news: LensProgress[] = [];
    const found = await engine.lens([5, 6, 7], {
      layers: [0, 2],
      positions: [1, 2],
      onProgress: (progress) => news.push(progress),
    });
    const cell = (layer: number, i: number): object => ({
      top: [[i, layer]],
      entropy: layer,
      divergence: i,
    });
    expect(found).toEqual({
      layers: [0, 2],
      positions: [1, 2],
      cells: [
        [cell(0, 0), cell(0, 1)],
        [cell(1, 0), cell(1, 1)],
      ],
    });
    expect(news.at(-1)).toEqual({ done: 4, total: 4 });
    const whole = await engine.lens([5, 6]);
    expect([whole.layers, whole.positions]).toEqual([
      [0, 1, 2],
      [0, 1],
    ]);
    for (const [options, says] of [
      [{ layers: [3] }, 'layers holds 3; give whole numbers from 0 to 2'],
      [{ layers: [1, 1] }, 'layers holds 1 after 1'],
      [{ layers: [] }, 'layers is empty'],
      [{ layers: 1 }, 'layers is 1'],
      [{ layers: [0.5] }, 'layers holds 0.5; layers are whole numbers from 0 on'],
      [{ positions: [1, 0] }, 'positions holds 0 after 1'],
      [{ positions: [2] }, 'positions holds 2; give whole numbers from 0 to 1'],
      [{ top: 0 }, 'top is 0'],
    ] as const)
      await expect(engine.lens([5, 6], options as object)).rejects.toMatchObject(refused(says));
    await engine.close();
  });
});

describe('attention', () => {
  it('gives the weights of each layer and head', async () => {
    const engine = await load();
    expect(await engine.attention([5, 6, 7], { position: 1 })).toEqual({
      position: 1,
      layers: [0, 2],
      heads: [2, 1],
      weights: [Float32Array.of(0, 1, 2, 3), Float32Array.of(4, 5)],
    });
    expect((await engine.attention([5, 6, 7])).position).toBe(2);
    await expect(engine.attention([5], { position: 1 })).rejects.toMatchObject(
      refused('position is 1; give one of the ids, from 0 to 0'),
    );
    await expect(engine.attention([], { position: 0 })).rejects.toMatchObject(
      refused('ids is empty'),
    );
    await engine.close();
  });
});

describe('hiddenStates', () => {
  it('gives the states of a prompt, or of several', async () => {
    const engine = await load();
    const one = await engine.hiddenStates('ab', { layers: [0, 2] });
    expect(one).toEqual(Float32Array.of(B, 0, 0, 1, B, 2, 0, 1));
    const all = await engine.hiddenStates([5, 6], { layers: [1], positions: 'all', at: 'ffn' });
    expect(all).toEqual(Float32Array.of(5, 1, 2, 0, 6, 1, 2, 1));
    const [text, ids] = await engine.hiddenStates(['b', [5, 7]], {
      layers: [1],
      positions: 'mean',
      at: 'attention',
    });
    expect(text).toEqual(Float32Array.of(B, 1, 1, 0));
    expect(ids).toEqual(Float32Array.of(6, 1, 1, 1));
    expect(await engine.hiddenStates([[5]])).toEqual([
      Float32Array.of(5, 0, 0, 0, 5, 1, 0, 0, 5, 2, 0, 0),
    ]);
    await engine.close();
  });

  it('computes a long list in groups, and says how far it is', async () => {
    const engine = await load();
    const prompts = Array.from({ length: 1100 }, (_, i) => [i]);
    const news: StatesProgress[] = [];
    const found = await engine.hiddenStates(prompts, {
      layers: [1],
      onProgress: (progress) => news.push(progress),
    });
    expect(found.map(([id]) => id)).toEqual(prompts.map(([id]) => id));
    expect(control().states.map(({ length }) => length)).toEqual([512, 512, 76]);
    expect(news.at(-1)).toEqual({ done: 1100, total: 1100 });
    expect(FakeWorker.transferred).toBe(1100);
    await engine.close();
  });

  it('refuses what it can not take', async () => {
    const engine = await load();
    const states = engine.hiddenStates as (...given: unknown[]) => Promise<unknown>;
    const wrong: [unknown, object, string][] = [
      [7, {}, 'prompt is 7; give a text, or an array of token ids'],
      [['a', 7], {}, 'prompts[1] is 7'],
      [['a', []], {}, 'prompt 1 of the list (from 0) is empty'],
      [[], {}, 'the prompt is empty'],
      [[0x110000], {}, 'token 1114112 is not in the vocabulary'],
      ['a', { at: 'head' }, "at is 'head'; give 'residual' or 'attention' or 'ffn'"],
      ['a', { positions: [1] }, "positions is [1]; give 'last'"],
      ['a', { layers: [5] }, 'layers holds 5'],
    ];
    for (const [given, options, says] of wrong)
      await expect(states(given, options)).rejects.toMatchObject(refused(says));
    await expect(states('a'.repeat(200))).rejects.toMatchObject({
      code: 'context_full',
      facts: { tokens: 200, room: 100 },
    });
    await engine.close();
  });
});

it('pieces are the texts of the tokens', async () => {
  const engine = await load();
  expect(await engine.pieces([97, 98])).toEqual(['a', 'b']);
  expect(await engine.pieces([])).toEqual([]);
  await expect(engine.pieces([0x110000])).rejects.toMatchObject(refused('not in the vocabulary'));
  await engine.close();
});

describe('each of the calls that compute', () => {
  const CALLS: [string, (engine: Engine, signal?: AbortSignal) => Promise<unknown>][] = [
    ['choiceAt', (engine, signal) => engine.choiceAt([1], { signal })],
    ['rawLogits', (engine, signal) => engine.rawLogits([1, 2], { signal }).next()],
    ['lens', (engine, signal) => engine.lens([1], { signal })],
    ['attention', (engine, signal) => engine.attention([1], { signal })],
    ['hiddenStates', (engine, signal) => engine.hiddenStates('a', { signal })],
  ];

  it.each(CALLS)('ends with its signal, and the next is answered: %s', async (_, call) => {
    const reason = new Error('enough');
    let controller = new AbortController();
    let endless = true;
    const engine = await load({
      working: () => {
        if (endless) controller.abort(reason);
        return endless;
      },
    });
    const sessions = control().sessions;
    // One that runs, and one that waits.
    const calls = [1, 2].map(() => call(engine, controller.signal));
    for (const one of calls) await expect(one).rejects.toBe(reason);
    await expect(call(engine, AbortSignal.abort())).rejects.toMatchObject({ code: 'aborted' });
    endless = false;
    controller = new AbortController();
    expect(await call(engine, controller.signal)).toBeDefined();
    await engine.pieces([1]);
    expect(control().sessions).toBe(sessions);
    await engine.close();
  });

  it.each(CALLS)('fails with the error of the core, and goes on: %s', async (_, call) => {
    const engine = await load();
    control().fail = JSON.stringify({ event: 'error', code: 'out_of_memory', message: 'full' });
    await expect(call(engine)).rejects.toMatchObject({ code: 'out_of_memory' });
    control().fail = null;
    expect(await call(engine)).toBeDefined();
    await engine.close();
  });

  it.each(CALLS)('waits for weights, and fails when the engine is closed: %s', async (_, call) => {
    useFakes();
    const engine = await Engine.load(MODEL);
    expect(await call(engine)).toBeDefined();
    control().needed = Infinity;
    const waiting = call(engine);
    void engine.close();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    await expect(call(engine)).rejects.toMatchObject({ code: 'closed' });
    await allEnded();
  });

  it('is answered beside a text that is written, in their order', async () => {
    const engine = await load();
    const writing = collectWords(engine.generate('x y', { maxTokens: 400 }));
    const order: string[] = [];
    await Promise.all(CALLS.map(([name, call]) => call(engine).then(() => order.push(name))));
    expect(order).toEqual(CALLS.map(([name]) => name));
    expect((await writing).split(' ')).toHaveLength(400);
    await engine.close();
  });

  it('needs a model that writes text, but for hidden states', async () => {
    const engine = await load({ makes: ['vectors'] });
    for (const [name, call] of CALLS) {
      if (name === 'hiddenStates')
        expect(await engine.hiddenStates('', { layers: [1], positions: 'mean' })).toEqual(
          Float32Array.of((LESS + MORE) / 2, 1, 0, 1),
        );
      else await expect(call(engine)).rejects.toMatchObject({ code: 'unsupported_model' });
    }
    await engine.close();
  });
});
