// Starts, watches and ends the two workers of an engine.
import { compileEarly, openChannel, uniqueName } from '../platform/here.js';
import type { Channel, Started } from '../platform/platform.js';
import type {
  CallMap,
  CodeMessage,
  EngineCalls,
  EngineNews,
  LoaderCalls,
  LoaderNews,
} from '../shared/calls.js';
import { stoppedWorking } from '../shared/errors.js';
import { atMost, deferred } from '../shared/promises.js';
import { nowClosing } from './closings.js';
import type { CoreStats, FlavourFiles, LoaderSource, Patiences } from '../shared/protocol.js';
import type { DecodeRate, Flavour } from '../shared/types.js';
import type { Ask } from '../shared/caller.js';
import { startEngineWorker, startLoaderWorker } from './own-workers.js';
import { runBytesLoader, runResponseLoader } from './page-loader.js';
import { serveFetch } from './serve-fetch.js';
import type { Resolved } from './sources.js';
import { WatchedWorker } from './watched-worker.js';
import { filesOf } from './wasm-files.js';

/**
 * The most milliseconds that close() waits for the engine worker to end its threads, as it may still be starting, and for the
 * loader worker to close its files. That takes a while on a busy machine, and without it a refused file would stay.
 */
const GENTLE_MS = 2000;
/** The most milliseconds for a loader worker to close its files after close() has resolved: a refused file must not stay. */
const LEAVE_MS = 30_000;
/** As GENTLE_MS, after a trap, when the worker may not answer. */
const TRAPPED_MS = 250;
/** The most milliseconds to wait for a worker that was ended to be gone. */
const GONE_MS = 1000;

/** The fields that start any engine worker. */
export interface StartRequest {
  flavour: Flavour;
  threads: number;
  /** A worker is gone or could not be started. Called at most once, never after end(). */
  onDeath(error: unknown): void;
}

export interface OpenRequest {
  source: Resolved;
  probe: boolean;
  options: string;
  patiences: Patiences;
  /** Whether news of the weights is wanted. */
  weights: boolean;
  onNews(news: EngineNews): void;
  /** The engine's figures, which come with news. */
  onStats(stats: CoreStats): void;
  /** The progress of the loader worker. */
  onLoaderNews(news: LoaderNews): void;
  /** The load failed or the module trapped. */
  onFailure(error: unknown): void;
}

export class Workers {
  readonly #request: StartRequest;
  readonly #files: FlavourFiles;
  readonly #engine: WatchedWorker<EngineCalls, CodeMessage>;
  #loader: WatchedWorker<LoaderCalls> | null = null;
  /** If the page itself is the loader: its port to the engine worker, and what ends its reading. */
  #pagePort: MessagePort | null = null;
  readonly #readingEnded = new AbortController();
  /** Resolves when the loader worker has closed its files, or is gone. */
  readonly #filesClosed = deferred();
  /** Ends the serving of the caller's own fetch; null without one. */
  #endFetch: (() => void) | null = null;
  /** The channel on which a thread of the pool reports a trap; null without threads, or if the browser refuses it. */
  readonly #traps: Channel | null = null;
  #dead = false;

  /** Starts the engine worker. */
  constructor(request: StartRequest) {
    this.#request = request;
    const { flavour, threads } = request;
    const found = filesOf(flavour);
    this.#engine = this.#start<EngineCalls, CodeMessage>('engine', startEngineWorker);
    if (threads > 1) this.#traps = this.#hearTraps();
    this.#files = { flavour, ...found, thread: `${found.glue}#${this.#traps?.name ?? ''}` };
    void compileEarly(found.wasm).then((code) => {
      if (!this.#dead) this.#engine.signal({ type: 'code', code });
    });
  }

  /** Asks the engine worker. */
  get ask(): Ask<EngineCalls> {
    return this.#engine.ask;
  }

  /** The engine worker's calls that have not ended. */
  get open(): number {
    return this.#engine.open;
  }

  /** Measures how fast the threads decode. */
  measure(): Promise<Omit<DecodeRate, 'threads'>> {
    const { threads } = this.#request;
    return this.ask('measure', { files: this.#files, threads });
  }

  /** Tells the engine worker what to open, and starts its loader. */
  openModel(open: OpenRequest): void {
    const { source, patiences, probe, options, weights } = open;
    const { port1, port2 } = new MessageChannel();
    const args = {
      probe,
      files: this.#files,
      threads: this.#request.threads,
      options,
      port: port1,
      direct: source.kind !== 'bytes' && source.kind !== 'response',
      weights,
      stops: this.#engine.stops,
    };
    const onItem = (news: EngineNews): null => (open.onNews(news), null);
    this.ask('open', args, { onItem, onStats: open.onStats, transfer: [port1] }).catch(
      open.onFailure,
    );
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
      void this.#engine.end();
      throw error;
    }
  }

  /** Starts the loader worker. It ends by itself: it may have bytes to store when the engine has all. */
  #startLoader(
    { probe, patiences, onLoaderNews }: OpenRequest,
    source: Exclude<Resolved, { kind: 'bytes' | 'response' }>,
    port: MessagePort,
  ): void {
    const loader = this.#start<LoaderCalls>('loader', startLoaderWorker);
    this.#loader = loader;
    const transfer = [port];
    let read: LoaderSource;
    if (source.kind === 'blobs' || source.kind === 'paths') {
      read = source;
    } else {
      const { custom, ...rest } = source;
      read = { ...rest, fetch: null };
      if (custom !== null) {
        const { port1, port2 } = new MessageChannel();
        this.#endFetch = serveFetch(port1, custom);
        read.fetch = port2;
        transfer.push(port2);
      }
    }
    const onItem = (news: LoaderNews): null => {
      if (!this.#dead && this.#loader === loader) onLoaderNews(news);
      return null;
    };
    loader.ask('read', { source: read, patiences, probe, port }, { onItem, transfer }).then(
      () => this.endLoader(),
      (error: unknown) => this.#died(error),
    );
  }

  #hearTraps(): Channel | null {
    const channel = openChannel(uniqueName());
    if (channel !== null)
      channel.onmessage = ({ data }: MessageEvent<string>) => this.#died(stoppedWorking(data));
    return channel;
  }

  #start<Calls extends CallMap<Calls>, Signal = never>(
    which: string,
    start: () => Started,
  ): WatchedWorker<Calls, Signal> {
    return new WatchedWorker<Calls, Signal>(start, {
      which: `${which} worker`,
      remedy: 'load the model again',
      died: (error) => this.#died(error),
    });
  }

  #died(error: unknown): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#request.onDeath(error);
  }

  /** Rejects all calls of the engine worker that have not ended. */
  reject(error: unknown): void {
    this.#engine.reject(error);
  }

  /** Ends the loader: everything has arrived, or nothing more is wanted. */
  endLoader(): void {
    if (this.#loader !== null) {
      nowClosing(this.#filesClosed.promise);
      void this.#loader.end(GONE_MS).then(this.#filesClosed.resolve);
      this.#loader = null;
    }
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
    else nowClosing(this.#filesClosed.promise);
    let told = false;
    const closed = this.ask('close', null).then(() => {
      told = true;
    });
    this.#engine.quiet();
    const { gone } = this.#engine;
    await Promise.all([
      atMost(patience, gone === null ? closed : Promise.race([closed, gone])),
      this.#loader === null ? null : atMost(patience, this.#filesClosed.promise),
    ]);
    // After 'stop', a loader that is not done yet ends by itself.
    if (told && this.#loader !== null) {
      void atMost(LEAVE_MS, this.#filesClosed.promise).then(() => this.endLoader());
    } else {
      this.endLoader();
    }
    await this.#engine.end(GONE_MS);
  }
}
