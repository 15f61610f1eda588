// A choice as far as it is known where there is no model to ask: what the model alone made of the kept logits. What the filters left
// of it, and what was drawn from, is not known (NaN).
import type { Choice, RawLogits } from '@sluice/engine';

export function plainChoice(
  { logSum, ids, logits }: RawLogits,
  taken: number,
  most: number,
): Choice {
  const candidates = Array.from(ids.subarray(0, most), (id, i) => {
    const logprob = (logits[i] ?? -Infinity) - logSum;
    return { id, logprob, changed: NaN, cut: null, p: NaN };
  });
  return { enough: true, steps: [], candidates, nucleus: NaN, mass: NaN, place: null, taken };
}
