// The loader worker that answers the calls of `cache` and `states`. (Apart from these: the public types name nothing of the calls.)
import { ifStillThere } from '../platform/here.js';
import type { Ask } from '../shared/caller.js';
import type { LoaderCalls } from '../shared/calls.js';
import { startLoaderWorker } from './own-workers.js';
import { WatchedWorker } from './watched-worker.js';

/** Milliseconds that an idle worker waits for the next call before it ends. */
const IDLE_MS = 2000;

/** A loader worker that answers calls of the cache. It ends when none has come for a while. */
export class CacheWorker {
  readonly #worker: WatchedWorker<LoaderCalls>;
  readonly #gone: () => void;
  #over = false;
  /** Calls the end after IDLE_MS off. */
  #stay: () => void = () => {};

  /** `gone`: called when the worker has ended. */
  constructor(gone: () => void = () => {}) {
    this.#gone = gone;
    this.#worker = new WatchedWorker(() => startLoaderWorker('sluice-cache'), {
      which: 'worker of the cache',
      remedy: 'try again',
      died: (error) => {
        this.end();
        this.#worker.reject(error);
      },
    });
  }

  /** May be called again. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#stay();
    void this.#worker.end();
    this.#gone();
  }

  readonly ask: Ask<LoaderCalls> = async (name, args, options) => {
    this.#stay();
    this.#worker.keepAlive(true);
    try {
      return await this.#worker.ask(name, args, options);
    } finally {
      if (this.#worker.open === 0 && !this.#over) {
        this.#worker.keepAlive(false);
        this.#stay = ifStillThere(() => this.end(), IDLE_MS);
      }
    }
  };
}

let shared: CacheWorker | null = null;

/** Sends a call to the worker that all calls share. */
export const ask: Ask<LoaderCalls> = async (name, args, options) => {
  shared ??= new CacheWorker(() => {
    shared = null;
  });
  return shared.ask(name, args, options);
};
