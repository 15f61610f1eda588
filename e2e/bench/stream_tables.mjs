// Writes the figures of streaming and of memory budgets as tables.
import { aligned, fixed, percent } from './tables.mjs';

const seconds = (ms) => fixed(ms / 1000, 2);
const megabytes = (bytes) => (Number.isFinite(bytes) ? `${(bytes / 1e6).toFixed(1)} MB` : '');

const SIDES = {
  overlap: 'Sluice',
  'in turn': 'Sluice, overlap turned off',
  wllama: 'wllama',
};

/** One case of --streaming. */
export function streaming_text(result) {
  const table = [
    ['', 'last byte s', 'of plain fetch', 'first token s', 'after last byte s', 'late by s'],
  ];
  for (const row of result.rows) {
    table.push([
      SIDES[row.side],
      seconds(row.last_byte_ms),
      fixed(row.last_to_plain, 3),
      seconds(row.first_token_ms),
      seconds(row.after_last_ms),
      seconds(row.late_ms),
    ]);
  }
  const { model, bytes, prompt_tokens, threads, kernels, rounds } = result;
  const left_out = Object.entries(result.left_out).map(
    ([side, why]) => `${side} is left out: ${why}`,
  );
  return [
    `${result.case}: ${model}, ${megabytes(bytes)}; prompt of ${prompt_tokens} tokens; threads: ${threads} (${kernels}); medians of ${rounds}`,
    `plain fetch ${seconds(result.plain_ms)} s; prompt on resident weights ${seconds(result.resident_ms)} s`,
    '"late by": after the later of the last byte and the time of that prompt',
    '',
    aligned(table),
    ...left_out,
    '',
  ].join('\n');
}

const NAMES = {
  native: 'native',
  kept: 'native, kept',
  opfs: 'Chromium, cache',
  file: 'Chromium, File',
};
const gigabytes = (rate) => `${fixed(rate / 1e9, 2)} GB/s`;
const same = (row) => (row.same_hashes ? 'the same' : 'OTHER');

/** The rows that failed, one line each. */
function failed(rows) {
  return rows
    .filter(({ error }) => error !== undefined)
    .map((row) => `${NAMES[row.side]}, threads ${row.threads ?? ''}: FAILED: ${row.error}`);
}

/** --budget. */
export function budget_text(result) {
  const table = [
    [
      ...['', 'threads', 'hashes', 'prompt tok/s', 'of what is allowed', 'decode tok/s'],
      ...['of reading', 'of resident or reading', 'reading', 'read again a token', 'heap', 'peak'],
    ],
  ];
  for (const row of result.rows.filter(({ error }) => error === undefined)) {
    table.push([
      `${NAMES[row.side]}${row.cold ? ', cold' : ''}`,
      String(row.threads),
      same(row),
      fixed(row.prompt_tps, 1),
      percent(row.prompt_share),
      fixed(row.decode_tps, 2),
      percent(row.decode_share),
      percent(row.decode_of_both),
      gigabytes(row.read_rate),
      megabytes(row.read_per_token),
      row.heap === null ? '' : megabytes(row.heap),
      megabytes(row.peak),
    ]);
  }
  const residents = result.rows.map(({ side, threads, resident }) => ({ side, threads, resident }));
  const seen = new Map(residents.map((one) => [`${NAMES[one.side]}, ${one.threads}`, one]));
  const resident = [...seen].map(
    ([name, one]) =>
      `${name}: ${fixed(one.resident.prompt_tps, 1)}, ${fixed(one.resident.decode_tps, 2)}`,
  );
  return [
    `${result.model} under ${megabytes(result.budget)}: prompt of ${result.prompt} tokens, ${result.n} decoded`,
    `on resident weights (threads, prompt, decode tok/s): ${resident.join('; ')}`,
    `peak: natively resident memory, in Chromium the growth of the tab’s process; asked for: at most ${megabytes(result.budget + 2 ** 27)}`,
    '',
    aligned(table),
    ...failed(result.rows),
    '',
  ].join('\n');
}

/** --beyond. */
export function beyond_text(result) {
  const table = [['', 'hashes', 'prompt tok/s', 'decode tok/s', 'reading', 'heap', 'growth']];
  for (const row of result.rows.filter(({ error }) => error === undefined)) {
    table.push([
      NAMES[row.side],
      same(row),
      fixed(row.prompt_tps, 2),
      fixed(row.decode_tps, 3),
      gigabytes(row.read_rate),
      megabytes(row.heap),
      megabytes(row.peak),
    ]);
  }
  return [
    `${result.model} under ${megabytes(result.budget)}: prompt of ${result.prompt} tokens, ${result.n} decoded`,
    '',
    aligned(table),
    ...failed(result.rows),
    '',
  ].join('\n');
}
