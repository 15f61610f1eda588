// The threads of a module: workers that the engine worker starts. They end before it does.
//
// Chromium (156) often fails to end a worker that is terminated just after one of its own workers: both stay for good,
// and so does the model's memory. So the threads are ended first, and the engine worker only when they are gone. Each
// thread holds a lock while it can run. It needs some milliseconds more to be gone, and nothing reports that. Without a
// pause after the lock, 2 of 300 stayed on a busy machine; with a pause of 5 ms, none. (A thread that is starting is
// ended after it has started.)
import type { ModuleOptions, SluiceModule } from '../../../../wasm/module.js';
import { hasLifelines, lifelineCut } from '../platform/here.js';

/** Milliseconds to wait for the locks at most: a thread that never stops running keeps its lock. */
const LOCKED_MS = 1000;
/** The pause between the last lock and the end of the engine worker, in milliseconds. */
const GONE_MS = { least: 30, most: 500 };
/** The pause divided by the time that the locks took: both grow when the machine is busy. */
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
   * `size`: the number of threads besides the engine worker. `lock`: the name of the lock that each of them holds; ''
   * for none.
   */
  constructor(
    readonly size: number,
    readonly lock: string,
  ) {}

  /** Makes the module with its threads. Never settles if the pool has ended: its worker ends soon. */
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

  /** A thread did not start, so the module never becomes ready. */
  broke(): void {
    this.#break();
  }

  /** Ends the threads. Resolves when the engine worker can be ended, too. */
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

  /** Resolves when no thread holds the lock, or after LOCKED_MS. */
  async #unlocked(): Promise<void> {
    if (this.lock === '' || !hasLifelines()) return;
    const patience = new AbortController();
    const timer = setTimeout(() => patience.abort(), LOCKED_MS);
    const late = new Promise((end) => patience.signal.addEventListener('abort', end));
    await Promise.race([lifelineCut(this.lock, patience.signal), late]);
    clearTimeout(timer);
  }
}
