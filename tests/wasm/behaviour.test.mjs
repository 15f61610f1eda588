// Tests a flavour with bad input and with several sessions, and its use of memory.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import {
  BUNDLED,
  MAKE_HAZARDS,
  NODE_FLAVOURS,
  events,
  files_of,
  lacks,
  load,
  logits,
  open_module,
  parse,
} from './module.mjs';

const missing = lacks(BUNDLED);
const IDS = [1, 30, 17, 99];

for (const flavour of NODE_FLAVOURS) {
  test(`${flavour}: refuses bad files by name`, { skip: lacks(MAKE_HAZARDS) }, async (t) => {
    const dir = files_of(MAKE_HAZARDS);
    const opened = await open_module(flavour);
    const index = JSON.parse(fs.readFileSync(path.join(dir, 'index.json'), 'utf8'));
    assert.ok(index.length >= 10);
    for (const { file, code, says } of index) {
      await t.test(file, () => {
        const bytes = fs.readFileSync(path.join(dir, file));
        const refusal = (error) => error.code === code && error.message.includes(says);
        assert.throws(() => load(opened, bytes, { threads: 1 }), refusal);
      });
    }
    await t.test('and takes a good one afterwards', () => {
      const engine = load(opened, fs.readFileSync(path.join(dir, 'good.gguf')), { threads: 1 });
      assert.ok(engine.loaded());
      engine.delete();
    });
  });

  test(`${flavour}: measures how fast it decodes, and what a token reads`, async () => {
    const threads = flavour.endsWith('-mt') ? 2 : 1;
    const opened = await open_module(flavour, { threads });
    for (const eight of [false, true]) assert.ok(opened.module.decodeRate(eight, threads) > 1e7);
    const small = await open_module(flavour, { threads, maximum: 512 });
    assert.equal(small.module.decodeRate(false, threads), 0);
    if (missing) return;
    const engine = load(opened, fs.readFileSync(BUNDLED), { threads });
    const { bytesPerToken } = parse(engine.inspect()).memory;
    assert.equal(bytesPerToken, JSON.parse(engine.stats()).bytesPerToken);
    assert.ok(bytesPerToken > 1e6);
    engine.delete();
  });

  test(`${flavour}: ids that end within a character have a text`, { skip: missing }, async () => {
    const engine = load(await open_module(flavour), fs.readFileSync(BUNDLED), { threads: 1 });
    const bytes = [0xf0, 0x9f, 0x99, 0x82]; // as ids
    assert.equal(engine.detokenize(bytes), '\u{1f642}');
    // What is behind the string in memory depends on what was there before.
    for (const before of [bytes, IDS]) {
      engine.detokenize([...before, ...before]);
      for (const n of [1, 2, 3])
        assert.equal(engine.detokenize(bytes.slice(0, n)), '\ufffd'.repeat(n));
    }
    engine.delete();
  });

  test(`${flavour}: refuses bad options`, { skip: missing }, async () => {
    const opened = await open_module(flavour);
    const invalid = { code: 'invalid_argument' };
    const empty = new opened.module.Engine();
    assert.throws(() => parse(empty.inspect()), invalid);
    assert.throws(() => parse(empty.open('{"contextSize":-1}', [0], 'sequential')), invalid);
    assert.throws(() => parse(empty.open('{"nonsense":1}', [0], 'sequential')), invalid);
    assert.throws(() => parse(empty.open('{', [0], 'sequential')), invalid);
    assert.throws(() => parse(empty.open('{"kernels":"generic"}', [0], 'sequential')), {
      ...invalid,
      message: /^the option kernels is 'generic', .* wasm-simd$/,
    });
    empty.delete();
    const engine = load(opened, fs.readFileSync(BUNDLED), { threads: 1, contextSize: 64 });
    const { session } = engine;
    for (const options of ['{"temperature":null}', '{"topK":-1}', '{"maxTokens":"many"}', '[]']) {
      assert.throws(() => parse(session.startText('Once', options)), invalid);
    }
    assert.throws(() => parse(session.startIds([1, 1 << 30], '{}')), invalid);
    assert.throws(() => parse(session.startIds(new Array(65).fill(1), '{}')), {
      code: 'context_full',
    });
    parse(session.startText('Once', '{}'));
    assert.throws(() => parse(session.startText('Twice', '{}')), { code: 'busy' });
    session.cancel();
    assert.deepEqual(
      events(session).map((event) => event.finish),
      ['aborted'],
    );
    parse(session.startText('Once', '{"maxTokens":3,"ignoreEos":true}'));
    assert.equal(events(session).length, 4);
    assert.deepEqual(JSON.parse(engine.notes()), []);
    engine.delete();
    const wide = load(opened, fs.readFileSync(BUNDLED), { threads: 1, contextSize: 4096 });
    assert.match(
      JSON.parse(wide.notes())[0].message,
      /^the context of 4096 tokens is larger than the /,
    );
    wide.delete();
  });

  test(`${flavour}: sessions take turns, clones go their own way`, { skip: missing }, async () => {
    const opened = await open_module(flavour);
    const engine = load(opened, fs.readFileSync(BUNDLED), { threads: 1 });
    const prompts = [Array.from({ length: 300 }, (_, i) => 3 + ((i * 5) % 90)), [9, 8, 7]];
    const options = '{"seed":7,"maxTokens":30,"ignoreEos":true}';
    const alone = prompts.map((prompt) => {
      const session = new opened.module.Session(engine);
      parse(session.startIds(prompt, options));
      const ids = events(session).map(({ id }) => id);
      session.delete();
      return ids;
    });
    const sessions = prompts.map((prompt) => {
      const session = new opened.module.Session(engine);
      parse(session.startIds(prompt, options));
      assert.equal(session.clone(), null);
      return { session, ids: [], done: false };
    });
    while (sessions.some(({ done }) => !done)) {
      for (const one of sessions.filter(({ done }) => !done)) {
        const event = parse(one.session.step());
        one.done = event.event === 'done';
        if (event.event !== 'working') one.ids.push(event.id);
      }
    }
    assert.deepEqual(
      sessions.map(({ ids }) => ids),
      alone,
    );
    const [{ session }] = sessions;
    const copy = session.clone();
    assert.deepEqual([...copy.tokens()], [...session.tokens()]);
    copy.truncate(299);
    assert.equal(copy.tokens().length, 299);
    const next = [...copy.tokens(), 11];
    parse(copy.startIds(next, options));
    parse(session.startIds([...session.tokens(), 12], options));
    events(session);
    const other = new opened.module.Session(engine);
    parse(other.startIds(next, options));
    assert.deepEqual(
      events(copy).map(({ id }) => id),
      events(other).map(({ id }) => id),
    );
    assert.equal(JSON.parse(copy.stats()).reusedTokens, 299);
    for (const one of [session, sessions[1].session, copy, other]) one.delete();
    engine.delete();
  });

  test(`${flavour}: twenty loads take no more memory than one`, { skip: missing }, async (t) => {
    const opened = await open_module(flavour);
    const bytes = fs.readFileSync(BUNDLED);
    const sizes = [];
    for (let i = 0; i < 20; ++i) {
      const engine = load(opened, bytes, { threads: 1 });
      logits(engine, IDS);
      sizes.push(opened.memory.buffer.byteLength);
      engine.delete();
    }
    t.diagnostic(`heap ${sizes[0]} bytes for a file of ${bytes.length}`);
    assert.equal(sizes.at(-1), sizes[1]);
  });

  test(
    `${flavour}: the heap is weights, cache, activations and a constant`,
    { skip: missing },
    async (t) => {
      const opened = await open_module(flavour);
      const before = opened.memory.buffer.byteLength;
      const bytes = fs.readFileSync(BUNDLED);
      const engine = load(opened, bytes, { threads: 1 });
      const { memory } = parse(engine.inspect());
      const after = opened.memory.buffer.byteLength;
      t.diagnostic(`heap ${before} -> ${after} bytes, file ${bytes.length}, plan ${memory.total}`);
      assert.ok(after <= memory.total + before);
      engine.delete();
    },
  );

  test(`${flavour}: a memory that is too small gives an error`, { skip: missing }, async () => {
    // 5 MiB, of which 3 are taken: the module runs, but the model doesn't fit.
    const opened = await open_module(flavour, { maximum: 80 });
    const taken = opened.module.allocate(3 << 20);
    assert.notEqual(taken, 0);
    const bytes = fs.readFileSync(BUNDLED);
    assert.throws(() => load(opened, bytes, { threads: 1 }), { code: 'out_of_memory' });
    opened.module.release(taken);
    assert.ok(load(opened, bytes, { threads: 1 }).loaded());
  });
}
