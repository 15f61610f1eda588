// What a token was chosen from, as the module tells it, in the form that the page gets: typed arrays, whose buffer is handed over.
import type { RawLogits } from '../shared/inside-types.js';

/** As event_json writes it. null: a number that is none. */
export interface RawEvent {
  logSum: number | null;
  entropy: number | null;
  draws: number;
  best: [number, number | null][];
}

/** Room for the ids and logits of n tokens, in one buffer. */
function room(n: number): Pick<RawLogits, 'ids' | 'logits'> & { buffer: ArrayBuffer } {
  const buffer = new ArrayBuffer(8 * n);
  return { buffer, ids: new Int32Array(buffer, 0, n), logits: new Float32Array(buffer, 4 * n, n) };
}

/** Of a token that a run has written. */
export function rawOfEvent({ logSum, entropy, draws, best }: RawEvent): RawLogits {
  const { ids, logits } = room(best.length);
  best.forEach(([id, logit], i) => {
    ids[i] = id;
    logits[i] = logit ?? -Infinity;
  });
  return { logSum: logSum ?? -Infinity, entropy: entropy ?? 0, draws, ids, logits };
}

/** Of SessionHandle.rawLogits: nobody has drawn. */
export function rawOfNumbers(numbers: Float64Array): RawLogits {
  const [logSum = -Infinity, entropy = 0] = numbers;
  const n = (numbers.length - 2) / 2;
  const { ids, logits } = room(n);
  for (let i = 0; i < n; ++i) {
    ids[i] = numbers[2 + 2 * i] as number;
    logits[i] = numbers[3 + 2 * i] as number;
  }
  return { logSum, entropy, draws: null, ids, logits };
}

/** The same numbers again; the entropy is not asked for. */
export function numbersOf({
  logSum,
  ids,
  logits,
}: Omit<RawLogits, 'entropy' | 'draws'>): Float64Array {
  const numbers = new Float64Array(2 + 2 * ids.length);
  numbers[0] = logSum;
  ids.forEach((id, i) => numbers.set([id, logits[i] as number], 2 + 2 * i));
  return numbers;
}

/** What is to be handed over with these. */
export function buffersOf(all: readonly (RawLogits | undefined)[]): ArrayBuffer[] {
  return all.flatMap((one) => (one === undefined ? [] : [one.ids.buffer as ArrayBuffer]));
}
