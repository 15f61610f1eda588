// When the engine worker tells the page how far a prompt is computed.
import type { PromptProgress as Counts } from '../../../wasm/module.js';
import type { PromptProgress } from './types.js';

/** A prompt that takes no longer is not told of. */
export const PATIENCE_MS = 200;
/** Between two reports. With the last one these are ten a second at most. */
export const PROMPT_MS = 125;

export class PromptNews {
  #next = performance.now() + PATIENCE_MS;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #told = false;
  #over = false;

  /** `look`: how far the prompt is; null if the run has ended. */
  constructor(
    readonly look: () => Counts | null,
    readonly tell: (progress: PromptProgress) => void,
  ) {}

  /** After a slice. `waiting`: it may take long until the next one. */
  changed(waiting: boolean): void {
    const ms = this.#next - performance.now();
    if (ms <= 0) this.#report();
    else if (waiting) this.#timer ??= setTimeout(() => this.#report(), ms);
  }

  /** The prompt is computed. */
  done(): void {
    if (this.#told) this.#report();
    this.#over = true;
    clearTimeout(this.#timer);
  }

  #report(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const counts = this.#over ? null : this.look();
    if (counts === null || counts.total === 0) return;
    this.#next = performance.now() + PROMPT_MS;
    this.#told = true;
    const { computed, total, reused, secondsLeft, waiting } = counts;
    this.tell({
      computed,
      total,
      reused,
      cached: reused,
      secondsLeft: secondsLeft < 0 ? null : secondsLeft,
      waiting,
    });
  }
}
