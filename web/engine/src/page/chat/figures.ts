// The tokens and times of a request's answers, added up.
import type { CoreStats } from '../../shared/protocol.js';
import type { Timings, Usage } from '../../shared/chat-types.js';

function perSecond(n: number, ms: number): number {
  return ms > 0 ? (n / ms) * 1000 : 0;
}

export class Figures {
  #promptTokens = 0;
  #cached = 0;
  #completion = 0;
  #reasoning = 0;
  readonly #times = { cache_n: 0, prompt_n: 0, prompt_ms: 0, predicted_n: 0, predicted_ms: 0 };

  /** Adds an answer's figures. `first`: it is the first answer to its prompt. */
  add(stats: CoreStats, first: boolean): void {
    const { promptTokens, reusedTokens, tokens, tokensPerSecond } = stats;
    if (first) {
      this.#promptTokens += promptTokens;
      this.#cached += reusedTokens;
    }
    this.#completion += tokens;
    this.#reasoning += stats.reasoningTokens;
    const times = this.#times;
    times.cache_n += reusedTokens;
    const computed = promptTokens - reusedTokens;
    times.prompt_n += computed;
    // Excludes templating and tokenizing the prompt, as in llama.cpp.
    const rate = stats.promptTokensPerSecond;
    if (rate > 0) times.prompt_ms += (computed / rate) * 1000;
    times.predicted_n += tokens;
    // The first token is computed with the prompt, so the rate counts only the others.
    if (tokensPerSecond > 0) times.predicted_ms += ((tokens - 1) / tokensPerSecond) * 1000;
  }

  get usage(): Usage {
    return {
      prompt_tokens: this.#promptTokens,
      completion_tokens: this.#completion,
      total_tokens: this.#promptTokens + this.#completion,
      prompt_tokens_details: { cached_tokens: this.#cached },
      completion_tokens_details: { reasoning_tokens: this.#reasoning },
    };
  }

  get timings(): Timings {
    const { cache_n, prompt_n, prompt_ms, predicted_n, predicted_ms } = this.#times;
    return {
      cache_n,
      prompt_n,
      prompt_ms,
      prompt_per_second: perSecond(prompt_n, prompt_ms),
      predicted_n,
      predicted_ms,
      predicted_per_second: perSecond(predicted_n, predicted_ms),
    };
  }
}
