// The threads of a module: workers that the engine worker has made. They end before it does.
//
// Chromium (156) often doesn't end a worker whose own workers end at the same moment: both stay for good, and with them
// the memory of the model. So the threads are ended first, and the engine worker lives on until they are gone. No event
// tells of that. With 5 ms between the two none of 300 stayed on a busy machine; with none, one in ten did. (A thread
// that is starting is ended once it has started.)
import type { ModuleOptions, SluiceModule } from '../../../wasm/module.js';

/** Milliseconds between the end of the threads and that of the worker that made them. */
const GONE_MS = 30;

export class Pool {
  #threads: ModuleOptions['PThread'];
  #started: Promise<unknown> = Promise.resolve();
  #ended = false;

  /** `size`: how many threads there are beside the engine worker's own. */
  constructor(readonly size: number) {}

  /** Makes the module with its threads; never settles where the pool has ended: its worker is about to. */
  start(
    make: (options: ModuleOptions) => Promise<SluiceModule>,
    options: ModuleOptions,
  ): Promise<SluiceModule> {
    if (this.#ended) return new Promise(() => {});
    const started = make(options);
    this.#threads = options.PThread;
    this.#started = started.catch(() => {});
    return started;
  }

  /** Ends the threads. Resolves when the engine worker may end, too. */
  async end(): Promise<void> {
    this.#ended = true;
    if (this.#threads === undefined || this.size === 0) return;
    await this.#started;
    this.#threads.terminateAllThreads();
    await new Promise((gone) => setTimeout(gone, GONE_MS));
  }
}
