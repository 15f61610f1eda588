// The threads of a module: workers that the engine worker has made. They end before it does.
//
// Chromium (156) often doesn't end a worker that is told to while the news is on its way to it that one of its own
// workers has ended: both stay for good, and with them the memory of the model. So the threads are ended first, and the
// engine worker lives on until they are gone. Each holds a lock while it can run. The rest of its end takes some
// milliseconds more, of which nothing tells: of 300 on a busy machine 2 stayed without a pause behind the lock, none with
// one of 5 ms. (A thread that is starting is ended once it has started.)
import type { ModuleOptions, SluiceModule } from '../../../wasm/module.js';
import { lifelineCut } from './lifeline.js';

/** How long the locks are waited for, in milliseconds: a thread that never comes to rest keeps its own. */
const LOCKED_MS = 1000;
/** Milliseconds between the last lock and the end of the worker that made the threads, at least and at most. */
const GONE_MS = { least: 30, most: 500 };
/** That pause over the time that the locks took: both grow with what else the machine does. */
const GONE_OVER_LOCKED = 4;

export class Pool {
  #threads: ModuleOptions['PThread'];
  #started: Promise<unknown> = Promise.resolve();
  #ended = false;
  #break!: () => void;
  readonly #broken = new Promise<void>((resolve) => {
    this.#break = resolve;
  });

  /**
   * `size`: how many threads there are beside the engine worker's own. `lock`: the name of what each of them holds; ''
   * where there is none.
   */
  constructor(
    readonly size: number,
    readonly lock: string,
  ) {}

  /** Makes the module with its threads; never settles where the pool has ended: its worker is about to. */
  start(
    make: (options: ModuleOptions) => Promise<SluiceModule>,
    options: ModuleOptions,
  ): Promise<SluiceModule> {
    if (this.#ended) return new Promise(() => {});
    const started = make(options);
    this.#threads = options.PThread;
    this.#started = Promise.race([started.catch(() => {}), this.#broken]);
    return started;
  }

  /** A thread did not start: its module never gets ready. */
  broke(): void {
    this.#break();
  }

  /** Ends the threads. Resolves when the engine worker may end, too. */
  async end(): Promise<void> {
    this.#ended = true;
    if (this.#threads === undefined || this.size === 0) return;
    await this.#started;
    const asked = performance.now();
    this.#threads.terminateAllThreads();
    await this.#unlocked();
    const pause = GONE_OVER_LOCKED * (performance.now() - asked);
    const ms = Math.min(GONE_MS.most, Math.max(GONE_MS.least, pause));
    await new Promise((gone) => setTimeout(gone, ms));
  }

  /** Resolves when no thread holds the lock. */
  async #unlocked(): Promise<void> {
    if (this.lock === '' || globalThis.navigator?.locks === undefined) return;
    const patience = new AbortController();
    const timer = setTimeout(() => patience.abort(), LOCKED_MS);
    const late = new Promise((end) => patience.signal.addEventListener('abort', end));
    await Promise.race([lifelineCut(this.lock, patience.signal), late]);
    clearTimeout(timer);
  }
}
