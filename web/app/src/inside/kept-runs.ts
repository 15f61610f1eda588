// The runs of a text as they are kept, read back. What is kept may be damaged.
import { isCount, isObject } from '../history/records';
import type { KeptRun } from './log';

/** The runs of a text of so many characters; none if one can't be used: then nobody knows its tokens. */
export function readRuns(value: unknown, length: number): KeptRun[] {
  if (!Array.isArray(value)) return [];
  const runs = value.map((one) => readRun(one, length));
  return runs.every((run) => run !== undefined) ? runs : [];
}

const isCounts = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every(isCount);

function readRun(value: unknown, length: number): KeptRun | undefined {
  if (!isObject(value)) return undefined;
  const { begun, from, ids, lengths, seed, settings } = value;
  if (from !== 'text' && from !== 'ids' && from !== 'reader') return undefined;
  if (!isCount(begun) || !isCounts(ids) || !isCounts(lengths)) return undefined;
  if (ids.length === 0 || ids.length !== lengths.length) return undefined;
  if (begun + lengths.reduce((sum, one) => sum + one, 0) > length) return undefined;
  if ((seed !== null && !isCount(seed)) || typeof settings !== 'string') return undefined;
  return { begun, from, ids, lengths, seed, settings };
}
