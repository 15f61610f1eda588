// Starts, watches and ends the two workers of an engine.
import { stoppedWorking, type SluiceError } from './errors.js';
import { lifelineCut, lifelineName, uniqueName } from './lifeline.js';
import { compileEarly } from './module.js';
import { Refusals } from './own-files.js';
import { runBytesLoader, runResponseLoader } from './page-loader.js';
import { filesOf } from './files.js';
import { serveFetch } from './net/page-fetch.js';
import { startEngineWorker, startLoaderWorker } from './own-workers.js';
import type {
  Course,
  FlavourFiles,
  FromEngine,
  FromLoader,
  LoaderSource,
  Patiences,
  ToEngine,
  ToLoader,
} from './protocol.js';
import type { Resolved } from './sources.js';
import type { Started } from './trusted.js';
import type { Flavour } from './types.js';
import { goneError, startWatched } from './worker-watch.js';

/**
 * The most milliseconds that close() waits for the engine worker to end its threads, as it may still be starting, and for the
 * loader worker to close its files. That takes a while on a busy machine, and without it a refused file would stay.
 */
const GENTLE_MS = 2000;
/** The most milliseconds for a loader worker to close its files after close() has resolved: a refused file must not stay. */
const LEAVE_MS = 30_000;
/** As GENTLE_MS, after a trap, when the worker may not answer. */
const TRAPPED_MS = 250;
/** Milliseconds that close() then waits at most for the worker to be gone. */
const GONE_MS = 1000;

/** A worker's name in error messages. */
const named = (which: string): { which: string; remedy: string } => ({
  which: `${which} worker`,
  remedy: 'load the model again',
});

/** The fields that start any engine worker. */
export interface StartRequest {
  flavour: Flavour;
  threads: number;
  onMessage(message: Exclude<FromEngine, { type: 'alive' | 'closed' }>): void;
  /** A worker is gone or could not be started. Called at most once, never after end(). */
  onDeath(error: SluiceError): void;
}

export interface OpenRequest extends StartRequest {
  source: Resolved;
  probe: boolean;
  options: string;
  patiences: Patiences;
  /** Whether 'weights' messages are wanted. */
  weights: boolean;
  /** The progress of a download. */
  onCourse(course: Course): void;
  /** A download into the cache begins. */
  onKeeping(): void;
}

export class Workers {
  readonly #engine: Worker;
  #loader: Worker | null = null;
  /** If the page itself is the loader: its port to the engine worker, and what ends its reading. */
  #pagePort: MessagePort | null = null;
  readonly #readingEnded = new AbortController();
  /** Resolves when the loader worker has closed its files. */
  readonly #loaderOver: Promise<void>;
  #tellOver!: () => void;
  /** Ends the serving of the caller's own fetch; null without one. */
  #endFetch: (() => void) | null = null;
  /** The channel on which a thread of the pool reports a trap; null without threads, or if the browser refuses it. */
  readonly #traps: BroadcastChannel | null = null;
  readonly #ended = new AbortController();
  readonly #refusals = new Refusals(this.#ended.signal);
  /** Resolves when the engine worker has ended its threads. */
  readonly #closed: Promise<void>;
  /** One promise, which resolves when the engine worker is gone; empty if that can't be known. */
  readonly #gone: Promise<void>[] = [];
  #dead = false;

  /** `open`: the model; null: measures the rate of decoding, without a model. */
  constructor(
    readonly request: StartRequest,
    readonly open: OpenRequest | null,
  ) {
    this.#loaderOver = new Promise((over) => {
      this.#tellOver = over;
    });
    const lifeline = lifelineName();
    const { flavour, threads } = request;
    const found = this.#orEnd(() => filesOf(flavour));
    this.#engine = this.#watch('engine', startEngineWorker);
    this.#closed = new Promise((closed) => {
      this.#engine.addEventListener('message', ({ data }: MessageEvent<FromEngine>) => {
        if (data.type === 'alive') {
          if (lifeline === '') return;
          const gone = lifelineCut(lifeline, this.#ended.signal);
          this.#gone.push(gone.then(() => this.#died(goneError(named('engine'), 'it is gone'))));
        } else if (data.type === 'closed') {
          closed();
        } else if (!this.#dead) {
          request.onMessage(data);
        }
      });
    });
    if (threads > 1) this.#traps = this.#hearTraps();
    const files = { flavour, ...found, thread: `${found.glue}#${this.#traps?.name ?? ''}` };
    if (open === null) {
      this.#engine.postMessage({ type: 'measure', files, threads, lifeline } satisfies ToEngine);
    } else {
      this.#openModel(open, files, lifeline);
    }
    void compileEarly(files.wasm).then((code) => this.post({ type: 'code', code }));
  }

  /** Tells the engine worker what to open, and starts its loader. */
  #openModel(open: OpenRequest, files: FlavourFiles, lifeline: string): void {
    const { source, patiences, probe, threads, options, weights } = open;
    const { port1, port2 } = new MessageChannel();
    const message: ToEngine = {
      ...{ type: 'open', probe, files, threads, options, lifeline, weights, port: port1 },
      direct: source.kind === 'url' || source.kind === 'blobs',
    };
    this.#engine.postMessage(message, [port1]);
    if (source.kind === 'bytes' || source.kind === 'response') {
      this.#pagePort = port2;
      if (source.kind === 'bytes') void runBytesLoader(source.bytes, port2);
      else {
        const { signal } = this.#readingEnded;
        void runResponseLoader(source.response, patiences.stallTimeout, port2, signal);
      }
      return;
    }
    try {
      this.#startLoader(open, source, port2);
    } catch (error) {
      this.#traps?.close();
      this.#engine.terminate();
      throw error;
    }
  }

  /** Starts the loader worker. It ends by itself: it may have bytes to store when the engine has all. */
  #startLoader(
    { probe, patiences, onKeeping, onCourse }: OpenRequest,
    source: Exclude<Resolved, { kind: 'bytes' | 'response' }>,
    port: MessagePort,
  ): void {
    const lifeline = lifelineName();
    const loader = this.#watch('loader', startLoaderWorker);
    this.#loader = loader;
    loader.addEventListener('message', ({ data }: MessageEvent<FromLoader>) => {
      if (this.#loader !== loader) return;
      if (data.type === 'alive') {
        void lifelineCut(lifeline, this.#ended.signal).then(() => {
          if (this.#loader === loader) this.#died(goneError(named('loader'), 'it is gone'));
        });
      } else if (data.type === 'over') {
        this.endLoader();
        this.#tellOver();
      } else if (!this.#dead) {
        if (data.type === 'keeping') onKeeping();
        else onCourse(data);
      }
    });
    const ports = [port];
    let read: LoaderSource;
    if (source.kind === 'blobs') {
      read = source;
    } else {
      const { custom, ...rest } = source;
      read = { ...rest, fetch: null };
      if (custom !== null) {
        const { port1, port2 } = new MessageChannel();
        this.#endFetch = serveFetch(port1, custom);
        read.fetch = port2;
        ports.push(port2);
      }
    }
    const open: ToLoader = { type: 'open', source: read, patiences, probe, lifeline, port };
    loader.postMessage(open, ports);
  }

  #hearTraps(): BroadcastChannel | null {
    try {
      const channel = new BroadcastChannel(uniqueName());
      channel.onmessage = ({ data }: MessageEvent<string>) => this.#died(stoppedWorking(data));
      return channel;
    } catch {
      return null; // Firefox refuses a channel to sites that may not store anything
    }
  }

  /** Does a part of the start. If that fails, ends the watches. */
  #orEnd<T>(start: () => T): T {
    try {
      return start();
    } catch (error) {
      this.#ended.abort();
      throw error;
    }
  }

  #watch(which: string, start: () => Started): Worker {
    const watch = {
      ...named(which),
      refusals: this.#refusals,
      until: this.#ended.signal,
      died: (error: SluiceError) => this.#died(error),
    };
    return this.#orEnd(() => startWatched(start, watch));
  }

  #died(error: SluiceError): void {
    if (this.#dead) return;
    this.#dead = true;
    this.request.onDeath(error);
  }

  post(message: ToEngine): void {
    if (!this.#dead) this.#engine.postMessage(message);
  }

  /** Ends the loader: everything has arrived, or nothing more is wanted. */
  endLoader(): void {
    this.#loader?.terminate();
    this.#loader = null;
    this.#endFetch?.();
    this.#endFetch = null;
    this.#readingEnded.abort();
    this.#pagePort?.close();
    this.#pagePort = null;
  }

  /** Ends both workers. Resolves when the engine worker and its memory are gone, as far as that can be known. */
  async end(): Promise<void> {
    const patience = this.#dead ? TRAPPED_MS : GENTLE_MS;
    this.#dead = true;
    this.#traps?.close();
    // A loader on the page ends at once; a loader worker gets 'stop' from the engine worker.
    if (this.#loader === null) this.endLoader();
    this.#engine.postMessage({ type: 'close' } satisfies ToEngine);
    let told = false;
    const closed = this.#closed.then(() => {
      told = true;
    });
    await Promise.all([
      atMost(patience, Promise.race([closed, ...this.#gone])),
      this.#loader === null ? null : atMost(patience, this.#loaderOver),
    ]);
    // After 'stop', a loader that is not done yet ends by itself.
    if (told && this.#loader !== null) {
      void atMost(LEAVE_MS, this.#loaderOver).then(() => this.endLoader());
    } else {
      this.endLoader();
    }
    this.#engine.terminate();
    if (this.#gone.length > 0) await atMost(GONE_MS, Promise.race(this.#gone));
    this.#ended.abort();
  }
}

/** Waits for `event`, but at most `limit` milliseconds. */
async function atMost(limit: number, event: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limit);
  });
  await Promise.race([event, patience]);
  clearTimeout(timer);
}
