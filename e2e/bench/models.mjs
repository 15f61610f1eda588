// The models that the bench measures: given files, the bundled model, a real model, and random weights in the shapes of
// real models.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { build_preset } from '../../scripts/build.mjs';
import { Failure, ROOT, must_quietly } from '../../scripts/lib.mjs';
import { REAL_MODEL, real_model } from '../../scripts/real-model.mjs';

export const BUNDLED = path.join(ROOT, 'web/app/public/models/stories-q8_0.gguf');
/** The shapes that are measured by default. */
export const SHAPES = ['smollm2-135m', 'qwen3-0.6b', 'llama-3.2-1b'];
/** Those that are measured when they are named. */
const OTHER_SHAPES = ['lfm2-350m', 'gemma-3-1b', 'gemma4-e2b', 'qwen3.5-0.8b'];
const ALL_SHAPES = [...SHAPES, ...OTHER_SHAPES];
/** The types that a shape can be written in: those that the core computes, whose rows have more than three numbers. */
const ROWS = fs.readFileSync(path.join(ROOT, 'core/quant/types.inc'), 'utf8');
export const TYPES = [...ROWS.matchAll(/^TYPE\((\w+), \d+, \d+, \d+,/gm)].map((row) => row[1]);
TYPES.push('Q4_K_M');
/** The types that are measured by default. */
export const USUAL_TYPES = ['Q4_0', 'Q8_0'];
const MADE = path.join(ROOT, 'build/bench');

/** How many tokens are decoded by default: more with a small model, to take long enough to measure. */
export function usual_tokens(model) {
  return fs.statSync(model).size < 50e6 ? 200 : 32;
}

/** The path of a shape's file, which is written if it is missing. `reversed`: its last tensor comes first. */
export async function made_model(shape, type, { reversed = false } = {}) {
  const name = `${shape}-${type.toLowerCase()}${reversed ? '-reversed' : ''}.gguf`;
  const file = path.join(MADE, name);
  if (fs.existsSync(file)) return file;
  await build_preset('release', ['tests/make_models'], must_quietly);
  console.error(`writing ${path.relative(ROOT, file)}`);
  const partial = path.join(MADE, 'partial');
  const args = [partial, '--big', shape, '--type', type, ...(reversed ? ['--reverse'] : [])];
  await must_quietly(path.join(ROOT, 'build/release/tests/make_models'), args);
  fs.renameSync(path.join(partial, path.basename(file)), file);
  fs.rmdirSync(partial);
  return file;
}

/**
 * The paths of models by name: 'bundled', REAL_MODEL, or a shape in each of the types. Writes or fetches the files that are
 * missing.
 */
export async function find_models(names, types) {
  const files = [];
  for (const name of names) {
    if (name === 'bundled') files.push(BUNDLED);
    else if (name === REAL_MODEL) files.push((await real_model()).file);
    else if (!ALL_SHAPES.includes(name)) {
      const known = ['bundled', REAL_MODEL, ...ALL_SHAPES];
      throw new Failure(`no model is called ${name}; the models are ${known.join(', ')}`);
    } else for (const type of types) files.push(await made_model(name, type));
  }
  return files;
}

const WORDS = 'the story then one day red and in on all so long ago there stood a tall tree'.split(
  ' ',
);

/** A text of `length` bytes, another one for each `salt`. */
function some_text(length, salt) {
  let text = '';
  let state = salt + 1;
  while (text.length < length) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    text += `${WORDS[(state >>> 16) % WORDS.length]} `;
  }
  return text.slice(0, length).replace(/ $/, '.');
}

/** A text of `tokens` tokens of the model, or a few less if no length gives that number. */
export function text_of_tokens(program, model, tokens, salt) {
  const count = (length) => {
    const input = some_text(length, salt);
    const args = ['tokenize', model, '--bos', '--json', '-f', '-'];
    return JSON.parse(execFileSync(program, args, { input, encoding: 'utf8' })).ids.length;
  };
  let [low, high] = [1, 16 * tokens];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (count(middle) <= tokens) low = middle;
    else high = middle - 1;
  }
  return some_text(low, salt);
}
