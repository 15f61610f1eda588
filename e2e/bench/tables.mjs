// Writes the figures as tables, for a terminal and in Markdown.
import { RATIOS, SIDES } from './figures.mjs';

export const fixed = (value, digits) => (Number.isFinite(value) ? value.toFixed(digits) : '');
const rate = (value) => fixed(value, value < 1000 ? 1 : 0);
export const percent = (value) => (Number.isFinite(value) ? `${(100 * value).toFixed(0)}%` : '');
const size = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

/** Rows of cells as a table, the first column to the left. */
export function aligned(rows) {
  const widths = rows[0].map((_, i) => Math.max(...rows.map((cells) => cells[i].length)));
  const line = (cells) =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i])))
      .join('  ')
      .trimEnd();
  return rows.map(line).join('\n');
}

const columns = (result) => [
  ['threads', (row) => String(row.threads)],
  ['prompt tok/s', (row) => rate(row.prompt_tps)],
  ['decode tok/s', (row) => rate(row.decode_tps)],
  ['weights GB/s', (row) => fixed(row.decode_gbps, 2)],
  ['of reading', (row) => percent(row.read_share)],
  ...(result.depth > 0
    ? [
        [`behind ${result.depth}`, (row) => rate(row.deep_tps)],
        ['of what is allowed', (row) => percent(row.depth_share)],
      ]
    : []),
  ...(result.prompt_macs === undefined
    ? []
    : [
        ['prompt GMAC/s', (row) => fixed(row.prompt_gmacs, 0)],
        ['of the peak', (row) => percent(row.peak_share)],
      ]),
  ['load ms', (row) => fixed(row.load_ms, 0)],
];

/** One model's table for a terminal. */
export function text_of(result) {
  const shown = columns(result);
  const table = [['', ...shown.map(([name]) => name)]];
  for (const row of result.rows)
    table.push([`${SIDES[row.side]} (${row.kernels})`, ...shown.map(([, cell]) => cell(row))]);
  const ratios = [['', 'threads', 'prompt', 'decode', ...(result.depth > 0 ? ['deep'] : [])]];
  for (const { ours, theirs, threads, prompt, decode, deep } of result.ratios) {
    const cells = [prompt, decode, ...(result.depth > 0 ? [deep] : [])];
    ratios.push([`${ours} / ${theirs}`, String(threads), ...cells.map((value) => fixed(value, 2))]);
  }
  const reading = Object.entries(result.read_gbps).map(
    ([threads, gbps]) => `${gbps.toFixed(2)} GB/s with ${threads}`,
  );
  return [
    `${result.model}: prompt of ${result.prompt_tokens} tokens; ${result.tokens} tokens decoded from an empty context; medians of ${result.rounds}`,
    result.bytes_per_token === undefined
      ? ''
      : `${size(result.bytes_per_token)} of weights are read for each token; reading alone: ${reading.join(', ')}`,
    '',
    aligned(table),
    '',
    ratios.length > 1 ? `${aligned(ratios)}\n` : '',
  ].join('\n');
}

/** The rates in a page that is hidden or busy, compared with a visible one. */
export function page_text(result) {
  const table = [['', 'threads', 'decode tok/s', 'of visible']];
  for (const row of result.page) {
    table.push([row.state, String(row.threads), rate(row.decode_tps), percent(row.share)]);
  }
  return `${result.model}: ${result.tokens} tokens in Chromium; medians of ${result.rounds}\n\n${aligned(table)}\n`;
}

/** This checkout compared with another one. */
export function against_text({ model, rounds, rows }) {
  const table = [['', 'threads', 'prompt', 'decode', 'loading']];
  for (const row of rows) {
    const ratios = ['prompt', 'decode', 'loading'].map((name) => fixed(row[name]?.ratio, 3));
    table.push([`${row.side} (${row.kernels})`, String(row.threads), ...ratios]);
  }
  const pairs = rounds < 5 ? `${rounds} (few: they vary by a tenth and more)` : rounds;
  return (
    `${model}: this checkout's rates divided by the other's (above 1 this one is faster); ` +
    `medians of pairs: ${pairs}\n\n${aligned(table)}\n`
  );
}

/** The times from navigation to the first token. */
export function first_token_text({ network, cpu, rounds, rows }) {
  const table = [['', 'first token ms', 'first paint ms', 'of the other']];
  for (const { side, visit, first_token, first_paint, ratio } of rows) {
    const figures = [fixed(first_token, 0), fixed(first_paint, 0), percent(ratio)];
    table.push([`${side}, ${visit}`, ...figures]);
  }
  const slowed = cpu > 1 ? `, the page's thread slowed ${cpu} times` : '';
  return `The page's own model over ${network}${slowed}; medians of ${rounds}\n\n${aligned(table)}\n`;
}

export function kept_text({
  model,
  bytes,
  rounds,
  first_to_none,
  kept_to_plain,
  kept_to_best,
  ...ms
}) {
  const table = [
    ['', 'ms', 'ratio'],
    ['without the cache', fixed(ms.none, 0), ''],
    ['into the cache', fixed(ms.first, 0), `${fixed(first_to_none, 2)} of without`],
    ['plain read of the file', fixed(ms.plain, 0), ''],
    [
      'from the cache',
      fixed(ms.kept, 0),
      `${fixed(kept_to_plain, 2)} of the plain read, ${fixed(kept_to_best, 2)} of the fastest`,
    ],
  ];
  const size = `${(bytes / 1e6).toFixed(0)} MB`;
  return `${model}, ${size}: until ready; medians of ${rounds}\n\n${aligned(table)}\n`;
}

/** Of the page's promises of speed. */
export function promises_text({ model, tokens, rounds, rows }) {
  const table = [
    ['', 'measured', 'reached', 'ratio', 'learned', 'reached', 'ratio'],
    ...rows.map(({ load, promised, reached, ratio, next, next_ratio }) => [
      load,
      ...[promised, reached].map((rate) => fixed(rate, 1)),
      fixed(ratio, 2),
      ...[reached, next].map((rate) => fixed(rate, 1)),
      fixed(next_ratio, 2),
    ]),
  ];
  return `${model}: tokens/s promised and then reached, ${tokens} tokens; medians of ${rounds}\n\n${aligned(table)}\n`;
}

function markdown_table(rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  return [line(rows[0]), line(rows[0].map(() => '---')), ...rows.slice(1).map(line)].join('\n');
}

function machine_line({ machine, versions }) {
  const family = machine.family === undefined ? '' : ` (family ${machine.family})`;
  const parts = [
    `${machine.cpu}${family}: ${machine.instruction_sets.join(', ')}`,
    `${machine.cores} cores, ${(machine.memory_bytes / 2 ** 30).toFixed(0)} GiB`,
    ...Object.entries(versions).map(([name, version]) => `${name} ${version}`),
  ];
  return parts.join('; ');
}

const row_of = (result, side, threads) =>
  result.rows.find((row) => row.side === side && row.threads === threads);

function rates_markdown(results, threads, sides) {
  const figures = { prompt: 'prompt_tps', decode: 'decode_tps' };
  const kinds = Object.entries(figures).flatMap(([kind, figure]) =>
    sides.map((side) => [`${kind}: ${SIDES[side]}`, side, figure]),
  );
  const head = [`tokens a second, threads: ${threads}`, ...kinds.map(([name]) => name)];
  const lines = results.map((result) => [
    `${result.model} (${result.prompt_tokens} + ${result.tokens})`,
    ...kinds.map(([, side, figure]) => rate(row_of(result, side, threads)?.[figure])),
  ]);
  return markdown_table([head, ...lines]);
}

function ratios_markdown(results, threads, sides) {
  const pairs = RATIOS.filter((pair) => pair.every((side) => sides.includes(side)));
  const shares = [
    ['native', 'read_share', 'native decode, of reading'],
    ['native', 'peak_share', 'native prompt, of the peak'],
    ['chromium', 'read_share', 'Chromium decode, of reading'],
  ].filter(([side]) => sides.includes(side));
  const head = [
    `prompt, decode; threads: ${threads}`,
    ...pairs.map(([ours, theirs]) => `${ours} / ${theirs}`),
    ...shares.map(([, , name]) => name),
  ];
  const lines = results.map((result) => {
    const ratio = ([ours, theirs]) =>
      result.ratios.find((r) => r.ours === ours && r.theirs === theirs && r.threads === threads);
    return [
      result.model,
      ...pairs.map((pair) => `${fixed(ratio(pair)?.prompt, 2)}, ${fixed(ratio(pair)?.decode, 2)}`),
      ...shares.map(([side, share]) => percent(row_of(result, side, threads)?.[share])),
    ];
  });
  return markdown_table([head, ...lines]);
}

function pages_markdown(results) {
  const head = ['decode in Chromium', 'page', 'threads', 'tokens a second', 'of visible'];
  const lines = results.flatMap(({ model, page }) =>
    page.map((row) => [
      model,
      row.state,
      String(row.threads),
      rate(row.decode_tps),
      percent(row.share),
    ]),
  );
  return markdown_table([head, ...lines]);
}

/** The machine, then a pair of tables for each number of threads: rates; ratios and shares. */
export function markdown_of(report) {
  const parts = [machine_line(report)];
  const compared = report.models.filter(({ rows }) => rows !== undefined);
  const rows = compared.flatMap((result) => result.rows);
  const sides = Object.keys(SIDES).filter((side) => rows.some((row) => row.side === side));
  for (const threads of [...new Set(rows.map((row) => row.threads))]) {
    parts.push(rates_markdown(compared, threads, sides), ratios_markdown(compared, threads, sides));
  }
  const pages = report.models.filter(({ page }) => page !== undefined);
  if (pages.length > 0) parts.push(pages_markdown(pages));
  return `${parts.join('\n\n')}\n`;
}
