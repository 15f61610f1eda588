// Which passages lie nearest to a question: all are compared with it.
import { passagesOf, sameMark, type Document, type Mark } from './format';

export interface Hit {
  /** The document's id. */
  of: string;
  name: string;
  line: number;
  /** Of its first character in the document. */
  start: number;
  text: string;
  /** The cosine of the angle between the question and the passage: 1 is the same. */
  score: number;
}

/** The `top` passages of `documents`, by their ids, that lie nearest to `question`, a vector of length 1 made by `by`. */
export function rank(
  question: Float32Array,
  by: Mark,
  documents: Iterable<readonly [string, Document]>,
  top: number,
): Hit[] {
  const best: { of: string; document: Document; at: number; score: number }[] = [];
  for (const [of, document] of documents) {
    if (!sameMark(document.by, by) || question.length !== by.dimensions) continue;
    const made = Math.min(document.done, passagesOf(document));
    for (let at = 0; at < made; ++at) {
      const score = dot(question, document.vectors, at * by.dimensions);
      const least = best.length < top ? -Infinity : (best.at(-1)?.score ?? -Infinity);
      // Not so of what is no number either.
      if (!(score > least)) continue;
      const place = best.findIndex((one) => one.score < score);
      best.splice(place < 0 ? best.length : place, 0, { of, document, at, score });
      if (best.length > top) best.pop();
    }
  }
  return best.map(({ of, document: { name, text, places }, at, score }) => {
    const [start = 0, end = 0, line = 1] = places.subarray(3 * at, 3 * at + 3);
    return { of, name, line, start, text: text.slice(start, end), score };
  });
}

function dot(a: Float32Array, b: Float32Array, from: number): number {
  let sum = 0;
  for (let i = 0; i < a.length; ++i) sum += (a[i] ?? 0) * (b[from + i] ?? 0);
  return sum;
}
