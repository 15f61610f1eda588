// Inside a model, in Node: what tokens were chosen from, choices, the lens, attention and hidden states, with the bits of a run and
// of the program, also under a budget, and their ends.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { BUNDLED, Engine, NO_PROGRAM, PROGRAM, ROOT, temporaryFolder, tiny } from './helpers.mjs';

const PROMPT = 'Once upon a time, there was';
const SEED = 11;
const SAMPLING = { temperature: 0.9, topK: 12, topP: 0.95, minP: 0.02, seed: SEED };
/** Files that other programs wrote, and their hidden states. */
const OTHERS = path.join(ROOT, '../shared/models');

async function collect(stream) {
  const all = [];
  for await (const one of stream) all.push(one);
  return all;
}

/** The engine, which is closed after the test. */
async function opened(t, opening) {
  const engine = await opening;
  t.after(() => engine.close());
  return engine;
}

/** A text that an engine writes: its tokens, all ids, and how many of these are the prompt's. */
async function write(engine, options) {
  const session = engine.session();
  const tokens = await collect(
    session.generate(PROMPT, { ...SAMPLING, maxTokens: 24, ignoreEos: true, ...options }),
  );
  const ids = [...(await session.tokens()), tokens.at(-1).id];
  await session.close();
  return { tokens, ids, before: ids.length - tokens.length };
}

/** The sums of rows of so many numbers. */
const sumsOf = (numbers, size) =>
  Array.from({ length: numbers.length / size }, (_, row) =>
    numbers.subarray(row * size, (row + 1) * size).reduce((sum, one) => sum + one, 0),
  );

/** The shares of the probability of a choice. Of the kept logits they have other last digits than of all. */
const massesOf = ({ steps, mass }) => [...steps.map((step) => step.mass), mass];
/** The choice without them. */
const bare = (choice) => ({
  ...choice,
  mass: 0,
  steps: choice.steps.map((step) => ({ ...step, mass: 0 })),
});

for (const [name, options] of [
  ['simd', { flavour: 'simd', threads: 1 }],
  ['two threads', { flavour: 'simd-mt', threads: 2, kvType: 'q8_0' }],
  ['a budget', { flavour: 'simd-mt', threads: 2, budget: true }],
  ['windows', { model: 'gemma4-q8_0', flavour: 'simd', threads: 1 }],
  ['a recurrent state', { model: 'qwen35-q8_0', flavour: 'simd-mt', threads: 2 }],
]) {
  describe(name, { skip: options.model === undefined ? false : NO_PROGRAM }, () => {
    const { model, budget = false, ...loading } = options;
    const open = async () => {
      const source = model === undefined ? BUNDLED : tiny(model);
      if (!budget) return Engine.load(source, loading);
      const { memory } = await Engine.probe(source, loading);
      const engine = await Engine.load(source, { ...loading, memoryBudget: memory.least });
      assert.ok(engine.info.memory.rereadBytes > 0);
      return engine;
    };

    test('what tokens were chosen from can be computed anew, bit by bit', async (t) => {
      const engine = await opened(t, open());
      const { tokens, ids, before } = await write(engine, { trace: 20 });
      for (const { id, logprob, raw } of tokens) {
        assert.equal(raw.ids.length, 20);
        const place = raw.ids.indexOf(id);
        assert.ok(Math.abs(raw.logits[place] - raw.logSum - logprob) < 1e-5);
      }
      assert.deepEqual(
        tokens.map(({ raw }) => raw.draws),
        tokens.map((_, i) => i),
      );
      const anew = await collect(engine.rawLogits(ids, { from: before, top: 20 }));
      assert.deepEqual(
        anew,
        tokens.map(({ raw }) => ({ ...raw, draws: null })),
      );
      // What the session would have reused is not needed.
      const last = await collect(engine.rawLogits(ids, { from: ids.length - 2, top: 20 }));
      assert.deepEqual(last, anew.slice(-2));
    });

    test('a choice is the run’s own, by the kept logits or by all', async (t) => {
      const engine = await opened(t, open());
      const { tokens, ids, before } = await write(engine, { trace: 64 });
      for (const [i, { id, raw }] of tokens.entries()) {
        const given = { ...SAMPLING, promptTokens: before, most: 15 };
        const choice = await engine.choice(raw, ids.slice(0, before + i), given);
        assert.equal(choice.enough, true);
        assert.equal(choice.taken, id);
        assert.equal(choice.candidates[0].id, raw.ids[0]);
        const drawn = choice.candidates.reduce((sum, { p }) => sum + p, 0);
        assert.ok(Math.abs(drawn - 1) < 1e-4);
        if (i % 8 !== 0) continue;
        const at = await engine.choiceAt(ids.slice(0, before + i), { ...given, draws: i });
        assert.deepEqual(bare(at), bare(choice));
        const off = massesOf(at).map((mass, k) => Math.abs(mass - massesOf(choice)[k]));
        assert.ok(Math.max(...off) < 1e-6);
      }
      const [{ raw }] = tokens;
      const wide = { ...SAMPLING, topK: 0 };
      const few = { ...raw, ids: raw.ids.slice(0, 2), logits: raw.logits.slice(0, 2) };
      const refused = await engine.choice(few, ids.slice(0, before), wide);
      assert.deepEqual([refused.enough, refused.candidates], [false, []]);
      const whole = await engine.choiceAt(ids.slice(0, before), wide);
      assert.ok(whole.enough && whole.nucleus > 0);
    });

    test('the last layer of the lens says what the model says', async (t) => {
      const engine = await opened(t, open());
      const { ids } = await write(engine);
      const raws = await collect(engine.rawLogits(ids, { top: 3 }));
      const { layers } = engine.info;
      const news = [];
      const lens = await engine.lens(ids, { top: 3, onProgress: (one) => news.push(one) });
      assert.deepEqual(
        [lens.layers.length, lens.positions.length, lens.cells.length],
        [layers, ids.length, layers],
      );
      assert.deepEqual(news.at(-1), { done: layers * ids.length, total: layers * ids.length });
      for (const [i, { ids: best, logits, logSum, entropy }] of raws.entries()) {
        const cell = lens.cells[layers - 1][i];
        assert.deepEqual(
          cell.top.map(([id]) => id),
          [...best],
        );
        cell.top.forEach(([, logprob], k) =>
          assert.ok(Math.abs(logprob - (logits[k] - logSum)) < 1e-5),
        );
        assert.ok(Math.abs(cell.entropy - entropy) < 1e-4);
        assert.equal(cell.divergence, 0);
      }
      const part = await engine.lens(ids, { layers: [1], positions: [2, 5], top: 3 });
      assert.deepEqual(part.cells, [[lens.cells[1][2], lens.cells[1][5]]]);
    });

    test('a head’s attention sums to 1', async (t) => {
      const engine = await opened(t, open());
      const { ids } = await write(engine);
      for (const position of [0, 7, ids.length - 1]) {
        const { layers, heads, weights } = await engine.attention(ids, { position });
        assert.ok(layers.length > 0 && layers.every((one) => one < engine.info.layers));
        for (const [i, count] of heads.entries()) {
          assert.equal(weights[i].length, count * (position + 1));
          for (const sum of sumsOf(weights[i], position + 1)) assert.ok(Math.abs(sum - 1) < 1e-5);
        }
        const cut = await engine.attention(ids.slice(0, position + 1));
        assert.deepEqual(cut.weights, weights);
      }
    });

    test('hidden states are the same alone and in a list', async (t) => {
      const engine = await opened(t, open());
      const { layers, embedding } = engine.info;
      const prompts = [PROMPT, [1, 5, 9, 200], 'The dog', PROMPT.repeat(5)];
      for (const given of [{}, { positions: 'all', layers: [0, layers - 1] }, { at: 'ffn' }]) {
        const all = await engine.hiddenStates(prompts, given);
        assert.equal(all.length, prompts.length);
        for (const [i, prompt] of prompts.entries())
          assert.deepEqual(all[i], await engine.hiddenStates(prompt, given));
        if (given.positions === undefined) assert.equal(all[0].length, layers * embedding);
      }
    });
  });
}

/** The numbers of a .npy file, and its shape. */
function readNpy(file) {
  const bytes = fs.readFileSync(file);
  const length = bytes.readUInt16LE(8);
  const shape = /'shape': \(([^)]*)\)/.exec(bytes.toString('latin1', 10, 10 + length))[1];
  const data = bytes.buffer.slice(bytes.byteOffset + 10 + length);
  return {
    shape: shape.split(',').map(Number),
    numbers: new Float32Array(data.slice(0, data.byteLength & ~3)),
  };
}

test('hidden states have the bits of sluice probe', { skip: NO_PROGRAM }, async (t) => {
  const prompts = [PROMPT, 'A cat', 'The little boy was very happy because he could see the sea.'];
  const folder = temporaryFolder();
  const stimuli = path.join(folder, 'stimuli.json');
  fs.writeFileSync(stimuli, JSON.stringify(prompts));
  const engine = await opened(t, Engine.load(BUNDLED, { threads: 2 }));
  for (const at of ['residual', 'attention', 'ffn'])
    for (const positions of ['last', 'mean']) {
      const out = path.join(folder, `${at}-${positions}.npy`);
      execFileSync(PROGRAM, [
        ...['probe', BUNDLED, '--stimuli', stimuli, '--out', out],
        ...['--at', at, '--positions', positions],
      ]);
      const { shape, numbers } = readNpy(out);
      const { layers, embedding } = engine.info;
      assert.deepEqual(shape, [prompts.length, layers, embedding]);
      const ours = await engine.hiddenStates(prompts, { at, positions });
      const size = layers * embedding;
      for (const [i, one] of ours.entries())
        assert.deepEqual(one, numbers.slice(i * size, (i + 1) * size), `${at} ${positions} ${i}`);
    }
});

const answers = path.join(OTHERS, 'hidden.json');
test(
  'hidden states are those of another program',
  { skip: fs.existsSync(answers) ? false : 'there is no ../shared/models/hidden.json' },
  async (t) => {
    for (const [name, { cases }] of Object.entries(JSON.parse(fs.readFileSync(answers, 'utf8')))) {
      const file = path.join(OTHERS, 'tiny', name);
      const engine = await opened(t, Engine.load(file, { threads: 1, kvType: 'f32' }));
      const states = await engine.hiddenStates(cases.map(({ ids }) => ids));
      const most = /gpt2|gemma3/.test(name) ? 1e-3 : 1e-4;
      for (const [i, { hidden }] of cases.entries()) {
        const off = hidden.flat().map((value, k) => Math.abs(value - states[i][k]));
        assert.ok(Math.max(...off) <= most, `${name} ${i}: ${Math.max(...off)}`);
      }
    }
  },
);

test('a call ends within 50 ms of its signal, and the engine goes on', async (t) => {
  const engine = await opened(t, Engine.load(BUNDLED, { threads: 2 }));
  const [long] = [(await engine.tokenize(PROMPT.repeat(60))).slice(0, 400)];
  const calls = {
    choiceAt: (signal) => engine.choiceAt(long, { signal }),
    rawLogits: (signal) => collect(engine.rawLogits(long, { signal })),
    lens: (signal) => engine.lens(long, { signal }),
    attention: (signal) => engine.attention(long, { signal }),
    hiddenStates: (signal) => engine.hiddenStates([long, long], { positions: 'all', signal }),
  };
  const before = await engine.complete(PROMPT, { maxTokens: 5, temperature: 0 });
  for (const [name, call] of Object.entries(calls)) {
    const controller = new AbortController();
    const running = call(controller.signal);
    await new Promise(setImmediate); // the worker has been asked
    const aborted = performance.now();
    controller.abort();
    await assert.rejects(running, { name: 'AbortError' }, name);
    assert.ok(performance.now() - aborted < 50, `${name}: ${performance.now() - aborted} ms`);
    assert.equal(
      (await engine.complete(PROMPT, { maxTokens: 5, temperature: 0 })).text,
      before.text,
    );
  }
});

test('beside a text that is written', async (t) => {
  const engine = await opened(t, Engine.load(BUNDLED, { threads: 2 }));
  const options = { maxTokens: 60, seed: 4, ignoreEos: true };
  const alone = await engine.complete(PROMPT, options);
  const ids = [1, ...(await engine.tokenize(PROMPT))];
  const lens = await engine.lens(ids);
  const writing = engine.complete(PROMPT, options);
  assert.deepEqual(await engine.lens(ids), lens);
  assert.equal((await writing).text, alone.text);
});

test('the example of the README', async (t) => {
  const readme = fs.readFileSync(path.join(ROOT, 'web/engine/README.md'), 'utf8');
  const [, example] = /^## Inside a model\n\n```js\n(.*?)^```$/ms.exec(readme);
  const names = 'written, ids, choice, hotter, names, lens, layers, heads, weights, states';
  const AsyncFunction = (async () => {}).constructor;
  const engine = await opened(t, Engine.load(BUNDLED, { threads: 2 }));
  const has = await new AsyncFunction('engine', `${example}\nreturn { ${names} };`)(engine);
  assert.equal(has.written.length, 8);
  assert.equal(has.choice.taken, has.written[5].id);
  assert.equal(has.names.length, has.choice.candidates.length);
  assert.ok(has.hotter.candidates[0].p < has.choice.candidates[0].p);
  assert.equal(has.lens.cells.length, engine.info.layers);
  assert.equal(has.states.length, 2 * engine.info.embedding);
  assert.equal(has.weights.length, has.layers.length);
  for (const [i, count] of has.heads.entries()) {
    const sums = sumsOf(has.weights[i], has.ids.length);
    assert.equal(sums.length, count);
    for (const sum of sums) assert.ok(Math.abs(sum - 1) < 1e-5);
  }
});
