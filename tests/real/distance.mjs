// How far log-probabilities are from those of exact arithmetic.

/**
 * One step. `exact`: the best tokens by exact arithmetic, [[id, logprob], ..], best first; `ours`: the same of a program,
 * with more tokens. Throws if a token of `exact` is not among `ours`. Returns
 *   kl     the sum over these tokens of p * log(p / q), for p exact and q ours; it may be negative
 *   whole  the Kullback-Leibler divergence with all other tokens as one; never negative
 *   far    the largest difference of two log-probabilities
 *   best   whether the best token is the same
 */
export function distance(exact, ours) {
  const found = new Map(ours);
  let [kl, far, p_sum, q_sum] = [0, 0, 0, 0];
  for (const [id, log_p] of exact) {
    const log_q = found.get(id);
    if (log_q === undefined) throw new Error(`token ${id} is not among the ${ours.length} best`);
    kl += Math.exp(log_p) * (log_p - log_q);
    far = Math.max(far, Math.abs(log_p - log_q));
    p_sum += Math.exp(log_p);
    q_sum += Math.exp(log_q);
  }
  // Rounding may bring the sums to 1 or beyond.
  const [p_rest, q_rest] = [p_sum, q_sum].map((sum) => Math.max(1 - sum, 1e-9));
  const whole = kl + p_rest * Math.log(p_rest / q_rest);
  return { kl, whole, far, best: exact[0][0] === ours[0][0] };
}

/** The figures of all steps, by the names that they are printed with. */
export function summary(steps) {
  const mean = (name) => steps.reduce((sum, step) => sum + step[name], 0) / steps.length;
  const fars = steps.map(({ far }) => far).sort((a, b) => a - b);
  const round = (value) => Number(value.toFixed(5));
  return {
    'mean KL over the ten best': round(mean('kl')),
    'mean KL over all, the others as one': round(mean('whole')),
    'farthest log-probability, median': round(fars[fars.length >> 1]),
    'farthest log-probability, worst': round(fars.at(-1)),
    'steps with the best token': steps.filter(({ best }) => best).length,
  };
}
