// The weights of attention as they are drawn: which of them, and the shape of each arc.
import type { Attention } from '@sluice/engine';

/** Words that are drawn: of a longer text those before the last one, and what stands before them as one. */
export const MOST_WORDS = 60;
/** Weights below this are not drawn. */
const LEAST = 0.005;
/** Words that the table names. */
const MOST_NAMED = 12;

/** The weights of one head, or the mean of all (null), in one of the layers that attend (by its place in the list). */
export function weightsOf(attention: Attention, at: number, head: number | null): Float32Array {
  const width = attention.position + 1;
  const all = attention.weights[at] ?? new Float32Array(0);
  if (head !== null) return all.subarray(head * width, (head + 1) * width);
  const heads = attention.heads[at] ?? 0;
  const mean = new Float32Array(width);
  for (let h = 0; h < heads; ++h)
    for (let i = 0; i < width; ++i) mean[i] = (mean[i] ?? 0) + (all[h * width + i] ?? 0) / heads;
  return mean;
}

/** The first word that is drawn, and the sum of the weights before it. */
export function cutBefore(weights: Float32Array): { first: number; earlier: number } {
  const first = Math.max(0, weights.length - MOST_WORDS);
  return { first, earlier: weights.subarray(0, first).reduce((sum, one) => sum + one, 0) };
}

/** The words with the largest weights, and their weights, the largest first. */
export function largest(weights: Float32Array): [number, number][] {
  const places = Array.from(weights.keys()).sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0));
  return places
    .slice(0, MOST_NAMED)
    .filter((at) => (weights[at] ?? 0) > 0)
    .map((at) => [at, weights[at] ?? 0]);
}

/** Where a word lies along the line, in pixels. */
export interface Span {
  left: number;
  width: number;
}

export interface Arc {
  /** For the attribute `d` of an SVG path. */
  path: string;
  /** The width of the line, in pixels. */
  width: number;
  weight: number;
}

/**
 * The arcs from the last of the spans to each. `weights`: one for each span. `height`: of the picture; the farther a word, the
 * higher its arc, but never above it.
 */
export function arcsOf(spans: readonly Span[], weights: readonly number[], height: number): Arc[] {
  const last = spans.at(-1);
  if (last === undefined) return [];
  const middle = ({ left, width }: Span): number => Math.round(10 * (left + width / 2)) / 10;
  const from = middle(last);
  return spans.flatMap((span, i) => {
    const weight = weights[i] ?? 0;
    if (weight < LEAST) return [];
    const to = middle(span);
    const far = Math.abs(from - to);
    // To itself: a small loop.
    const reach = far === 0 ? Math.max(6, span.width / 2) : far / 2;
    const top = height - Math.min(height - 4, Math.max(14, reach * 0.8));
    const [a, b] = far === 0 ? [from - reach, from + reach] : [from, to];
    const path = `M${a} ${height}C${a} ${top} ${b} ${top} ${b} ${height}`;
    return [{ path, width: Math.max(1, 9 * Math.sqrt(weight)), weight }];
  });
}
