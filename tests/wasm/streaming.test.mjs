// Tests models that are larger than their memory, and sources with faults: the same bits, or the right error.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import {
  BUNDLED,
  MAKE_MODELS,
  NODE_FLAVOURS,
  events,
  files_of,
  lacks,
  load,
  logits,
  open_module,
  parse,
} from './module.mjs';
import { load_under, random_from, run_with } from './source.mjs';

const IDS = [1, 30, 17, 99, 4, 250, 33, 8, 61, 120, 7, 200];
const FAULTS = {
  none: {},
  short: { piece: 1000 },
  shuffled: { piece: 5000, shuffled: true },
  late: { late: 0.7, piece: 20_000 },
};

/** {hash, top} of the logits after `ids`. */
function logits_with(source, session, ids, batch = 0) {
  parse(session.startLogits(ids, batch, []));
  run_with(source, [session]);
  return parse(session.logits(5, 0));
}

/** What a model makes of `ids`: their logits, or the vectors of two texts if it writes none. `run(session)` runs to the end. */
function made_of(engine, session, ids, batch, run) {
  const writes = parse(engine.inspect()).makes.includes('text');
  if (writes) parse(session.startLogits(ids, batch, []));
  else parse(session.startVectors([...ids, ...ids.slice(0, 5)], [ids.length, 5], 0));
  run(session);
  return writes ? parse(session.logits(5, 0)) : [...session.vectors(0)];
}

/** The least budget of a file with these options. */
function least_of(opened, bytes, options) {
  const header = new opened.module.Header([bytes.length]);
  const room = 1 << 16;
  const ptr = opened.module.allocate(room);
  while (!header.done()) {
    const at = header.position();
    const part = bytes.subarray(at, at + room);
    new Uint8Array(opened.memory.buffer, ptr, part.length).set(part);
    parse(header.push(ptr, part.length));
  }
  opened.module.release(ptr);
  const { memory } = parse(header.inspect(JSON.stringify(options), 0));
  header.delete();
  return memory.least;
}

for (const flavour of NODE_FLAVOURS) {
  const threads = flavour.endsWith('-mt') ? 2 : 1;
  const options = { contextSize: 256, threads };
  const each = { skip: lacks(MAKE_MODELS) };
  test(`${flavour}: every tiny model under its least budget`, each, async (t) => {
    const dir = files_of(MAKE_MODELS);
    const opened = await open_module(flavour, { threads });
    const names = fs.readdirSync(dir).filter((name) => name.endsWith('.gguf'));
    assert.ok(names.length >= 20);
    let streamed = 0;
    for (const [i, name] of names.entries()) {
      const bytes = fs.readFileSync(path.join(dir, name));
      const resident = load(opened, bytes, options);
      const expected = made_of(resident, resident.session, IDS, 0, events);
      resident.delete();
      const least = least_of(opened, bytes, options);
      const [fault, faults] = Object.entries(FAULTS)[i % 4];
      const random = random_from(i);
      const under = { ...options, memoryBudget: least };
      const { engine, source } = load_under(opened, bytes, under, { ...faults, random });
      const session = new opened.module.Session(engine);
      for (const batch of [0, 5])
        assert.deepEqual(
          made_of(engine, session, IDS, batch, () => run_with(source, [session])),
          expected,
          `${name}, ${fault}`,
        );
      const { total, rereadBytes } = parse(engine.inspect()).memory;
      assert.ok(total <= least, name);
      if (rereadBytes > 0) {
        ++streamed;
        assert.equal(engine.loaded(), false);
        assert.ok(JSON.parse(session.stats()).rereadBytes > 0, name);
      }
      session.delete();
      engine.delete();
      assert.throws(() => load_under(opened, bytes, { ...options, memoryBudget: least - 1 }), {
        code: 'budget_too_small',
        message: new RegExp(`needs ${least} bytes`),
      });
    }
    t.diagnostic(`${streamed} of ${names.length} models are read again`);
    assert.ok(streamed > names.length / 2);
  });

  test(`${flavour}: of a table of layers' inputs only rows are read`, each, async () => {
    const opened = await open_module(flavour, { threads });
    const bytes = fs.readFileSync(path.join(files_of(MAKE_MODELS), 'gemma4-q8_0.gguf'));
    const texts = (source, engine) => {
      const session = new opened.module.Session(engine);
      parse(session.startIds(Int32Array.from(IDS), TEXT));
      const [list] = run_with(source, [session]);
      session.delete();
      return list.map(({ id }) => id);
    };
    const resident = load(opened, bytes, options);
    const expected = texts({ serve: () => true }, resident);
    assert.equal(resident.loaded(), true);
    assert.equal(resident.progress().total, bytes.length);
    resident.delete();
    const { engine, source } = load_under(opened, bytes, options);
    assert.deepEqual(texts(source, engine), expected);
    while (source.serve());
    const loaded = source.brought;
    assert.equal(engine.ready(), true);
    assert.equal(engine.loaded(), false);
    const progress = engine.progress();
    assert.ok(progress.total < 0.85 * bytes.length);
    assert.equal(parse(engine.inspect()).fileBytes, bytes.length);
    assert.equal(progress.loaded, progress.total);
    // What is here isn't read again; what is new is, after all else is loaded.
    assert.deepEqual(texts(source, engine), expected);
    assert.equal(source.brought, loaded);
    const session = new opened.module.Session(engine);
    logits_with(source, session, Int32Array.of(401, 402, 403));
    assert.ok(source.brought > loaded);
    session.delete();
    engine.delete();
  });

  test(`${flavour}: what is kept packed comes packed the next time`, each, async () => {
    const opened = await open_module(flavour, { threads });
    assert.equal(opened.module.packedLayout(), 1);
    for (const name of ['llama-q4_0', 'qwen2-q8_0', 'llama-q4_k_m', 'gpt2-f16']) {
      const bytes = fs.readFileSync(path.join(files_of(MAKE_MODELS), `${name}.gguf`));
      const resident = load(opened, bytes, options);
      const expected = logits(resident, IDS);
      resident.delete();
      const under = { ...options, memoryBudget: least_of(opened, bytes, options) };
      const kept = new Map();
      const packed = [];
      for (let run = 0; run < 2; ++run) {
        const { engine, source } = load_under(opened, bytes, under, { kept });
        const session = new opened.module.Session(engine);
        assert.deepEqual(logits_with(source, session, IDS), expected, name);
        packed.push(source.packed);
        session.delete();
        engine.delete();
      }
      assert.ok(packed[1] > packed[0], name);
      // It is really these chunks that are computed with.
      for (const chunk of kept.values()) chunk.fill(0);
      const { engine, source } = load_under(opened, bytes, under, { kept });
      const session = new opened.module.Session(engine);
      assert.notEqual(logits_with(source, session, IDS).hash, expected.hash, name);
      session.delete();
      engine.delete();
    }
  });

  // What sessions have counts together, so the three below need a context of as many chunks.
  const roomy = { ...options, contextSize: 1024 };
  const bundled = { skip: lacks(BUNDLED) };
  const TEXT = '{"seed":7,"maxTokens":12,"ignoreEos":true}';
  const prompts = [IDS, [9, 8, 7], Array.from({ length: 100 }, (_, i) => 3 + ((i * 5) % 90))];

  test(`${flavour}: sessions side by side share one reading`, bundled, async (t) => {
    const opened = await open_module(flavour, { threads });
    const bytes = fs.readFileSync(BUNDLED);
    const memoryBudget = least_of(opened, bytes, roomy);
    const texts = (source, sessions) => {
      for (const [i, session] of sessions.entries()) parse(session.startIds(prompts[i], TEXT));
      return run_with(source, sessions).map((list) => list.map(({ id }) => id));
    };
    const resident = load(opened, bytes, roomy);
    const quiet = { serve: () => true };
    const alone = prompts.map((_, i) => {
      const session = new opened.module.Session(resident);
      parse(session.startIds(prompts[i], TEXT));
      const [list] = run_with(quiet, [session]);
      session.delete();
      return list.map(({ id }) => id);
    });
    resident.delete();
    const read = [];
    for (const n of [1, 3]) {
      const { engine, source } = load_under(opened, bytes, { ...roomy, memoryBudget });
      const sessions = Array.from({ length: n }, () => new opened.module.Session(engine));
      assert.deepEqual(texts(source, sessions), alone.slice(0, n));
      read.push(source.brought);
      for (const session of sessions) session.delete();
      engine.delete();
    }
    t.diagnostic(`one session read ${read[0]} bytes, three together ${read[1]}`);
    // The first prompts differ in length; besides that each pass is read once for all.
    assert.ok(read[1] < 1.5 * read[0]);
  });

  test(`${flavour}: a session that ends while it waits hinders nobody`, bundled, async () => {
    const opened = await open_module(flavour, { threads });
    const bytes = fs.readFileSync(BUNDLED);
    const memoryBudget = least_of(opened, bytes, roomy);
    const resident = load(opened, bytes, roomy);
    const expected = logits(resident, IDS);
    resident.delete();
    const { engine, source } = load_under(opened, bytes, { ...roomy, memoryBudget });
    const random = random_from(3);
    const session = new opened.module.Session(engine);
    for (let i = 0; i < 40; ++i) {
      const other = new opened.module.Session(engine);
      parse(other.startIds(prompts[i % 3], TEXT));
      for (let left = Math.floor(random() * 60); left > 0; --left) {
        parse(other.step());
        if (random() < 0.7) source.serve();
      }
      if (i % 2 === 0) {
        other.cancel();
        parse(other.step());
      }
      other.delete();
      assert.deepEqual(logits_with(source, session, IDS), expected);
    }
    session.delete();
    engine.delete();
  });

  test(`${flavour}: damaged bytes that are read again are an error`, bundled, async () => {
    const opened = await open_module(flavour, { threads });
    const bytes = fs.readFileSync(BUNDLED);
    const memoryBudget = least_of(opened, bytes, options);
    // After a while all bytes are 0xff: scales that are not finite.
    let left = 400;
    const read = (offset, length) =>
      --left > 0 ? bytes.subarray(offset, offset + length) : new Uint8Array(length).fill(0xff);
    const { engine, source } = load_under(opened, bytes, { ...options, memoryBudget }, { read });
    const session = new opened.module.Session(engine);
    parse(session.startIds(IDS, '{"maxTokens":200,"ignoreEos":true}'));
    assert.throws(() => run_with(source, [session]), { code: 'bad_file' });
    session.delete();
    engine.delete();
  });

  test(`${flavour}: bytes that were not wanted are refused`, bundled, async () => {
    const opened = await open_module(flavour, { threads });
    const bytes = fs.readFileSync(BUNDLED);
    const memoryBudget = least_of(opened, bytes, options);
    const { engine, source } = load_under(opened, bytes, { ...options, memoryBudget });
    while (source.serve());
    const { dataOffset, dataBytes } = parse(engine.inspect());
    assert.throws(() => parse(engine.filled(dataOffset, dataBytes, false)), {
      code: 'invalid_argument',
    });
    engine.delete();
  });
}
