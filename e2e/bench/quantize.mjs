// Quantizing a file with the program and with llama.cpp's llama-quantize in the Debian root, in turn: times, the most
// memory of the program, and whether both wrote the same bytes.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { Failure } from '../../scripts/lib.mjs';
import { EMSCRIPTEN_ROOT, run_in_root } from '../../scripts/emscripten.mjs';
import { median } from './figures.mjs';
import { run_watched } from './process.mjs';

/** Whether two files have the same bytes. */
function are_same(a, b) {
  try {
    execFileSync('cmp', ['-s', a, b]);
    return true;
  } catch {
    return false;
  }
}

async function seconds_of(work) {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
}

async function quantize_with_llama(model, out, type, threads) {
  const dir = path.dirname(model);
  const inside = (file) => `/mnt/${path.basename(file)}`;
  const status = await run_in_root(
    EMSCRIPTEN_ROOT,
    ['llama-quantize', inside(model), inside(out), type, String(threads)],
    { binds: [[dir, '/mnt']], stdio: 'ignore' },
  );
  if (status !== 0) throw new Failure(`llama-quantize ended with ${status}`);
}

/**
 * Quantizes `model` to each of `types`, `rounds` times with each number of threads. `llama`: beside llama-quantize.
 * Returns a row for each type and number of threads: {type, threads, seconds, llama_seconds, ratio, peak, same, samples}.
 */
export async function measure_quantizing(program, model, { types, threads, rounds, llama }) {
  const bytes = fs.statSync(model).size;
  const files = ['ours', 'theirs'].map((side) => path.join(path.dirname(model), `${side}.part`));
  const [ours, theirs] = files;
  const rows = [];
  try {
    for (const type of types) {
      for (const count of threads) {
        const samples = [];
        let peak = 0;
        for (let round = 0; round < rounds; ++round) {
          console.error(`${type}, threads: ${count}, round ${round + 1} of ${rounds}`);
          // Both find the source in the page cache.
          fs.readFileSync(model).fill(0, 0, 1);
          const sample = {};
          sample.seconds = await seconds_of(async () => {
            const args = ['quantize', model, ours, '--type', type, '-t', count];
            peak = Math.max(peak, (await run_watched(program, args)).peak);
          });
          if (llama) {
            sample.llama_seconds = await seconds_of(() =>
              quantize_with_llama(model, theirs, type, count),
            );
          }
          samples.push(sample);
        }
        const of = (name) => median(samples.map((sample) => sample[name]));
        const row = { type, threads: count, bytes, seconds: of('seconds'), peak, samples };
        if (llama) {
          row.llama_seconds = of('llama_seconds');
          row.ratio = median(samples.map((sample) => sample.llama_seconds / sample.seconds));
          row.same = are_same(ours, theirs);
        }
        rows.push(row);
      }
    }
  } finally {
    for (const file of files) fs.rmSync(file, { force: true });
  }
  return { model: path.basename(model), rounds, rows };
}

/** The rows as text. */
export function quantizing_text({ model, rounds, rows }) {
  const lines = [`${model}, ${rounds} rounds in turn, medians`];
  for (const row of rows) {
    const rate = (row.bytes / row.seconds / 1e6).toFixed(0);
    const beside =
      row.ratio === undefined
        ? ''
        : `; llama-quantize ${row.llama_seconds.toFixed(2)} s: ${row.ratio.toFixed(2)} times as fast, ` +
          (row.same ? 'the same bytes' : 'OTHER BYTES');
    lines.push(
      `  ${row.type}, threads: ${row.threads}: ${row.seconds.toFixed(2)} s (${rate} MB/s of the source), ` +
        `most memory ${(row.peak / 1e6).toFixed(0)} MB${beside}`,
    );
  }
  return lines.join('\n');
}
