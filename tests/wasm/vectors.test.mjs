// Tests that every flavour makes the program's vectors and fills its masks, bit by bit: the texts alone and in a list, with any
// number of threads.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import {
  BUNDLED,
  MAKE_MODELS,
  NODE_FLAVOURS,
  PROGRAM,
  ROOT,
  events,
  files_of,
  lacks,
  load,
  native,
  open_module,
  parse,
} from './module.mjs';

const TEXTS = [
  'A dog ran home.',
  'Once upon a time there was a little girl who lived in a house by the sea.',
  'a',
  'Ünïcödé, 東京 and 🦊!',
  'The cat and the dog are friends, and they play in the garden all day. '.repeat(4),
];
/** Of make_models. */
const OWN = [
  ...['bert-q8_0', 'bert-masks-f32', 'nomic-bert-q8_0', 'modern-bert-q8_0'],
  ...['gemma-embedding-wide-f32', 'lfm2-embed-odd-f32'],
].map((name) => `${name}.gguf`);
/** Files that other programs wrote, of all encoders. */
const OTHERS = path.join(ROOT, '../shared/models/tiny');
const ENCODERS =
  /^tiny-((bert|nomic-bert|modern-bert|gemma-embedding|distil)-f32|(lfm2|qwen3)-embed-f32)\.gguf$/;
const others = fs.existsSync(OTHERS)
  ? fs.readdirSync(OTHERS).filter((name) => ENCODERS.test(name))
  : [];
/** A folder of Hugging Face with a head for masked words. */
const MASKED_FOLDER = path.join(ROOT, '../shared/models/hf/bert');
const POOLINGS = { mean: 1, cls: 2, last: 3 };
const missing = lacks(PROGRAM, BUNDLED, MAKE_MODELS);

/** A file with these lines. */
function file_of(lines) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-wasm-'));
  process.on('exit', () => fs.rmSync(dir, { recursive: true, force: true }));
  const file = path.join(dir, 'lines.txt');
  fs.writeFileSync(file, lines.join('\n'));
  return file;
}

/** The ids of a text, as a text for a vector. */
function ids_of({ module }, engine, text, special = false) {
  const encoding = new module.Encoding(engine, text, special);
  const ids = [];
  for (let more = true; more;) {
    more = encoding.step();
    ids.push(...encoding.take());
  }
  encoding.delete();
  return [...engine.textIds(ids, 0)];
}

/** The beginning of a vector, divided by its length. */
function normalized(vector) {
  const sums = [0, 0, 0, 0];
  vector.forEach((number, i) => (sums[i % 4] += number * number));
  const length = Math.sqrt(sums[0] + sums[1] + (sums[2] + sums[3]));
  return Array.from(vector, (number) => Math.fround(number / length));
}

function vectors_of({ session }, texts, pooling, dimensions = 0) {
  parse(
    session.startVectors(
      texts.flat(),
      Int32Array.from(texts, ({ length }) => length),
      pooling,
    ),
  );
  const [end] = events(session);
  assert.deepEqual([end.event, end.finish], ['done', 'length']);
  const all = session.vectors(0);
  const width = all.length / texts.length;
  const size = dimensions || width;
  return texts.map((_, i) => normalized(all.subarray(i * width, i * width + size)));
}

for (const flavour of NODE_FLAVOURS) {
  test(`${flavour}: vectors as the program's`, { skip: missing }, async (t) => {
    const lines = file_of(TEXTS);
    if (fs.existsSync(OTHERS)) assert.equal(others.length, 7);
    const made = files_of(MAKE_MODELS);
    const files = [
      BUNDLED,
      ...OWN.map((name) => path.join(made, name)),
      ...others.map((name) => path.join(OTHERS, name)),
    ];
    for (const file of files) {
      await t.test(path.basename(file), async () => {
        const threads = flavour.endsWith('-mt') ? 2 : 1;
        const opened = await open_module(flavour, { threads });
        const engine = load(opened, fs.readFileSync(file), { threads });
        const { makes, dimensions, pooling } = parse(engine.inspect());
        assert.ok(makes.includes('vectors') && pooling in POOLINGS);
        const texts = TEXTS.map((text) => ids_of(opened, engine, text));
        const told = native('embed', file, '-f', lines, '--json', '--truncate');
        assert.deepEqual(
          told.map(({ tokens }) => tokens),
          texts.map(({ length }) => length),
        );
        const numbers = told.map(({ embedding }) => embedding.map(Math.fround));
        assert.equal(numbers[0].length, dimensions);
        assert.deepEqual(vectors_of(engine, texts, 0), numbers);
        for (const [i, text] of texts.entries())
          assert.deepEqual(vectors_of(engine, [text], POOLINGS[pooling]), [numbers[i]]);
        const [cut] = native(
          ...['embed', file, '--tokens', texts[1].join(','), '--json'],
          ...['--pooling', 'last', '--dimensions', '8'],
        );
        const found = vectors_of(engine, [texts[1]], POOLINGS.last, 8);
        assert.deepEqual(found, [cut.embedding.map(Math.fround)]);
        engine.delete();
      });
    }
  });

  test(
    `${flavour}: masked words as the program's`,
    {
      skip: missing || lacks(MASKED_FOLDER),
    },
    async () => {
      const file = path.join(path.dirname(file_of([])), 'bert.gguf');
      execFileSync(PROGRAM, ['convert', MASKED_FOLDER, file, '--type', 'F32'], {
        stdio: 'pipe',
      });
      const opened = await open_module(flavour);
      const engine = load(opened, fs.readFileSync(file));
      const { session } = engine;
      assert.deepEqual(parse(engine.inspect()).makes, ['vectors', 'masks']);
      for (const text of ['Paris is the [MASK] of France.', '[MASK] dog [MASK].']) {
        const [told] = native('fill-mask', file, '-p', text, '--top', '7', '--json');
        const ids = ids_of(opened, engine, text, true);
        assert.equal(ids.length, told.tokens);
        const positions = told.masks.map(({ position }) => position);
        assert.ok(positions.every((position) => ids[position] === engine.mask()));
        parse(session.startLogits(ids, 0, positions));
        events(session);
        const masks = positions.map((position, row) => {
          const top = parse(session.logits(7, row)).top.map(([id, logprob]) => ({
            id,
            token: engine.tokenText(id),
            logprob,
          }));
          return { position, top };
        });
        assert.deepEqual(masks, told.masks);
      }
      assert.equal(JSON.parse(session.startText('A dog', '{}')).code, 'unsupported_model');
      engine.delete();
    },
  );

  test(
    `${flavour}: texts that are no texts are refused, and the session goes on`,
    {
      skip: missing,
    },
    async () => {
      const opened = await open_module(flavour);
      const engine = load(opened, fs.readFileSync(BUNDLED), { contextSize: 64 });
      const { session } = engine;
      const code = (answer) => JSON.parse(answer).code;
      assert.equal(code(session.startVectors([], [], 0)), 'invalid_argument');
      assert.equal(code(session.startVectors([1], [1, 0], 0)), 'invalid_argument');
      assert.equal(code(session.startVectors([1], [2 ** 32 - 1, 1], 0)), 'invalid_argument');
      assert.equal(code(session.startVectors([1e6], [1], 0)), 'invalid_argument');
      assert.equal(code(session.startVectors([-1], [1], 0)), 'invalid_argument');
      assert.equal(code(session.startVectors(Array(65).fill(1), [65], 0)), 'context_full');
      assert.equal(session.vectors(0).length, 0);
      const [whole] = vectors_of(engine, [[1, 5, 9]], 1);
      assert.equal(session.vectors(whole.length).length, 0);
      assert.equal(session.vectors(2 ** 31).length, 0);
      assert.equal(code(session.startLogits([1, 5], 0, [2])), 'invalid_argument');
      assert.equal(code(session.startLogits([1, 5], 0, [-1])), 'invalid_argument');
      assert.equal(code(session.startLogits([], 0, [])), 'invalid_argument');
      parse(session.startVectors([1, 5, 9], [3], 1));
      assert.equal(code(session.startVectors([1], [1], 1)), 'busy');
      session.cancel();
      assert.deepEqual(
        events(session).map(({ finish }) => finish),
        ['aborted'],
      );
      assert.deepEqual(vectors_of(engine, [[1, 5, 9]], 1), [whole]);
      assert.equal(engine.textPrefix(true), '');
      // Cut, a text keeps what stands behind it.
      assert.equal(engine.textIds([5, 9, 7], 2).length, 2);
      assert.deepEqual(opened.printed, []);
      engine.delete();
    },
  );
}
