// Plays a text again, token by token.
import { signal } from '@preact/signals';
import type { Clock } from '../ui/clock';

/** Tokens a second. */
export const SPEEDS: readonly number[] = [1, 2, 4, 8, 16, 32, 64];

export class Player {
  readonly playing = signal(false);
  readonly speed = signal(4);
  readonly #clock: Clock;
  readonly #step: (by: number) => boolean;
  #undoFrame: (() => void) | null = null;
  /** When the last token was shown. */
  #last = 0;

  /** `step` goes on by so many tokens, and says whether there are more. */
  constructor(clock: Clock, step: (by: number) => boolean) {
    this.#clock = clock;
    this.#step = step;
  }

  play(): void {
    if (this.playing.peek()) return;
    this.playing.value = true;
    this.#last = this.#clock.now();
    this.#undoFrame = this.#clock.frame(this.#onFrame);
  }

  pause(): void {
    this.#undoFrame?.();
    this.#undoFrame = null;
    this.playing.value = false;
  }

  /** The next speed up or down. */
  change(by: number): void {
    const at = SPEEDS.indexOf(this.speed.peek()) + by;
    this.speed.value = SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, at))] ?? 4;
  }

  readonly #onFrame = (): void => {
    const now = this.#clock.now();
    const due = Math.floor(((now - this.#last) * this.speed.peek()) / 1000);
    if (due > 0) {
      this.#last += (due * 1000) / this.speed.peek();
      if (!this.#step(due)) {
        this.pause();
        return;
      }
    }
    this.#undoFrame = this.#clock.frame(this.#onFrame);
  };
}
