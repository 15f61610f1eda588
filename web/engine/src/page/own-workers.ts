// Starts the library's two workers: their scripts lie beside the library's, or where `configure` says.
import * as platform from '../platform/here.js';
import type { Started } from '../platform/platform.js';
import { workerAddress } from './configure.js';

export function startEngineWorker(): Started {
  return platform.startEngineWorker(workerAddress('engine-worker.js'));
}

/** `name`: what tools for developers call it. */
export function startLoaderWorker(name?: string): Started {
  return platform.startLoaderWorker(workerAddress('loader-worker.js'), name);
}
