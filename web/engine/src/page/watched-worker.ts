// A worker of the library, of any kind: it is started and watched, asked and ended here. If it doesn't run, this finds out why:
// browsers say little about that, and Firefox often nothing.
import type { CallMap, FromWorker, ToWorker } from '../shared/calls.js';
import { SluiceError, namedText } from '../shared/errors.js';
import {
  Refusals,
  lifelineCut,
  lifelineName,
  whyNotLoaded,
  withoutOrigin,
} from '../platform/here.js';
import type { Started, WorkerLike } from '../platform/platform.js';
import { makeStops, stopAll, stopCall } from '../shared/stops.js';
import { atMost } from '../shared/promises.js';
import { Caller, type Ask } from '../shared/caller.js';

/** Milliseconds after which the files of a worker that has sent nothing are examined. */
const SILENCE_MS = 5000;

export interface Watch {
  /** The worker's name in error messages. */
  which: string;
  /** What to do when it has ended, in words. */
  remedy: string;
  /** The worker did not start, or it is gone. Called at most once, never after end(). */
  died(error: SluiceError): void;
}

/** The error of a worker that ran and has ended. */
function goneError({ which, remedy }: Watch, why: string): SluiceError {
  return new SluiceError('worker_died', `the ${which} ended unexpectedly (${why}); ${remedy}`, {
    facts: { said: why },
  });
}

function begin(start: () => Started, which: string): Started {
  try {
    return start();
  } catch (cause) {
    if (cause instanceof SluiceError) throw cause;
    throw new SluiceError(
      'unsupported_environment',
      `the ${which} could not be started (${namedText(cause)}); use the library as an ES module, with its files beside it`,
      { facts: { said: namedText(cause) }, cause },
    );
  }
}

/** A worker that answers calls. `Signal`: what is posted to it besides. */
export class WatchedWorker<Calls extends CallMap<Calls>, Signal = never> {
  /** Tells the worker of cancelled calls also while it takes no messages, if it is given this. */
  readonly stops = makeStops();
  readonly #watch: Watch;
  readonly #worker: WorkerLike;
  readonly #keepAlive: Started['keepAlive'];
  /** The address of its script; '' if it isn't known. */
  readonly #address: string;
  readonly #calls: Caller<Calls>;
  readonly #lifeline = lifelineName();
  /** Ends the watching. */
  readonly #ended = new AbortController();
  readonly #refusals = new Refusals(this.#ended.signal);
  #asked = false;
  #heard = false;
  /** Its death is told, or of no interest any more. */
  #quiet = false;
  #gone: Promise<void> | null;

  /** `start`: see own-workers.ts. Throws `unsupported_environment` if the worker can't be made here. */
  constructor(start: () => Started, watch: Watch) {
    this.#watch = watch;
    this.#calls = new Caller((message, transfer) => this.#post(message, transfer));
    try {
      const started = begin(start, watch.which);
      this.#worker = started.worker;
      this.#address = started.address;
      this.#gone = started.gone;
      this.#keepAlive = started.keepAlive;
    } catch (error) {
      this.#ended.abort();
      throw error;
    }
    // A silent worker may only be slow, so only a fault that is found is reported.
    const look = setTimeout(() => void this.#explain('silent worker', null), SILENCE_MS);
    const settled = (): void => clearTimeout(look);
    this.#ended.signal.addEventListener('abort', settled);
    this.#worker.addEventListener('message', ({ data }: MessageEvent<FromWorker<Calls>>) => {
      settled();
      this.#heard = true;
      if (data.type === 'alive') this.#follow();
      else this.#calls.receive(data);
    });
    this.#worker.addEventListener('error', (event) => {
      // Handled here: the console belongs to the page.
      event.preventDefault();
      settled();
      const why = event.message || 'its file could not be loaded or run';
      if (this.#heard || this.#address === '') this.#died(goneError(watch, why));
      else void this.#explain('worker', why);
    });
  }

  /** Asks for a call, and returns its result. */
  get ask(): Ask<Calls> {
    return this.#calls.ask;
  }

  /** The number of calls that have not ended. */
  get open(): number {
    return this.#calls.open;
  }

  /** Resolves when the worker is gone; null if that can't be known. */
  get gone(): Promise<void> | null {
    return this.#gone;
  }

  /** Posts what is no call. */
  signal(message: Signal): void {
    this.#worker.postMessage(message);
  }

  /** Rejects all calls that have not ended, and ignores what else the worker says of them. */
  reject(error: unknown): void {
    stopAll(this.stops);
    this.#calls.reject(error);
  }

  /** Whether it keeps the program running; at first it does. */
  keepAlive(on: boolean): void {
    this.#keepAlive(on);
  }

  /** From now on the worker's end is no death. */
  quiet(): void {
    this.#quiet = true;
  }

  /** Ends the worker. Resolves when it is gone, if that can be known, but after `patience` milliseconds at most. */
  async end(patience = 0): Promise<void> {
    this.#quiet = true;
    this.#worker.terminate();
    if (patience > 0 && this.#gone !== null) await atMost(patience, this.#gone);
    this.#ended.abort();
  }

  #post(message: ToWorker<Calls>, transfer: Transferable[]): void {
    if (message.type === 'cancel') stopCall(this.stops, message.id);
    const first = message.type === 'call' && !this.#asked;
    this.#asked = true;
    this.#worker.postMessage(first ? { ...message, lifeline: this.#lifeline } : message, transfer);
  }

  /** The worker holds its lifeline: waits until that is cut. */
  #follow(): void {
    if (this.#lifeline === '' || this.#gone !== null) return;
    this.#gone = lifelineCut(this.#lifeline, this.#ended.signal);
    void this.#gone.then(() => this.#died(goneError(this.#watch, 'it is gone')));
  }

  async #explain(script: 'worker' | 'silent worker', why: string | null): Promise<void> {
    // Firefox reports a refused worker with an error event.
    const alone = why === null ? null : withoutOrigin();
    const fault = alone ?? (await whyNotLoaded(this.#address, script, this.#refusals));
    if (fault !== null) this.#died(fault);
    else if (why !== null) this.#died(goneError(this.#watch, why));
  }

  #died(error: SluiceError): void {
    if (this.#quiet) return;
    this.#quiet = true;
    this.#watch.died(error);
  }
}
