// Lends the engine to texts and answers: waits for a model that is being loaded, goes on with the next engine
// if a load fails, and tells the reader what went wrong.
import { batch } from '@preact/signals';
import { SluiceError, type Engine, type PromptProgress } from '@sluice/engine';
import { reading, run } from '../run';
import { buryEngine, engineWhenReady, fail, isShown, model, refreshStats, stats } from './state';

/** Milliseconds between two updates of the figures: nobody can read faster ones. */
const FIGURES_MS = 200;

export type Outcome =
  | { kind: 'done'; by: Engine }
  /** Stopped; `by` is null if no model had begun. */
  | { kind: 'aborted'; by: Engine | null }
  /** There is no model. */
  | { kind: 'none' }
  /** The reader has been told (`problem`). */
  | { kind: 'failed' };

/**
 * Calls `work` with the engine that `from` gives. If a load fails that had brought this engine, calls it again with the
 * next one. Never rejects.
 */
export async function withEngine(
  signal: AbortSignal,
  work: (by: Engine) => Promise<void>,
  from = engineWhenReady,
): Promise<Outcome> {
  let by: Engine | null = null;
  try {
    do {
      run.value = 'waiting';
      by = await from(signal);
      // If a load fails, its engine is gone: go on with the next one, or with the previous one.
    } while (by !== null && !(await worked(by, signal, work)));
    return by === null ? { kind: 'none' } : { kind: 'done', by };
  } catch (error) {
    if (signal.aborted) return { kind: 'aborted', by: by !== null && isShown(by) ? by : null };
    const dead = error instanceof SluiceError && error.code === 'worker_died';
    const source = model.value?.source ?? null;
    if (dead) await buryEngine();
    else refreshStats();
    fail(error, dead ? source : null);
    return { kind: 'failed' };
  }
}

/** Returns false if the load of this engine failed, which the load itself reports. */
async function worked(
  by: Engine,
  signal: AbortSignal,
  work: (by: Engine) => Promise<void>,
): Promise<boolean> {
  run.value = 'reading';
  const looks = setInterval(() => {
    stats.value = by.stats;
  }, FIGURES_MS);
  try {
    await work(by);
    return true;
  } catch (error) {
    if (!signal.aborted && !isShown(by)) return false;
    throw error;
  } finally {
    clearInterval(looks);
    reading.value = null;
    if (isShown(by)) stats.value = by.stats;
  }
}

/** For `onPromptProgress`. */
export function onReading(progress: PromptProgress): void {
  reading.value = progress;
}

/** To be called with each token: with the first, reading ends and writing begins. */
export function onToken(by: Engine): void {
  if (run.value !== 'reading') return;
  batch(() => {
    run.value = 'writing';
    reading.value = null;
    stats.value = by.stats;
  });
}
