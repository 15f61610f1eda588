// The one run that the model is busy with: a text or an answer. It knows no engine; model/use.ts does.
import { computed, signal } from '@preact/signals';
import type { PromptProgress } from '@sluice/engine';

export type Run = 'idle' | 'waiting' | 'reading' | 'writing' | 'stopping';

export const run = signal<Run>('idle');
/** How far the prompt is, if it takes long; null otherwise. */
export const reading = signal<PromptProgress | null>(null);
export const busy = computed(() => run.value !== 'idle');

let abort: AbortController | null = null;
let end: Promise<void> = Promise.resolve();

/** Begins a run, which `work` does. There must be none. `work` must not throw. */
export function begin(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const mine = (abort = new AbortController());
  run.value = 'waiting';
  end = work(mine.signal).finally(() => {
    abort = null;
    run.value = 'idle';
    reading.value = null;
  });
  return end;
}

export function stop(): void {
  if (abort === null) return;
  run.value = 'stopping';
  abort.abort();
}

/** Stops what is being written and waits for its end, but leaves one that still waits for a model. */
export async function interrupt(): Promise<void> {
  if (run.value === 'waiting') return;
  stop();
  await end;
}

/** Stops what is being written, or waits to be, and waits for its end. */
export async function finish(): Promise<void> {
  stop();
  await end;
}
