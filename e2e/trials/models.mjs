// @ts-check
// The models of the trials, and the right hashes of their logits: those that the program computes from the files.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Failure, ROOT } from '../../scripts/lib.mjs';

export const PROGRAM = process.env.SLUICE_BIN ?? path.join(ROOT, 'build/release/sluice');
const MAKER = path.join(ROOT, 'build/release/tests/make_models');
const MADE = path.join(ROOT, 'build/e2e-models');
const BUNDLED = path.join(ROOT, 'web/app/public/models/stories-q8_0.gguf');

/** Larger than a first request, so that there are several connections. */
const LARGE = 'smollm2-135m-q4_0.gguf';
/** The small ones stand here more often: they take less time. */
export const MODELS = [
  ...Array(4).fill('stories-q8_0.gguf'),
  'llama-q4_0.gguf',
  'llama-q6_k.gguf',
  'gemma3-wide-f32.gguf',
  'gpt2-f32.gguf',
  'lfm2-q8_0.gguf',
  'qwen2-q8_0.gguf',
  'qwen3-q4_k_m.gguf',
  'qwen3moe-q8_0.gguf',
  LARGE,
];

/** The ids whose logits are compared. */
export const IDS = [3, 32, 61, 90, 119, 148, 177, 6, 35, 64];

/** @param {string} name */
export function path_of(name) {
  if (name === path.basename(BUNDLED)) return BUNDLED;
  return name === LARGE ? path.join(MADE, 'big', name) : path.join(MADE, name);
}

/** In bytes. @param {string} name */
export function size_of(name) {
  return fs.statSync(path_of(name)).size;
}

/** Writes the models that are missing. Needs the release build. */
export function prepare() {
  if (!fs.existsSync(PROGRAM) || !fs.existsSync(MAKER)) {
    throw new Failure('the release build is not there: npm run build, or ninja -C build/release');
  }
  const missing = MODELS.filter((name) => !fs.existsSync(path_of(name)));
  if (missing.some((name) => name !== LARGE)) execFileSync(MAKER, [MADE]);
  if (missing.includes(LARGE)) {
    execFileSync(MAKER, [path.join(MADE, 'big'), '--big', 'smollm2-135m', '--type', 'Q4_0']);
  }
}

/** @type {Map<string, string>} */
const hashes = new Map();

/** The hash of the model's logits after IDS. @param {string} name */
export function right_hash(name) {
  const known = hashes.get(name);
  if (known !== undefined) return known;
  const args = ['logits', path_of(name), '--tokens', IDS.join(','), '--hash', '--json'];
  const { hash } = JSON.parse(execFileSync(PROGRAM, args, { encoding: 'utf8' }));
  hashes.set(name, hash);
  return /** @type {string} */ (hash);
}
