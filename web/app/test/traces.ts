// Traces for tests: of a model that there is not, the same each time.
import { MOST_KEPT, type Trace, type TraceToken } from '../src/inside/trace';

const VOCAB = 1000;

/** Numbers from 0 to below 1. */
export function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const pieceOf = (id: number): string => (id % 7 === 0 ? `\u00e9${id}` : ` w${id}`);

/** A text of so many tokens, each with the logits that it was chosen by. */
export function traceOf(tokens: number, seed = 1): Trace {
  const next = numbers(seed);
  const pieces = new Map<number, string>();
  const promptIds = [1, 5, 7];
  for (const id of promptIds) pieces.set(id, pieceOf(id));
  const made = Array.from({ length: tokens }, (_, n): TraceToken => {
    const ids = new Set<number>();
    while (ids.size < MOST_KEPT) ids.add(Math.floor(next() * VOCAB));
    const logits = Float32Array.from(ids, () => 20 * next() - 10)
      .sort()
      .reverse();
    const list = Int32Array.from(ids);
    const logSum = (logits[0] ?? 0) + 2 * next();
    const at = Math.floor(next() * 3);
    const id = list[at] ?? 0;
    for (const one of list) pieces.set(one, pieceOf(one));
    return {
      id,
      text: pieceOf(id),
      logprob: (logits[at] ?? 0) - logSum,
      raw: { logSum, entropy: 3 * next(), draws: n, ids: list, logits },
    };
  });
  return {
    model: { name: 'made up', architecture: 'llama', vocab: VOCAB, layers: 4 },
    promptText: 'Once upon',
    promptIds,
    tokens: made,
    options: { temperature: 0.8, topK: 40 },
    seed: 5,
    pieces,
  };
}
