// Engine.measure: how fast an engine in this browser decodes. Measurements run one after the other.
import { SluiceError, abortReason } from '../shared/errors.js';
import { processors } from '../platform/here.js';
import { chooseFlavour, detectAbilities, type Choice } from './flavours.js';
import { takeMeasureOptions } from './options.js';
import { deferred, onAbort, unlessAborted } from '../shared/promises.js';
import type { DecodeRate, MeasureOptions } from '../shared/types.js';
import { Workers } from './workers.js';

/** Resolves when the last measurement has ended, and its worker is gone. */
let last: Promise<unknown> = Promise.resolve();

/** Starts a worker without a model, and ends it after the measurement. */
async function measureRate(
  { flavour, threads }: Choice,
  signal: AbortSignal | undefined,
): Promise<DecodeRate> {
  let workers: Workers | undefined;
  const { promise: ended, reject } = deferred<never>();
  const release = onAbort(signal, reject);
  try {
    workers = new Workers({ flavour, threads, onDeath: reject });
    return { ...(await Promise.race([workers.measure(), ended])), threads };
  } finally {
    release();
    await workers?.end();
  }
}

/** `busy`: whether an engine of this page is at work. */
export async function measureDecoding(
  options: MeasureOptions,
  busy: () => boolean,
): Promise<DecodeRate> {
  const { signal } = takeMeasureOptions(options);
  const choice = chooseFlavour(undefined, undefined, detectAbilities(), processors());
  const rate = last.then(() => {
    if (signal?.aborted) throw abortReason(signal);
    if (busy())
      throw new SluiceError(
        'busy',
        'an engine of this page loads or computes; measure before or after that',
      );
    return measureRate(choice, signal);
  });
  last = rate.catch(() => {});
  // An abort rejects at once, without waiting for earlier measurements or for the worker's end.
  return await unlessAborted(rate, signal);
}
