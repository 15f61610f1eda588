// Starts the library's two workers. Each `new Worker` is written once, in the form that bundlers recognize: a second one would
// make a second file.
import { workerAddress } from './configure.js';
import { startWorker, startWorkerAt, type Started } from './trusted.js';

export function startEngineWorker(): Started {
  const address = workerAddress('engine-worker.js');
  if (address !== null) return startWorkerAt(address, 'sluice-engine');
  return startWorker(
    () =>
      new Worker(new URL('./engine-worker.js', import.meta.url), {
        type: 'module',
        name: 'sluice-engine',
      }),
  );
}

/** `name`: what the browser's tools call it. */
export function startLoaderWorker(name = 'sluice-loader'): Started {
  const address = workerAddress('loader-worker.js');
  if (address !== null) return startWorkerAt(address, name);
  return startWorker(
    () =>
      new Worker(new URL('./loader-worker.js', import.meta.url), {
        type: 'module',
        name: 'sluice-loader',
      }),
    name,
  );
}
