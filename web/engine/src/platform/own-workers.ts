// Starts the library's two workers in a browser. Each `new Worker` is written once, in the form that bundlers recognize: a second
// one would make a second file. The addresses are those beside dist/index.js, of which this file becomes a part.
import { SluiceError } from '../shared/errors.js';
import type { Started } from './platform.js';
import { startWorker, startWorkerAt, type Made } from './trusted.js';

/** Throws `unsupported_environment` where there are no workers. */
function started(make: () => Made): Started {
  if (typeof globalThis.Worker !== 'function') {
    throw new SluiceError(
      'unsupported_environment',
      'there is no Worker here; use the library in a page of a browser, or in Node',
    );
  }
  return { ...make(), gone: null, keepAlive: () => {} };
}

export const workerFolder: '' | 'node/' = '';

export function startEngineWorker(address: string | null): Started {
  return started(() =>
    address === null
      ? startWorker(
          () =>
            new Worker(new URL('./engine-worker.js', import.meta.url), {
              type: 'module',
              name: 'sluice-engine',
            }),
        )
      : startWorkerAt(address, 'sluice-engine'),
  );
}

/** `name`: what the browser's tools call it. */
export function startLoaderWorker(address: string | null, name = 'sluice-loader'): Started {
  return started(() =>
    address === null
      ? startWorker(
          () =>
            new Worker(new URL('./loader-worker.js', import.meta.url), {
              type: 'module',
              name: 'sluice-loader',
            }),
          name,
        )
      : startWorkerAt(address, name),
  );
}
