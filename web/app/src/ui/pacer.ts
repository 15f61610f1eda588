// Slows down what changes often.

/** Calls `take` after changes, with time between the calls. What came in between is left out, the newest never. */
export class Pacer {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #due = Infinity;
  #last = -Infinity;

  /**
   * `pace`: the least milliseconds between two calls, asked at each change. `wanted`: whether `take` is wanted now; when it is wanted again, call
   * `changed`. `delay`: the least milliseconds from a change to its call.
   */
  constructor(
    readonly take: () => void,
    readonly pace: () => number,
    readonly wanted: () => boolean = () => true,
    readonly delay = 0,
  ) {}

  /** Something has changed. */
  changed(): void {
    if (!this.wanted()) return;
    const now = performance.now();
    const due = Math.max(now + this.delay, this.#last + this.pace());
    if (due >= this.#due) return;
    this.stop();
    this.#due = due;
    this.#timer = setTimeout(() => this.#call(), due - now);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#due = Infinity;
  }

  #call(): void {
    this.#due = Infinity;
    if (!this.wanted()) return;
    this.#last = performance.now();
    this.take();
  }
}
