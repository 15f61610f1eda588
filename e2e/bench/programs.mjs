// The sides of the bench that are programs: Sluice's own, and llama.cpp's llama-bench in the Debian root.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Failure, IS_ROOT, capture, read_json } from '../../scripts/lib.mjs';
import {
  EMSCRIPTEN_ROOT,
  READY,
  mounting_allowed,
  run_in_root,
} from '../../scripts/emscripten.mjs';

/** What a program says of one `sluice bench`, as an object. */
function bench_once(program, model, args) {
  const result = capture(program, ['bench', model, ...args, '--json'].map(String));
  if (result.status !== 0) throw new Failure(`sluice bench failed: ${result.stderr.trim()}`);
  return JSON.parse(result.stdout);
}

/**
 * Milliseconds of a load of a file that is in memory: the median of seven. (One alone tells more of what the machine did
 * before.)
 */
export function measure_native_load(program, model, threads) {
  fs.readFileSync(model);
  return bench_once(program, model, ['-p', 1, '-n', 1, '-r', 7, '-t', threads]).runs[0].load_ms;
}

/** Measures a model once with Sluice's program and one number of threads: {figures, facts}. */
export function measure_native(program, model, { p, n, depth, threads }) {
  const bench = (...args) => bench_once(program, model, [...args, '-n', n, '-r', 1, '-t', threads]);
  const found = bench('-p', p);
  const [run] = found.runs;
  const figures = {
    prompt_tps: run.prompt_tps,
    decode_tps: run.decode_tps,
    load_ms: run.load_ms,
    read_gbps: found.read_gbps[threads],
    memory_gbps: found.memory_gbps[threads],
  };
  if (found.peak_gmacs !== undefined) figures.peak_gmacs = found.peak_gmacs[threads];
  if (depth > 0) figures.deep_tps = bench('-p', 1, '--depth', depth).runs[0].decode_tps;
  const facts = { kernels: found.kernels, bytes_per_token: found.bytes };
  if (found.prompt_macs !== undefined) facts.prompt_macs = found.prompt_macs;
  return { figures, facts };
}

/** Bytes of keys and values that a decoded token reads for each token of context. */
export function kv_bytes_per_token(program, model, context) {
  const result = capture(program, ['inspect', model, '-c', String(context), '--json']);
  const memory = result.status === 0 ? JSON.parse(result.stdout).memory : null;
  return memory === null ? null : memory.kv / memory.contextSize;
}

/** Why llama.cpp can't be measured here; '' if it can. */
export function llama_lacks(name = 'llama.cpp') {
  if (!IS_ROOT || !mounting_allowed()) return 'it is in the Debian root, which only root can enter';
  if ((read_json(READY) ?? []).includes(name)) return '';
  return 'node scripts/setup.mjs llama installs it';
}

/** The same of llama-embedding. */
export const embedding_lacks = () => llama_lacks('llama.cpp-examples');

async function llama_bench(model, args) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-bench-'));
  const [out, err] = ['out', 'err'].map((name) => fs.openSync(path.join(dir, name), 'w'));
  try {
    const all = ['llama-bench', '-m', `/mnt/${path.basename(model)}`, '-r', 1, '-o', 'json'];
    const status = await run_in_root(EMSCRIPTEN_ROOT, [...all, ...args].map(String), {
      binds: [[path.dirname(model), '/mnt']],
      stdio: ['ignore', out, err],
    });
    const messages = fs.readFileSync(path.join(dir, 'err'), 'utf8').trim();
    const results = status === 0 ? read_json(path.join(dir, 'out')) : null;
    if (results === null) throw new Failure(`llama-bench failed: ${messages}`);
    const backend = /libggml-cpu-(\w+)\.so/.exec(messages)?.[1] ?? null;
    return { results, backend };
  } finally {
    for (const fd of [out, err]) fs.closeSync(fd);
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

/** The same with llama.cpp. `facts` names its build and the backend that it chose for this machine. */
export async function measure_llama(model, { p, n, depth, threads }) {
  const { results, backend } = await llama_bench(model, ['-p', p, '-n', n, '-t', threads]);
  const rate = (found, kind) => found.find((row) => row[kind] > 0)?.samples_ts[0];
  const figures = {
    prompt_tps: rate(results, 'n_prompt'),
    decode_tps: rate(results, 'n_gen'),
  };
  if (depth > 0) {
    const deep = await llama_bench(model, ['-p', 0, '-n', n, '-d', depth, '-t', threads]);
    figures.deep_tps = rate(deep.results, 'n_gen');
  }
  const { build_number, build_commit } = results[0];
  return { figures, facts: { kernels: backend, version: `b${build_number} (${build_commit})` } };
}
