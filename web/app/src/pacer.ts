// Slows down what changes often.

/** Calls `take` after changes, with time between the calls. What came in between is left out, the newest never. */
export class Pacer {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last = -Infinity;

  /**
   * `pace`: the least milliseconds between two calls. `wanted`: whether `take` is wanted now; when it is wanted again, call
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
    if (this.#timer !== undefined || !this.wanted()) return;
    const wait = this.#last + this.pace() - performance.now();
    this.#timer = setTimeout(() => this.#call(), Math.max(this.delay, wait));
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #call(): void {
    this.#timer = undefined;
    if (!this.wanted()) return;
    this.#last = performance.now();
    this.take();
  }
}
