// Ranges for the rows of the embedding that a prompt waits for, which are scattered over a large table.
import type { Range } from '../../shared/outstanding.js';

/** The largest gap between two rows that is fetched with them: a separate request would take longer. */
const GAP_BYTES = 64 << 10;
const MOST_RANGES = 32;

/** The ranges to fetch for the rows. Small gaps are included, and larger ones if there would be too many ranges. */
export function rangesOfRows(rows: readonly Range[]): Range[] {
  const sorted = [...rows].sort((a, b) => a.from - b.from);
  const gaps = sorted.slice(1).map(({ from }, i) => from - (sorted[i] as Range).to);
  const widest = [...gaps].sort((a, b) => b - a).slice(0, MOST_RANGES - 1);
  const least = Math.max(GAP_BYTES + 1, widest.length < MOST_RANGES - 1 ? 0 : (widest.at(-1) ?? 0));
  const ranges: Range[] = [];
  for (const { from, to } of sorted) {
    const last = ranges.at(-1);
    const splits = last === undefined || (from - last.to >= least && ranges.length < MOST_RANGES);
    if (splits) ranges.push({ from, to });
    else last.to = Math.max(last.to, to);
  }
  return ranges;
}
