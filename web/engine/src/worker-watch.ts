// Starts a worker of the library, and finds out why it doesn't run: browsers say little about that, and Firefox often nothing.
import { SluiceError, namedText } from './errors.js';
import { whyNotLoaded, withoutOrigin, type Refusals } from './own-files.js';
import type { Started } from './trusted.js';

/** Milliseconds after which the files of a worker that has sent nothing are examined. */
const SILENCE_MS = 5000;

export interface WorkerWatch {
  /** The worker's name in error messages. */
  which: string;
  /** What to do when it has ended, in words. */
  remedy: string;
  refusals: Refusals;
  /** Ends the watch. */
  until: AbortSignal;
  /** The worker did not start, or it is gone. May be called more than once. */
  died(error: SluiceError): void;
}

/** The error of a worker that ran and has ended. */
export function goneError(
  { which, remedy }: Pick<WorkerWatch, 'which' | 'remedy'>,
  why: string,
): SluiceError {
  return new SluiceError('worker_died', `the ${which} ended unexpectedly (${why}); ${remedy}`, {
    facts: { said: why },
  });
}

function begin(start: () => Started, which: string): Started {
  if (typeof globalThis.Worker !== 'function') {
    throw new SluiceError(
      'unsupported_environment',
      `the ${which} can't be started: there is no Worker here; use the library in a page of a browser`,
    );
  }
  try {
    return start();
  } catch (cause) {
    if (cause instanceof SluiceError) throw cause;
    throw new SluiceError(
      'unsupported_environment',
      `the ${which} could not be started (${namedText(cause)}); use the library as an ES module, with its files beside it`,
      { facts: { said: namedText(cause) }, cause },
    );
  }
}

/** Starts a worker (own-workers.ts) and watches it. Throws `unsupported_environment` if it can't be made here. */
export function startWatched(start: () => Started, watch: WorkerWatch): Worker {
  const { which, refusals, until, died } = watch;
  const { worker, address } = begin(start, which);
  let started = false;
  // A silent worker may only be slow, so only a fault that is found is reported.
  const look = setTimeout(() => void tell('silent worker', null), SILENCE_MS);
  const settled = (): void => clearTimeout(look);
  const tell = async (script: 'worker' | 'silent worker', why: string | null): Promise<void> => {
    // Firefox reports a refused worker with an error event.
    const alone = why === null ? null : withoutOrigin();
    const fault = alone ?? (await whyNotLoaded(address, script, refusals));
    if (fault !== null) died(fault);
    else if (why !== null) died(goneError(watch, why));
  };
  until.addEventListener('abort', settled);
  worker.addEventListener('message', () => {
    started = true;
    settled();
  });
  worker.addEventListener('error', (event) => {
    // Handled here: the console belongs to the page.
    event.preventDefault();
    settled();
    const why = event.message || 'its file could not be loaded or run';
    if (started || address === '') died(goneError(watch, why));
    else void tell('worker', why);
  });
  return worker;
}
