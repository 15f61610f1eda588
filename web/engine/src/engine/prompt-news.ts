// Decides when the engine worker reports a prompt's progress to the page.
import type { PromptProgress as Counts } from '../../../../wasm/module.js';
import type { PromptProgress } from '../shared/progress-types.js';

/** Milliseconds before the first report: shorter prompts are not reported. */
export const PATIENCE_MS = 200;
/** Milliseconds between two reports. With the last one they are ten a second at most. */
export const PROMPT_MS = 125;

export class PromptNews {
  #next = performance.now() + PATIENCE_MS;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #told = false;
  #over = false;

  /** `look`: reads the prompt's progress; null if the run has ended. */
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
