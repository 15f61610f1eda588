// A choice as the model alone would make it, where there is no model to ask: of the kept logits, without any filter.
import type { Choice, RawLogits } from '@sluice/engine';

export function plainChoice(
  { logSum, ids, logits }: RawLogits,
  taken: number,
  most: number,
): Choice {
  const candidates = Array.from(ids.subarray(0, most), (id, i) => {
    const logprob = (logits[i] ?? -Infinity) - logSum;
    return { id, logprob, changed: logprob, cut: null, p: Math.exp(logprob) };
  });
  const all = logits.reduce((sum, logit) => sum + Math.exp(logit - logSum), 0);
  const mass = Math.min(1, all);
  return { enough: true, steps: [], candidates, nucleus: ids.length, mass, place: null, taken };
}
