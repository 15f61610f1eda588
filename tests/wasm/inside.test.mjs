// Tests what the module tells of a model's inside: each way to the same numbers gives the same bits, and what is wrong is refused.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { BUNDLED, NODE_FLAVOURS, events, load, open_module, parse } from './module.mjs';

const bytes = fs.readFileSync(BUNDLED);
const IDS = [1, 403, 407, 261, 378, 12, 90, 700];
const [RESIDUAL, LAST, MEAN, ALL] = [0, 0, 1, 2];

/** The code of an answer that is an error. */
const code = (answer) => JSON.parse(answer).code;

for (const flavour of NODE_FLAVOURS) {
  const open = async (t, options = {}) => {
    const opened = await open_module(flavour, { threads: 2 });
    const engine = load(opened, bytes, { threads: 2, ...options });
    t.after(() => engine.delete());
    const { layers, embedding } = parse(engine.inspect());
    return { engine, session: engine.session, layers, embedding };
  };
  /** The rows that a run gives after a layer, from a position on. */
  const hidden = (session, ids, from, layer) => {
    parse(session.startHidden(ids, from, layer));
    events(session);
    return session.hidden();
  };
  const raws = (session, rows, width, most) => {
    const count = rows.length / width;
    parse(session.startHead(rows, count));
    events(session);
    return Array.from({ length: count }, (_, row) => session.rawLogits(most, row));
  };

  test(`${flavour}: states, rows and logits agree`, async (t) => {
    // States of texts are computed with f32, whatever a session keeps.
    const { session, layers, embedding } = await open(t, { kvType: 'f32' });
    const last = layers - 1;
    const whole = hidden(session, IDS, 0, last);
    assert.equal(whole.length, IDS.length * embedding);
    // A part, of which the session has what comes before; and the states of texts.
    assert.deepEqual(hidden(session, IDS, 5, last), whole.slice(5 * embedding));
    parse(session.startStates([...IDS, 1, 9], [IDS.length, 2], RESIDUAL, ALL, [last]));
    events(session);
    const states = session.states(0);
    assert.deepEqual(states.slice(0, whole.length), whole);
    assert.equal(states.length, (IDS.length + 2) * embedding);
    assert.deepEqual(session.states(whole.length), states.slice(whole.length));
    for (const of of [LAST, MEAN]) {
      parse(session.startStates(IDS, [IDS.length], RESIDUAL, of, [0, last]));
      events(session);
      assert.equal(session.states(0).length, 2 * embedding);
    }
    // The head makes of the last row what a run over all makes.
    const row = whole.slice(-embedding);
    const [numbers] = raws(session, row, embedding, 5);
    parse(session.startLogits(IDS, 0, []));
    events(session);
    const { top } = parse(session.logits(5, 0));
    for (const [k, [id, logprob]] of top.entries()) {
      assert.equal(numbers[2 + 2 * k], id);
      assert.ok(Math.abs(numbers[3 + 2 * k] - numbers[0] - logprob) < 1e-5);
    }
  });

  test(`${flavour}: what a token was chosen from is what the head makes, and so is its choice`, async (t) => {
    const { engine, session, layers, embedding } = await open(t);
    const options = { maxTokens: 6, temperature: 0.9, topK: 10, seed: 3, trace: 12 };
    parse(session.startIds(IDS, JSON.stringify({ ...options, ignoreEos: true })));
    const tokens = events(session).filter(({ event }) => event === 'token');
    const ids = [...IDS, ...tokens.map(({ id }) => id)];
    const rows = hidden(session, ids.slice(0, -1), IDS.length - 1, layers - 1);
    const found = raws(session, rows, embedding, 12);
    const { trace: _, ...sampling } = options;
    for (const [i, { id, raw }] of tokens.entries()) {
      const { logSum, entropy, draws, best } = raw;
      assert.equal(draws, i);
      assert.deepEqual([...found[i]], [logSum, entropy, ...best.flat().map(Math.fround)]);
      const before = ids.slice(0, IDS.length + i);
      const args = [before, IDS.length, JSON.stringify(sampling), draws, 5];
      const kept = parse(session.choice(engine, found[i], ...args));
      assert.equal(kept.enough, true);
      assert.equal(kept.taken, id);
      raws(session, rows.slice(i * embedding, (i + 1) * embedding), embedding, 1);
      const all = parse(session.choice(engine, [], ...args));
      assert.deepEqual(all.candidates, kept.candidates);
      assert.equal(all.taken, id);
    }
  });

  test(`${flavour}: what is wrong is refused, and the session goes on`, async (t) => {
    const { engine, session, layers } = await open(t);
    const wrong = [
      () => session.startHidden([], 0, 0),
      () => session.startHidden([1, -1], 0, 0),
      () => session.startHidden(IDS, 0, layers + 1),
      () => session.startHidden(IDS, 0, -1),
      () => session.startHead([], 1),
      () => session.startHead([1, 2, 3], 1),
      () => session.startHead(new Float32Array(64).fill(NaN), 1),
      () => session.startStates([], [], RESIDUAL, LAST, [0]),
      () => session.startStates(IDS, [IDS.length, 0], RESIDUAL, LAST, [0]),
      () => session.startStates(IDS, [IDS.length], RESIDUAL, LAST, []),
      () => session.startStates(IDS, [IDS.length], RESIDUAL, LAST, [1, 0]),
      () => session.startAttention([]),
      () => session.startLens(engine, IDS, [layers], [0], 3),
      () => session.startLens(engine, IDS, [0], [IDS.length], 3),
      () => session.startLens(engine, [], [0], [0], 3),
      () => session.choice(engine, [1, 0, -5, 1], [], 0, '{}', 0, 5),
      () => session.choice(engine, [1, 0, 5, 1, 5, 1], [], 0, '{}', 0, 5),
      () => session.choice(engine, [1, 0, 5, 1], [-1], 0, '{}', 0, 5),
      () => session.choice(engine, [1, 0, 5, 1], [], 0, '{"topP":2}', 0, 5),
    ];
    for (const [i, call] of wrong.entries()) assert.equal(code(call()), 'invalid_argument', i);
    assert.equal(session.lens().length, 0);
    assert.equal(session.lensDone(), 0);
    parse(session.startLens(engine, IDS, [0, layers - 1], [2, 3], 3));
    assert.equal(session.running(), true);
    session.cancel();
    events(session);
    assert.equal(session.running(), false);
    parse(session.startLens(engine, IDS, [0, layers - 1], [2, 3], 3));
    events(session);
    assert.equal(session.lensDone(), 4);
    assert.equal(session.lens().length, 4 * (2 + 2 * 3));
  });
}
