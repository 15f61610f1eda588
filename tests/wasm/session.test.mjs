// Sessions as files: saved by the program and restored in a flavour, and the other way. What follows is the same, with
// every type of the KV cache.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import {
  BUNDLED,
  events,
  files_of,
  lacks,
  load,
  MAKE_MODELS,
  NODE_FLAVOURS,
  open_module,
  parse,
  PROGRAM,
} from './module.mjs';

const PROMPT = 'Once upon a time, there was a little girl named Lily.';
const PIECE = 1000;
const skip = lacks(PROGRAM);
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-session-'));
process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));

/** Works with a piece of the module's memory. */
function with_memory({ module, memory }, work) {
  const ptr = module.allocate(PIECE);
  try {
    return work(ptr, (n) => new Uint8Array(memory.buffer, ptr, n));
  } finally {
    module.release(ptr);
  }
}

function save(opened, engine, session) {
  assert.equal(parse(engine.identify()), null);
  const writer = new opened.module.SessionWriter();
  parse(writer.open(session));
  const pieces = with_memory(opened, (ptr, bytes) => {
    const all = [];
    for (let n; (n = writer.next(ptr, PIECE)) > 0;) all.push(Buffer.from(bytes(n)));
    return all;
  });
  const file = Buffer.concat(pieces);
  assert.equal(file.length, writer.bytes());
  writer.delete();
  return file;
}

function restore(opened, engine, file) {
  assert.equal(parse(engine.identify()), null);
  const reader = new opened.module.SessionReader(engine, file.length, null);
  try {
    with_memory(opened, (ptr, bytes) => {
      for (let at = 0; at < file.length; at += PIECE) {
        const piece = file.subarray(at, at + PIECE);
        bytes(piece.length).set(piece);
        parse(reader.push(ptr, piece.length));
      }
    });
    parse(reader.finish());
    return reader.take();
  } finally {
    reader.delete();
  }
}

/** The program's events, and its session's file. */
function run(kv, file, ...args) {
  return run_model(BUNDLED, kv, file, ...args);
}

function run_model(model, kv, file, ...args) {
  const out = execFileSync(
    PROGRAM,
    [
      'run',
      '-m',
      model,
      '--json',
      '-n',
      '12',
      '--top-logprobs',
      '3',
      '--kv-type',
      kv,
      '--session',
      file,
      ...args,
    ],
    { encoding: 'utf8', input: '' },
  );
  return out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** The session's pieces. */
function pieces_of(opened, engine, session) {
  assert.equal(parse(engine.identify()), null);
  return Array.from({ length: session.pieces() }, (_, i) => {
    const writer = new opened.module.SessionWriter();
    parse(writer.openPiece(session, i));
    const piece = with_memory(opened, (ptr, bytes) => {
      const all = [];
      for (let n; (n = writer.next(ptr, PIECE)) > 0;) all.push(Buffer.from(bytes(n)));
      return Buffer.concat(all);
    });
    assert.equal(piece.length, writer.bytes());
    writer.delete();
    return piece;
  });
}

/** Gives a session the piece that comes next. */
function give(opened, engine, session, piece) {
  const reader = new opened.module.SessionReader(engine, piece.length, session);
  try {
    with_memory(opened, (ptr, bytes) => {
      for (let at = 0; at < piece.length; at += PIECE) {
        const part = piece.subarray(at, at + PIECE);
        bytes(part.length).set(part);
        parse(reader.push(ptr, part.length));
      }
    });
    parse(reader.finish());
    assert.equal(reader.take(), null);
  } finally {
    reader.delete();
  }
}

const tokens_of = (list) => list.filter(({ event }) => event === 'token');
const OPTIONS = { maxTokens: 12, topLogprobs: 3 };

for (const flavour of NODE_FLAVOURS) {
  test(
    `${flavour}: a session goes on where the program or the module has left it`,
    { skip },
    async () => {
      const opened = await open_module(flavour, { threads: flavour.endsWith('-mt') ? 2 : 1 });
      const bytes = fs.readFileSync(BUNDLED);
      for (const kvType of ['f32', 'f16', 'q8_0']) {
        const file = path.join(dir, `${flavour}-${kvType}.sluice`);
        fs.rmSync(file, { force: true });
        run(kvType, file, '-p', PROMPT, '--seed', '3');
        const saved = fs.readFileSync(file);
        const expected = tokens_of(run(kvType, file));
        assert.equal(expected.length, 12);
        const after = fs.readFileSync(file);

        const engine = load(opened, bytes, { kvType });
        const session = restore(opened, engine, saved);
        assert.deepEqual(save(opened, engine, session), saved);
        parse(session.resume(JSON.stringify(OPTIONS)));
        assert.deepEqual(tokens_of(events(session)), expected);
        assert.equal(JSON.parse(session.stats()).seed, 3);

        // The bytes that the module writes are those of the program.
        const written = save(opened, engine, session);
        assert.deepEqual(written, after);
        const next = tokens_of(run(kvType, file));
        parse(session.resume(JSON.stringify(OPTIONS)));
        assert.deepEqual(tokens_of(events(session)), next);
        session.delete();
        engine.delete();
      }
    },
  );

  test(
    `${flavour}: recurrent states go from the program to the module and back`,
    { skip: lacks(PROGRAM, MAKE_MODELS) },
    async () => {
      const opened = await open_module(flavour, { threads: flavour.endsWith('-mt') ? 2 : 1 });
      const model = path.join(files_of(MAKE_MODELS), 'lfm2-q8_0.gguf');
      const file = path.join(dir, `${flavour}-recurrent.sluice`);
      fs.rmSync(file, { force: true });
      // The program's blocks are longer than the module's.
      run_model(model, 'f16', file, '-p', PROMPT.repeat(10), '--seed', '3', '--ignore-eos');
      const saved = fs.readFileSync(file);
      const expected = tokens_of(run_model(model, 'f16', file, '--ignore-eos'));
      assert.equal(expected.length, 12);

      const engine = load(opened, fs.readFileSync(model), { kvType: 'f16' });
      const session = restore(opened, engine, saved);
      const options = JSON.stringify({ ...OPTIONS, ignoreEos: true });
      assert.deepEqual(save(opened, engine, session), saved);
      parse(session.resume(options));
      assert.deepEqual(tokens_of(events(session)), expected);
      assert.deepEqual(save(opened, engine, session), fs.readFileSync(file));

      // Computed by the module alone, and from its pieces.
      const fresh = new opened.module.Session(engine);
      const first = JSON.stringify({ ...OPTIONS, ignoreEos: true, seed: 3 });
      parse(fresh.startText(PROMPT.repeat(10), first));
      events(fresh);
      assert.deepEqual(save(opened, engine, fresh), saved);
      const other = new opened.module.Session(engine);
      for (const piece of pieces_of(opened, engine, fresh)) give(opened, engine, other, piece);
      const more = [...other.tokens(), 30, 17];
      const found = [other, fresh].map((one) => {
        parse(one.startIds(more, first));
        const list = tokens_of(events(one));
        assert.equal(JSON.parse(one.stats()).reusedTokens, more.length - 2);
        return list;
      });
      assert.deepEqual(found[0], found[1]);
      for (const one of [session, fresh, other]) one.delete();
      engine.delete();
    },
  );

  test(`${flavour}: a session that does not fit is refused`, { skip }, async () => {
    const opened = await open_module(flavour);
    const engine = load(opened, fs.readFileSync(BUNDLED));
    const file = path.join(dir, `${flavour}-bad.sluice`);
    fs.rmSync(file, { force: true });
    run('q8_0', file, '-p', PROMPT);
    const saved = fs.readFileSync(file);
    assert.throws(() => restore(opened, engine, saved), {
      code: 'invalid_argument',
      message: /q8_0/,
    });
    const good = save(opened, engine, engine.session);
    assert.throws(() => restore(opened, engine, good.subarray(0, 90)), { code: 'bad_file' });
    good[30] ^= 1;
    assert.throws(() => restore(opened, engine, good), { code: 'bad_file' });
    engine.delete();
  });
}

for (const flavour of NODE_FLAVOURS) {
  test(`${flavour}: a session comes back from its pieces, with the same logits`, async () => {
    const opened = await open_module(flavour, { threads: flavour.endsWith('-mt') ? 2 : 1 });
    for (const kvType of ['f16', 'q8_0']) {
      const engine = load(opened, fs.readFileSync(BUNDLED), { kvType, contextSize: 1024 });
      const { session } = engine;
      parse(session.startText(PROMPT.repeat(25), JSON.stringify({ maxTokens: 20, seed: 1 })));
      events(session);
      const ids = Array.from(session.tokens());
      assert.ok(ids.length > 300 && ids.length < 512, String(ids.length));
      const pieces = pieces_of(opened, engine, session);
      assert.deepEqual(
        pieces.map(({ length }) => length === session.pieceBytes()),
        [true, false],
      );
      const other = new opened.module.Session(engine);
      for (const piece of pieces) give(opened, engine, other, piece);
      assert.deepEqual(Array.from(other.tokens()), ids);
      assert.deepEqual(pieces_of(opened, engine, other), pieces);

      // What follows is computed from the state that came back, and has the bits of what is computed afresh.
      const more = [...ids, 30, 17];
      const options = JSON.stringify({ maxTokens: 5, temperature: 0, topLogprobs: 5 });
      const fresh = new opened.module.Session(engine);
      const found = [other, fresh].map((one) => {
        parse(one.startIds(more, options));
        return tokens_of(events(one));
      });
      assert.deepEqual(found[0], found[1]);
      assert.equal(JSON.parse(other.stats()).reusedTokens, ids.length);

      // A damaged piece, and one of another place, leave the session as it was.
      const third = new opened.module.Session(engine);
      assert.throws(() => give(opened, engine, third, pieces[1]), { code: 'bad_file' });
      give(opened, engine, third, pieces[0]);
      const bad = Buffer.from(pieces[1]);
      bad[bad.length >> 1] ^= 1;
      assert.throws(() => give(opened, engine, third, bad), { code: 'bad_file' });
      assert.equal(third.tokens().length, 256);
      parse(third.startIds(more, options));
      assert.deepEqual(tokens_of(events(third)), found[1]);
      for (const one of [other, fresh, third]) one.delete();
      engine.delete();
    }
  });
}
