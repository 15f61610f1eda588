// What tests of sluice quantize share.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { sluice, temporaryDirectory } from './helpers.mjs';

export const sha256 = (file) => createHash('sha256').update(fs.readFileSync(file)).digest('hex');
export const inspect = (file) => JSON.parse(sluice(['inspect', file, '--json']).out);
/** Quantizes into a new folder; the folder's files are then `files`. */
export function quantize(model, ...args) {
  const folder = temporaryDirectory();
  const out = path.join(folder, 'out.gguf');
  const done = sluice(['quantize', model, out, ...args]);
  return { ...done, out_path: out, files: fs.readdirSync(folder).sort() };
}
export const error_of = ({ out }) => JSON.parse(out.trim().split('\n').pop());
