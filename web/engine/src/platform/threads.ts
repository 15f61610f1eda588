// The scripts that the engine worker takes in besides its own: Emscripten's, and the threads that it makes.
import { whyNotLoaded } from './own-files.js';
import type { RefusalsLike } from './platform.js';
import { trustedWorker } from './trusted.js';

/**
 * Emscripten's script makes the pool's threads with `new Worker`. This replaces Worker by one that works on pages with
 * trusted types, and that calls `failed` for a thread that does not start.
 */
export function watchThreads(refusals: RefusalsLike, failed: (error: unknown) => void): void {
  globalThis.Worker = trustedWorker((thread, address) => {
    const starting = new AbortController();
    const { signal } = starting;
    thread.addEventListener('message', () => starting.abort(), { signal });
    thread.addEventListener(
      'error',
      (event: ErrorEvent) => {
        // Emscripten's own listener would run after this one and throw the event.
        event.stopImmediatePropagation();
        event.preventDefault();
        const told = event.message || 'its script could not be loaded or run';
        void whyNotLoaded(address, 'worker', refusals).then((fault) =>
          failed(fault ?? new Error(`a thread did not start: ${told}`)),
        );
      },
      { signal },
    );
  });
}

/**
 * The browser's own import(). build.mjs puts this function at the top of the worker's script, with the comments that keep a
 * site's bundler from looking for the file in its own sources. esbuild drops such comments in a source file.
 */
declare function importAsIs(address: string): Promise<unknown>;

export function importScript(address: string): Promise<unknown> {
  return importAsIs(address);
}
