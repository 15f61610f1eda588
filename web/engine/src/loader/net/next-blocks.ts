// Chooses the blocks that a connection fetches next: the most urgent ones, and their neighbours.
import type { Range } from '../../shared/outstanding.js';

/** Bytes of the first request: the whole header of most models, and few weights, which may be needed last. */
export const FIRST_RANGE = 4 << 20;
const LEAST_RANGE = 8 << 20;
const MOST_RANGE = 64 << 20;
/** The last requests are small, so that their bytes arrive nearly in order. */
const LAST_RANGE = 4 << 20;

/** Bytes of one request. `left`: how many of the file's bytes are not requested yet. */
export function rangeBytes(total: number, left: number): number {
  const usual = Math.min(Math.max(Math.ceil(total / 32), LEAST_RANGE), MOST_RANGE);
  return Math.min(usual, Math.max(left / 6, LAST_RANGE));
}

/** A file that is being fetched. */
export interface Lacking {
  total: number;
  /** Bytes of each block but the last. */
  size: number;
  /** Whether this block has to be fetched. */
  lacks(block: number): boolean;
  /** The wanted ranges, the most urgent first; null: blocks are fetched in the file's order. */
  ordered: Iterable<Range> | null;
  /** The block at which fetching continues if no missing block is wanted. */
  cursor: number;
}

/** The next blocks to fetch, from `first` to before `end`; null: none is missing. */
export function nextBlocks(file: Lacking): { first: number; end: number } | null {
  const { size, total, lacks } = file;
  const count = Math.ceil(total / size);
  let left = 0;
  for (let block = 0; block < count; ++block) if (lacks(block)) left += size;
  if (left === 0) return null;
  const most = Math.max(1, Math.floor(rangeBytes(total, left) / size));
  const soon = blocksOf(file, most);
  if (soon.size === 0) return fromCursor(file, count, most);
  const [start] = soon as Iterable<number> as [number];
  let first = start;
  let end = start + 1;
  while (soon.has(end)) ++end;
  while (soon.has(first - 1)) --first;
  // Extends short ranges, so that scattered tensors don't take a request each.
  while (end - first < most / 4 && end < count && lacks(end)) ++end;
  return { first, end };
}

/** The missing blocks with the most urgent bytes, at most `most`. */
function blocksOf({ size, lacks, ordered }: Lacking, most: number): Set<number> {
  const soon = new Set<number>();
  for (const { from, to } of ordered ?? []) {
    for (let block = Math.floor(from / size); block * size < to; ++block) {
      if (soon.size === most) return soon;
      if (lacks(block)) soon.add(block);
    }
  }
  return soon;
}

function fromCursor(
  { lacks, ordered, cursor }: Lacking,
  count: number,
  most: number,
): { first: number; end: number } {
  let first = ordered === null ? 0 : Math.min(cursor, count - 1);
  while (!lacks(first)) first = (first + 1) % count;
  let end = first + 1;
  while (end - first < most && end < count && lacks(end)) ++end;
  return { first, end };
}
