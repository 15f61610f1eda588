import { expect, it } from 'vitest';
import { nextBlocks } from '../src/loader/net/next-blocks.js';
import { rangesOfRows } from '../src/loader/net/rows.js';
import type { Range } from '../src/shared/outstanding.js';

const M = 1 << 20;
const SIZE = 4 * M;

/** The requests for a file of which all is wanted in this order: blocks from and to. */
function requestsFor(total: number, ordered: Range[]): [number, number][] {
  const here = new Set<number>();
  const requests: [number, number][] = [];
  for (;;) {
    const lacks = (block: number): boolean => !here.has(block);
    const next = nextBlocks({ total, size: SIZE, lacks, ordered, cursor: 0 });
    if (next === null) return requests;
    requests.push([next.first, next.end]);
    for (let block = next.first; block < next.end; ++block) {
      expect(here.has(block)).toBe(false);
      here.add(block);
    }
  }
}

const tensors = (count: number, bytes: number): Range[] =>
  Array.from({ length: count }, (_, i) => ({ from: i * bytes, to: (i + 1) * bytes }));

it('a model of 4.7 GB takes less than 100 requests in the usual order', () => {
  const ordered = tensors(300, 4.7e9 / 300);
  const requests = requestsFor(4.7e9, ordered);
  expect(requests.length).toBeLessThan(100);
  expect(requests).toEqual(requests.toSorted(([a], [b]) => a - b));
});

it('with its tensors in reverse the last of the file come first, in as few requests', () => {
  const ordered = tensors(300, 4.7e9 / 300).reverse();
  const requests = requestsFor(4.7e9, ordered);
  expect(requests.length).toBeLessThan(110);
  // Within a tensor, which has four blocks, the order is the file's.
  requests.reduce((before, next) => {
    expect(next[0]).toBeLessThan(before[0] + 4);
    return next;
  });
});

it('with the tensors of all layers interleaved it stays below 400', () => {
  const all = tensors(300, 4.7e9 / 300);
  const ordered = all.toSorted((a, b) => (all.indexOf(a) % 30) - (all.indexOf(b) % 30));
  expect(requestsFor(4.7e9, ordered).length).toBeLessThan(400);
});

it('rows near each other are fetched together, and in 32 ranges at most', () => {
  const near = [0, 1000, 60_000, 1e6].map((from) => ({ from, to: from + 500 }));
  expect(rangesOfRows(near.toReversed())).toEqual([
    { from: 0, to: 60_500 },
    { from: 1e6, to: 1e6 + 500 },
  ]);
  const many = Array.from({ length: 200 }, (_, i) => ({
    from: i * i * 1e5,
    to: i * i * 1e5 + 500,
  }));
  const ranges = rangesOfRows(many);
  expect(ranges.length).toBe(32);
  for (const { from, to } of many)
    expect(ranges.some((range) => range.from <= from && to <= range.to)).toBe(true);
});
