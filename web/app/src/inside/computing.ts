// Computes afterwards what the tokens of a text were chosen from, where nobody looked while it was written.
import { batch, signal } from '@preact/signals';
import type { Chain } from './chain';
import type { Insight } from './library';
import { MOST_KEPT } from './trace';

export interface Computed {
  done: number;
  total: number;
}

export class Computing {
  /** How far it is; null: nothing is being computed. */
  readonly progress = signal<Computed | null>(null);
  /** The last attempt failed. */
  readonly failed = signal(false);
  #abort: AbortController | null = null;

  stop(): void {
    this.#abort?.abort();
    this.#abort = null;
    this.progress.value = null;
  }

  /** Fills in what is missing. Resolves when it is there, or was stopped, or failed. */
  async run(by: Insight, chain: Chain): Promise<void> {
    this.stop();
    this.failed.value = false;
    const from = chain.missing();
    const total = chain.length;
    if (from === null) return;
    const abort = (this.#abort = new AbortController());
    const { signal: stopped } = abort;
    let done = from;
    this.progress.value = { done, total };
    try {
      const options = { from: chain.prompt.length + from, top: MOST_KEPT, signal: stopped };
      for await (const raw of by.rawLogits(chain.ids(total), options)) {
        if (stopped.aborted) return;
        chain.learn(done, raw);
        done += 1;
        batch(() => {
          this.progress.value = { done, total };
          chain.log.version.value += 1;
        });
      }
    } catch (error) {
      if (stopped.aborted) return;
      console.error(error);
      this.failed.value = true;
    } finally {
      if (this.#abort === abort) {
        this.#abort = null;
        this.progress.value = null;
      }
    }
  }
}
