// The threads of the engine worker in Node. Emscripten's script makes them: it sets globalThis.Worker to that of worker_threads,
// and calls it with the address in FlavourFiles.thread.
//
// That is why globalThis is changed here, in the engine worker alone: the class below stays what Worker is. It takes an address
// with a fragment, which Node's takes for a part of the file's name, and starts thread.ts, which reports a trap and imports
// Emscripten's script.
import { Worker } from 'node:worker_threads';
import type { RefusalsLike } from '../platform/platform.js';
import { fileBeside } from './own-files.js';

export function watchThreads(_refusals: RefusalsLike, failed: (error: unknown) => void): void {
  class Thread extends Worker {
    #started = false;

    constructor(url: string | URL, { workerData }: { workerData: unknown }) {
      const address = new URL(url);
      const channel = address.hash.slice(1);
      address.hash = '';
      super(fileBeside('thread.js'), {
        name: 'sluice-thread',
        workerData,
        argv: [channel, address.href],
        execArgv: [],
      });
      this.once('message', () => {
        this.#started = true;
      });
    }

    /** Emscripten's own listener would throw the error. Once the thread runs, it reports its errors itself. */
    override emit(event: string | symbol, ...values: unknown[]): boolean {
      if (event !== 'error' || this.#started) return super.emit(event, ...values);
      const [error] = values;
      const told = error instanceof Error ? error.message : String(error);
      failed(new Error(`a thread did not start: ${told}`));
      return true;
    }
  }
  Object.defineProperty(globalThis, 'Worker', {
    configurable: true,
    get: () => Thread,
    set: () => {},
  });
}
