// Keeps the end of what grows in view, until the reader scrolls away from it. The page itself scrolls.
import { signal } from '@preact/signals';

/** What the page moves by itself. */
const STILL_PX = 4;
/** So many milliseconds after a turn of the wheel or a finger's movement it is the reader who scrolls. */
const READER_MS = 500;

export class Follower {
  /** Whether the page keeps the end in view. */
  readonly following = signal(true);
  readonly #left: () => number;
  readonly #near: number;
  /** Where the page was, and how high, when this object last looked. */
  #last = 0;
  #height = 0;
  /** When the reader last moved the wheel or a finger. */
  #moved = -Infinity;

  /**
   * `left`: how many pixels the end is below its lowest place in view; 0 or less: it is seen. `near`: if the reader scrolls
   * down to within so many pixels of the end, the page follows again.
   */
  constructor(left: () => number, near: number) {
    this.#left = left;
    this.#near = near;
  }

  /** Scrolls down to the end if the page follows. Never scrolls up. */
  readonly keepUp = (): void => {
    if (!this.following.peek()) return;
    const left = this.#left();
    if (left > 0) window.scrollBy({ top: left, behavior: 'instant' });
    this.#look();
  };

  /** Scrolls to the end, and follows it from then on. */
  readonly toTheEnd = (): void => {
    this.following.value = true;
    this.keepUp();
  };

  /** Watches the reader's scrolling. Returns what ends that. */
  watch(): () => void {
    const abort = new AbortController();
    const options = { passive: true, signal: abort.signal };
    window.addEventListener('scroll', this.#onScroll, options);
    for (const event of ['wheel', 'touchmove']) {
      window.addEventListener(event, () => (this.#moved = performance.now()), options);
    }
    return () => abort.abort();
  }

  #look(): void {
    this.#last = window.scrollY;
    this.#height = document.documentElement.scrollHeight;
  }

  readonly #onScroll = (): void => {
    // What gets shorter moves the page up as well: then it was not the reader, as far as is known.
    const same =
      document.documentElement.scrollHeight >= this.#height ||
      performance.now() - this.#moved < READER_MS;
    const up = window.scrollY < this.#last - 1;
    // The last steps of a movement upwards may be smaller than a pixel: they are not the way back.
    const down = window.scrollY > this.#last;
    this.#look();
    if (up && same && this.#left() > STILL_PX) this.following.value = false;
    else if (down && this.#left() <= this.#near) this.following.value = true;
    else if (!same) this.keepUp();
  };
}
