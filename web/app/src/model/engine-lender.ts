// Lends the engine to texts and answers: waits for a model that is being loaded, goes on with the next engine
// if a load fails, and tells the reader what went wrong.
import { batch, effect } from '@preact/signals';
import { SluiceError, type PromptProgress } from '@sluice/engine';
import type { LoadedEngine, ModelController } from './controller';
import { isInUse, shownIn } from './phases';
import type { Runs } from './run';
import type { Source } from './source';

/** Milliseconds between two updates of the figures: nobody can read faster ones. */
const FIGURES_MS = 200;

export type Lent<E> =
  | { kind: 'done'; by: E }
  /** Stopped; `by` is null if no model had begun. */
  | { kind: 'aborted'; by: E | null }
  /** There is no model. */
  | { kind: 'none' }
  /** The reader has been told (`problem`). */
  | { kind: 'failed' };

export class EngineLender<E extends LoadedEngine> {
  readonly #models: ModelController<E>;
  readonly #runs: Runs;

  constructor(models: ModelController<E>, runs: Runs) {
    this.#models = models;
    this.#runs = runs;
  }

  /** The engine to use, once no load keeps it from starting; null if there is none. Rejects when `signal` aborts. */
  readonly engineWhenReady = async (signal: AbortSignal): Promise<E | null> => {
    const { phase, currentEngine } = this.#models;
    await until(signal, () => {
      const { kind } = phase.value;
      return shownIn(phase.value) !== null || (kind !== 'loading' && kind !== 'seeking');
    });
    return currentEngine();
  };

  /**
   * For withEngine(): waits for the engine of the model that the reader has chosen, until that can be used. A pause of its
   * load is waited for. Null: it did not come, or there is none; another one is no substitute.
   */
  readonly chosenModel = (): ((signal: AbortSignal) => Promise<E | null>) => {
    const { loading, model, paused, sought, currentEngine } = this.#models;
    const chosen = (): Source | undefined => loading.peek()?.source ?? model.peek()?.source;
    let wanted = chosen();
    return async (signal) => {
      await until(signal, () => {
        const coming = loading.value;
        if (wanted !== undefined && paused.value?.source === wanted) return false;
        if (coming === null) return sought.value === null;
        // The load has failed, and the model before it comes back: perhaps that is another one.
        if (coming.back) return coming.source !== wanted;
        wanted = coming.source;
        return isInUse(coming);
      });
      wanted ??= chosen();
      return model.peek()?.source === wanted ? currentEngine() : null;
    };
  };

  /**
   * Calls `work` with the engine that `from` gives. If a load fails that had brought this engine, calls it again with the
   * next one. Never rejects.
   */
  readonly withEngine = async (
    signal: AbortSignal,
    work: (by: E) => Promise<void>,
    from = this.engineWhenReady,
  ): Promise<Lent<E>> => {
    const models = this.#models;
    let by: E | null = null;
    try {
      do {
        this.#runs.run.value = 'waiting';
        by = await from(signal);
        // If a load fails, its engine is gone: go on with the next one, or with the previous one.
      } while (by !== null && !(await this.#worked(by, signal, work)));
      return by === null ? { kind: 'none' } : { kind: 'done', by };
    } catch (error) {
      if (signal.aborted)
        return { kind: 'aborted', by: by !== null && models.isShown(by) ? by : null };
      const dead = error instanceof SluiceError && error.code === 'worker_died';
      const source = models.model.peek()?.source ?? null;
      if (dead) await models.bury();
      else models.showStats();
      models.fail(error, dead ? source : null);
      return { kind: 'failed' };
    }
  };

  /** For `onPromptProgress`. */
  readonly onReading = (progress: PromptProgress): void => {
    this.#runs.reading.value = progress;
  };

  /** To be called with each token: with the first, reading ends and writing begins. */
  readonly onToken = (by: E): void => {
    const { run, reading } = this.#runs;
    if (run.peek() !== 'reading') return;
    batch(() => {
      run.value = 'writing';
      reading.value = null;
      this.#models.showStats(by);
    });
  };

  /** Returns false if the load of this engine failed, which the load itself reports. */
  async #worked(by: E, signal: AbortSignal, work: (by: E) => Promise<void>): Promise<boolean> {
    const { isShown, showStats } = this.#models;
    const { run, reading } = this.#runs;
    run.value = 'reading';
    const looks = setInterval(() => showStats(by), FIGURES_MS);
    try {
      await work(by);
      return true;
    } catch (error) {
      if (!signal.aborted && !isShown(by)) return false;
      throw error;
    } finally {
      clearInterval(looks);
      reading.value = null;
      if (isShown(by)) showStats(by);
    }
  }
}

/** Waits until `holds`, which reads signals. Rejects when `signal` aborts. */
function until(signal: AbortSignal, holds: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      dispose();
      signal.removeEventListener('abort', onAbort);
    };
    const onAbort = (): void => {
      settle();
      reject(new SluiceError('aborted', 'stopped by the reader'));
    };
    signal.addEventListener('abort', onAbort);
    const dispose = effect(() => {
      if (!holds()) return;
      queueMicrotask(() => {
        settle();
        resolve();
      });
    });
  });
}
