// The one run that the model is busy with: a text or an answer. It knows no engine; engine-lender.ts does.
import { computed, signal } from '@preact/signals';
import type { PromptProgress } from '@sluice/engine';

export type Run = 'idle' | 'waiting' | 'reading' | 'writing' | 'stopping';

export class Runs {
  readonly run = signal<Run>('idle');
  /** How far the prompt is, if it takes long; null otherwise. */
  readonly reading = signal<PromptProgress | null>(null);
  readonly busy = computed(() => this.run.value !== 'idle');
  #abort: AbortController | null = null;
  #end: Promise<void> = Promise.resolve();

  /** Begins a run, which `work` does. There must be none. `work` must not throw. */
  begin(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const mine = (this.#abort = new AbortController());
    this.run.value = 'waiting';
    this.#end = work(mine.signal).finally(() => {
      this.#abort = null;
      this.run.value = 'idle';
      this.reading.value = null;
    });
    return this.#end;
  }

  stop(): void {
    if (this.#abort === null) return;
    this.run.value = 'stopping';
    this.#abort.abort();
  }

  /** Stops what is being written and waits for its end, but leaves one that still waits for a model. */
  async interrupt(): Promise<void> {
    if (this.run.value === 'waiting') return;
    await this.finish();
  }

  /** Stops what is being written, or waits to be, and waits for its end. */
  async finish(): Promise<void> {
    this.stop();
    await this.#end;
  }
}

/** Those of the page. */
export const runs = new Runs();
export const { run, reading, busy } = runs;
export const begin: Runs['begin'] = (work) => runs.begin(work);
export const stop = (): void => runs.stop();
