// Computes figures from measurements: medians, ratios, and shares of what the machine can do.
import fs from 'node:fs';
import os from 'node:os';

/** The sides in the order of the tables, with their names there. */
export const SIDES = {
  native: 'Sluice, native',
  'llama.cpp': 'llama.cpp, native',
  chromium: 'Sluice, Chromium',
  wllama: 'wllama, Chromium',
};
/** The pairs of sides that are compared. */
export const RATIOS = [
  ['native', 'llama.cpp'],
  ['chromium', 'llama.cpp'],
  ['chromium', 'wllama'],
  ['chromium', 'native'],
];

/** The figures that have ratios, by their names in the ratios. */
const COMPARED = { prompt: 'prompt_tps', decode: 'decode_tps', deep: 'deep_tps' };

/** The middle number, or the mean of the middle two; null if there are none. */
export function median(values) {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** A side's row: the medians over its measurements with one number of threads, and the samples. */
function row_of(measurements) {
  const [{ side, threads, facts }] = measurements;
  const { kernels, version, prompt_tokens } = facts;
  const row = { side, threads, kernels, version, prompt_tokens, samples: {} };
  for (const figure of ['prompt_tps', 'decode_tps', 'deep_tps', 'load_ms']) {
    const values = measurements.map(({ figures }) => figures[figure]).filter(Number.isFinite);
    if (values.length === 0) continue;
    row.samples[figure] = values;
    row[figure] = median(values);
  }
  return row;
}

/** Adds bytes and multiply-adds per second to a row, and their shares of what the machine can do. */
function add_shares(row, { bytes_per_token, prompt_macs, kv_bytes, depth, read_gbps, peak_gmacs }) {
  if (bytes_per_token !== undefined) {
    row.decode_gbps = (row.decode_tps * bytes_per_token) / 1e9;
    if (read_gbps > 0) row.read_share = row.decode_gbps / read_gbps;
    if (kv_bytes !== null && row.deep_tps > 0) {
      // The share of the rate that is possible when the cache is read besides the weights
      const allowed = bytes_per_token / (bytes_per_token + kv_bytes * depth);
      row.depth_share = row.deep_tps / row.decode_tps / allowed;
    }
  }
  if (prompt_macs !== undefined) {
    row.prompt_gmacs = (row.prompt_tps * prompt_macs) / 1e9;
    // The peak is that of the native kernels.
    if (row.side === 'native' && peak_gmacs > 0) row.peak_share = row.prompt_gmacs / peak_gmacs;
  }
}

function ratios_of(rows) {
  const ratios = [];
  for (const [ours, theirs] of RATIOS) {
    for (const a of rows.filter(({ side }) => side === ours)) {
      const b = rows.find(({ side, threads }) => side === theirs && threads === a.threads);
      if (b === undefined) continue;
      const ratio = { ours, theirs, threads: a.threads };
      for (const [name, figure] of Object.entries(COMPARED)) {
        if (a[figure] > 0 && b[figure] > 0) ratio[name] = a[figure] / b[figure];
      }
      ratios.push(ratio);
    }
  }
  return ratios;
}

/**
 * One model's figures from its measurements, [{side, threads, figures, facts}], one for each round, number of threads
 * and side: {bytes_per_token, prompt_macs, read_gbps, memory_gbps, peak_gmacs, rows, ratios}. All but the last two come
 * from the native side and are undefined or empty without it. `kv_bytes`: the cache's bytes for each of `depth`
 * positions, or null.
 */
export function summarize(measurements, { kv_bytes = null, depth = 0 } = {}) {
  const native = measurements.filter(({ side }) => side === 'native');
  const { bytes_per_token, prompt_macs } = native[0]?.facts ?? {};
  const counts = [...new Set(measurements.map(({ threads }) => threads))].sort((a, b) => a - b);
  const of_machine = (figure) => {
    const found = counts.map((threads) => {
      const values = native.filter((m) => m.threads === threads).map((m) => m.figures[figure]);
      return [threads, median(values.filter(Number.isFinite))];
    });
    return Object.fromEntries(found.filter(([, value]) => value !== null));
  };
  const read_gbps = of_machine('read_gbps');
  const peak_gmacs = of_machine('peak_gmacs');
  const rows = [];
  for (const threads of counts) {
    for (const side of Object.keys(SIDES)) {
      const mine = measurements.filter((m) => m.side === side && m.threads === threads);
      if (mine.length === 0) continue;
      const row = row_of(mine);
      add_shares(row, {
        bytes_per_token,
        prompt_macs,
        kv_bytes,
        depth,
        read_gbps: read_gbps[threads],
        peak_gmacs: peak_gmacs[threads],
      });
      rows.push(row);
    }
  }
  const memory_gbps = of_machine('memory_gbps');
  return {
    bytes_per_token,
    prompt_macs,
    read_gbps,
    memory_gbps,
    peak_gmacs,
    rows,
    ratios: ratios_of(rows),
  };
}

const INSTRUCTION_SETS =
  /^(avx2|f16c|fma|avx_vnni|avx512(f|bw|vbmi|_vnni|_bf16)|amx_(int8|tile)|asimd|asimddp|i8mm|sve)$/;

/** The machine that this runs on. */
export function describe_machine() {
  let cpuinfo = '';
  try {
    cpuinfo = fs.readFileSync('/proc/cpuinfo', 'utf8');
  } catch {
    // not Linux: the name alone
  }
  const field = (name) => new RegExp(`^${name}\\s*: (.*)$`, 'm').exec(cpuinfo)?.[1] ?? null;
  const flags = (field('flags') ?? field('Features') ?? '').split(' ');
  const family = field('cpu family');
  return {
    cpu: os.cpus()[0]?.model.trim() ?? 'unknown',
    ...(family === null ? {} : { family: `${family}, model ${field('model')}` }),
    architecture: process.arch,
    instruction_sets: flags.filter((flag) => INSTRUCTION_SETS.test(flag)),
    cores: os.availableParallelism(),
    memory_bytes: os.totalmem(),
    system: `${os.type()} ${os.release()}`,
    node: process.version,
  };
}
