// Loads and probes split models: the logits must be those of the whole model.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import {
  MAKE_MODELS,
  NODE_FLAVOURS,
  PROGRAM,
  files_of,
  lacks,
  logits,
  native,
  open_module,
  parse,
} from './module.mjs';

const IDS = [1, 30, 17, 99];
const NAME = 'qwen2-q4_0';

/** The bytes of the files, in their order. */
function read_split(dir, n) {
  const name = (i) => `${NAME}-${`${i + 1}`.padStart(5, '0')}-of-${`${n}`.padStart(5, '0')}.gguf`;
  return Array.from({ length: n }, (_, i) => fs.readFileSync(path.join(dir, name(i))));
}

/** Fills the wants [offset, address, length, ...] from the files, which begin where engine.files() says. */
function fill({ memory }, engine, files, wants, most = Infinity) {
  for (let i = 0; i < wants.length; i += 3) {
    const begins = [...engine.files()].filter((_, j) => j % 2 === 0);
    const file = begins.findLastIndex((begin) => begin <= wants[i]);
    const at = wants[i] - begins[file];
    const part = files[file].subarray(at, at + Math.min(wants[i + 2], most));
    new Uint8Array(memory.buffer, wants[i + 1], part.length).set(part);
    parse(engine.filled(wants[i], part.length, false));
  }
}

for (const flavour of NODE_FLAVOURS) {
  const skip = lacks(PROGRAM, MAKE_MODELS);
  test(`${flavour}: split models`, { skip }, async (t) => {
    const opened = await open_module(flavour);
    const whole = path.join(files_of(MAKE_MODELS), `${NAME}.gguf`);
    const args = ['--tokens', IDS.join(','), '--hash', '--json'];
    const [{ hash }] = native('logits', whole, ...args);
    for (const n of [2, 5]) {
      const files = read_split(files_of(MAKE_MODELS, '--split', `${n}`), n);
      for (const sizes of [files.map((file) => file.length), files.map(() => 0), []]) {
        await t.test(`${n} files, sizes ${sizes}`, () => {
          const engine = new opened.module.Engine();
          parse(engine.open('{"threads":1}', sizes, 'sequential'));
          while (!engine.hasLayout()) fill(opened, engine, files, engine.wants(1), 3000);
          assert.equal(engine.hasTokenizer(), false);
          assert.equal(engine.files().length, 2 * n);
          // The weights come before the vocabulary is built.
          fill(opened, engine, files, engine.wants(Number.MAX_SAFE_INTEGER));
          parse(engine.buildTokenizer());
          assert.ok(engine.loaded());
          assert.equal(parse(engine.inspect()).files, n);
          const session = new opened.module.Session(engine);
          assert.equal(logits({ session }, IDS).hash, hash);
          session.delete();
          engine.delete();
        });
      }
      await t.test(`a probe of ${n} files`, () => {
        const header = new opened.module.Header(files.map((file) => file.length));
        const ptr = opened.module.allocate(1000);
        while (!header.done()) {
          const places = header.files();
          const at = header.position() - places.at(-2);
          const part = files[places.length / 2 - 1].subarray(at, at + 1000);
          new Uint8Array(opened.memory.buffer, ptr, part.length).set(part);
          parse(header.push(ptr, part.length));
        }
        const bytes = files.reduce((sum, file) => sum + file.length, 0);
        const info = parse(header.inspect('{}', bytes));
        assert.equal(info.files, n);
        assert.equal(info.fileBytes, bytes);
        assert.equal(info.supported, true);
        opened.module.release(ptr);
        header.delete();
      });
      await t.test(`one of ${n} files alone`, () => {
        const engine = new opened.module.Engine();
        parse(engine.open('{"threads":1}', [files[0].length], 'sequential'));
        const alone = () => {
          while (!engine.hasLayout()) fill(opened, engine, files, engine.wants(1));
        };
        assert.throws(alone, {
          code: 'bad_file',
          message: new RegExp(`^this is file 1 of ${n} of a split model: give all of them`),
        });
        engine.delete();
      });
    }
  });
}
