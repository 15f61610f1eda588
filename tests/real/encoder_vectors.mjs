// The vectors that the program makes of the texts in tests/data/all-minilm-l6-v2.json.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { Failure, ROOT, capture } from '../../scripts/lib.mjs';

export const ANSWERS = path.join(ROOT, 'tests/data/all-minilm-l6-v2.json');
export const TYPES = ['F32', 'Q8_0'];
const PROGRAM = path.join(ROOT, 'build/release/sluice');

/** The numbers of a file of `sluice embed --npy`. */
function numbers_of(file) {
  const bytes = fs.readFileSync(file);
  const begin = 10 + bytes.readUInt16LE(8);
  return new Float32Array(Uint8Array.from(bytes.subarray(begin)).buffer);
}

function run(args, env = {}) {
  const { status, stdout, stderr } = capture(PROGRAM, args, { env: { ...process.env, ...env } });
  if (status !== 0) throw new Failure(`sluice ${args.join(' ')}: ${stderr}`);
  return stdout;
}

/**
 * All vectors of the texts, one after the other, divided by their lengths. Those of one line are made side by side, the
 * others alone. `dir` is for files. `how`: further arguments.
 */
export function vectors_of(model, texts, dir, { how = [], env = {} } = {}) {
  const out = path.join(dir, 'vectors.npy');
  const embed = (...args) => {
    run(['embed', model, ...args, '--npy', out, ...how], env);
    return numbers_of(out);
  };
  const lines = texts.filter((text) => !text.includes('\n'));
  const file = path.join(dir, 'lines');
  fs.writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
  const together = embed('-f', file);
  const width = together.length / lines.length;
  const all = new Float32Array(width * texts.length);
  texts.forEach((text, i) => {
    const at = lines.indexOf(text) * width;
    all.set(at < 0 ? embed('-p', text) : together.subarray(at, at + width), i * width);
  });
  return all;
}

/** The ids of a text, with those around it. */
export function ids_of(model, text) {
  return JSON.parse(run(['tokenize', model, '--bos', '--eos', '--json', '-p', text])).ids;
}

/** The SHA-256 of vectors. */
export function hash_of(vectors) {
  return createHash('sha256').update(new Uint8Array(vectors.buffer)).digest('hex');
}
