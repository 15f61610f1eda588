// Long work in slices, so that the page stays quick meanwhile.

/** Milliseconds of work between two pauses. */
export const SLICE_MS = 12;

export interface PaceOptions {
  now?: () => number;
  /** Lets the page do what it has to. */
  pause?: () => Promise<void>;
}

/** Pauses whenever the work since the last pause has taken a slice. */
export class Pace {
  readonly #now: () => number;
  readonly #pause: () => Promise<void>;
  #since: number;

  constructor({ now, pause }: PaceOptions = {}) {
    this.#now = now ?? (() => performance.now());
    this.#pause = pause ?? (() => new Promise((resolve) => setTimeout(resolve)));
    this.#since = this.#now();
  }

  async keep(): Promise<void> {
    if (this.#now() - this.#since < SLICE_MS) return;
    await this.#pause();
    this.#since = this.#now();
  }
}
