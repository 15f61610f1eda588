// Engine.measure: how fast an engine in this browser decodes. Measurements run one after the other.
import { SluiceError, abortReason, toldError } from './errors.js';
import { chooseFlavour, detectAbilities, processors, type Choice } from './flavours.js';
import { takeMeasureOptions } from './options.js';
import { onAbort, unlessAborted } from './promises.js';
import type { DecodeRate, MeasureOptions } from './types.js';
import { Workers, type StartRequest } from './workers.js';

/** Resolves when the last measurement has ended, and its worker is gone. */
let last: Promise<unknown> = Promise.resolve();

/** Starts a worker without a model, and ends it after the measurement. */
async function measureRate(
  { flavour, threads }: Choice,
  signal: AbortSignal | undefined,
): Promise<DecodeRate> {
  let workers: Workers | undefined;
  let release = (): void => {};
  try {
    return await new Promise<DecodeRate>((resolve, reject) => {
      release = onAbort(signal, reject);
      const onMessage: StartRequest['onMessage'] = (message) => {
        if (message.type === 'measured') resolve({ ...message.rate, threads });
        if (message.type === 'failed') reject(toldError(message.error));
      };
      workers = new Workers({ flavour, threads, onMessage, onDeath: reject }, null);
    });
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
