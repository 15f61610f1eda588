// Work of the model that the reader asks for: one piece of it at a time, with how far it is, and an end at any time.
import { batch, signal } from '@preact/signals';

export interface Progress {
  done: number;
  total: number;
}

export class OnDemand<Result> {
  /** How far it is; `total` 0: that is not known yet. Null: nothing is being computed. */
  readonly progress = signal<Progress | null>(null);
  /** The last attempt failed. */
  readonly failed = signal(false);
  /** What was computed last; null: nothing, or it is forgotten. */
  readonly result = signal<Result | null>(null);
  #abort: AbortController | null = null;

  /**
   * Computes. What is being computed is stopped first; the result of before stays until there is a new one. Resolves when it is
   * there, or was stopped, or failed.
   */
  async run(
    work: (signal: AbortSignal, tell: (progress: Progress) => void) => Promise<Result>,
  ): Promise<void> {
    this.stop();
    const mine = (this.#abort = new AbortController());
    batch(() => {
      this.failed.value = false;
      this.progress.value = { done: 0, total: 0 };
    });
    try {
      const result = await work(mine.signal, (progress) => {
        if (this.#abort === mine) this.progress.value = progress;
      });
      if (this.#abort !== mine) return;
      batch(() => {
        this.result.value = result;
        this.#ended();
      });
    } catch (error) {
      if (this.#abort !== mine) return;
      console.error(error);
      batch(() => {
        this.failed.value = true;
        this.#ended();
      });
    }
  }

  #ended(): void {
    this.#abort = null;
    this.progress.value = null;
  }

  stop(): void {
    this.#abort?.abort();
    this.#ended();
  }

  /** Stops, and forgets what was computed. */
  forget(): void {
    batch(() => {
      this.stop();
      this.failed.value = false;
      this.result.value = null;
    });
  }
}
