// Tells the page of the states of a model's slots while they change.
import { Rate } from '../shared/rate.js';

/** The least milliseconds between two messages to the page. */
const TELL_MS = 100;
/** The window of the rate, in milliseconds. */
const RATE_MS = 1000;

function rate(): Rate {
  return new Rate(() => performance.now(), RATE_MS);
}

/** Sends the states of the slots to the page while they change. */
export class WeightsNews {
  #rate = rate();
  /** Bytes received when the rate's count began, and at the last message. */
  #base = 0;
  #told = 0;
  #last = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `brought`: the bytes received so far. `post` gets the slots, and the rate in bytes per second. */
  constructor(
    readonly slots: () => Float64Array,
    readonly brought: () => number,
    readonly post: (slots: Float64Array, bytesPerSecond: number) => void,
  ) {}

  /** The slots have changed: sends a message now, or when the last one is old enough. */
  changed(): void {
    const wait = this.#last + TELL_MS - performance.now();
    // A pause is no part of the rate.
    if (wait < -RATE_MS) {
      this.#base = this.#told;
      this.#rate = rate();
    }
    if (wait <= 0) this.tell();
    else this.#timer ??= setTimeout(() => this.tell(), wait);
  }

  tell(): void {
    this.end();
    this.#last = performance.now();
    this.#told = this.brought();
    const bytesPerSecond = this.#rate.perSecond(this.#told - this.#base);
    this.post(this.slots(), bytesPerSecond);
    // When no more bytes arrive, the rate falls to 0, which the page gets, too.
    if (bytesPerSecond > 0) this.#timer = setTimeout(() => this.tell(), TELL_MS);
  }

  /** Sends nothing more until the next changed(). */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
