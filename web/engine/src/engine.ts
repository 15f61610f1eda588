// Engine: the page's side of a model. The work is done in workers (protocol.ts). The engine holds the promises, and
// settles each of them whatever happens to a worker.
import { askToPersist } from './cache.js';
import { SluiceError, abortReason, fromErrorData } from './errors.js';
import { chooseFlavour, detectAbilities } from './flavours.js';
import { LOAD_RULES } from './option-table.js';
import {
  coreLoadOptions,
  takeDetokenizeOptions,
  takeIds,
  takeLoadOptions,
  takeText,
  takeTokenizeOptions,
} from './options.js';
import type { CoreStats, Course, FromEngine, ToEngine } from './protocol.js';
import { Rate } from './rate.js';
import { resolveSource } from './sources.js';
import { NO_RUN, Timeline, type TimelineHooks, type Value } from './timeline.js';
import type {
  DetokenizeOptions,
  EngineStats,
  GenerateOptions,
  LoadOptions,
  LoadProgress,
  Logits,
  LogitsOptions,
  ModelInfo,
  ModelSource,
  ProbeOptions,
  Prompt,
  Session,
  Token,
  TokenizeOptions,
  WeightsView,
} from './types.js';
import { rereadBytes, slotViews } from './weights-view.js';
import { Workers } from './workers.js';

const NO_STATS: CoreStats = {
  ...NO_RUN,
  kernels: '',
  threads: 1,
  decodeThreads: 1,
  contextSize: 0,
  residentBytes: 0,
  streamedBytes: 0,
  memoryBudget: 0,
  bytesPerToken: 0,
  heapBytes: 0,
  seed: 0,
};

/** Milliseconds for which bytes from the network say that the weights come from there. */
const NETWORK_MS = 1000;

/** Calls a function of the caller. Its error must not stop the work; it is reported as an uncaught error. */
function callBack<T>(callback: (value: T) => void, value: T): void {
  try {
    callback(value);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

interface Pending {
  resolve(value: Value): void;
  reject(error: unknown): void;
}

/** A promise with its functions. If nobody listens, its rejection is not reported. */
function deferred(): {
  promise: Promise<void>;
  resolve: () => void;
  reject: (error: unknown) => void;
} {
  let resolve!: () => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}

function processors(): number {
  return globalThis.navigator?.hardwareConcurrency ?? 1;
}

/** Calls back with the error to throw when the signal fires. The returned function ends that. */
function onAbort(signal: AbortSignal | undefined, callback: (reason: unknown) => void): () => void {
  if (signal === undefined) return () => {};
  const heard = (): void => callback(abortReason(signal));
  signal.addEventListener('abort', heard, { once: true });
  return () => signal.removeEventListener('abort', heard);
}

/** The constructor's first argument. Nobody outside has it, so only load and probe make engines. */
const BY_LOAD = Symbol('Engine.load');

/** A model that is loaded or loading. Made by Engine.load; close() frees everything. */
export class Engine implements AsyncDisposable {
  /** What the file's header says. */
  get info(): ModelInfo {
    return this.#info as ModelInfo;
  }

  /**
   * Resolves when all weights that stay in memory are there: all, unless the model is larger than its `memoryBudget`. Rejects
   * with the error that ended the loading.
   */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  #info: ModelInfo | null = null;
  #workers: Workers | null = null;
  readonly #understood = deferred();
  readonly #ready = deferred();
  /** What ended the engine; undefined until then. */
  #over: unknown;
  readonly #started = performance.now();
  #loadMs = 0;
  /** The engine's own session. */
  readonly #own: Timeline;
  /** The open sessions, and the session of each run until the worker reports the run's end. */
  readonly #timelines = new Set<Timeline>();
  readonly #runs = new Map<number, Timeline>();
  #nextSession = 1;
  readonly #flavour: EngineStats['flavour'];
  readonly #notes: string[];
  readonly #onProgress: (progress: LoadProgress) => void;
  #progress: LoadProgress;
  #course: Course = { fromNetwork: 0, fromCache: 0, waiting: '', verified: 0, notes: [] };
  readonly #rate = new Rate();
  readonly #onWeights: (weights: WeightsView) => void;
  /** When bytes last came from the network. */
  #networkAt = -Infinity;
  /** Of the last run that told its figures. */
  #waitedMs = 0;
  #nextId = 1;
  readonly #pending = new Map<number, Pending>();

  private constructor(
    by: symbol,
    choice: ReturnType<typeof chooseFlavour>,
    options: LoadOptions,
    source: LoadProgress['source'],
  ) {
    if (by !== BY_LOAD) {
      throw new SluiceError(
        'invalid_argument',
        'new Engine() makes no engine; call await Engine.load(source), with an address or a file for the source',
      );
    }
    this.#flavour = choice.flavour;
    this.#notes = choice.notes;
    this.#own = new Timeline(0, this.#hooks(), {
      ...NO_STATS,
      threads: choice.threads,
      decodeThreads: choice.threads,
    });
    this.#timelines.add(this.#own);
    this.#onProgress = options.onProgress ?? (() => {});
    this.#onWeights = options.onWeights ?? (() => {});
    this.#progress = {
      phase: 'header',
      loaded: 0,
      total: 0,
      bytesPerSecond: 0,
      source,
      cachedBytes: 0,
      waiting: '',
      layersReady: 0,
      layersTotal: 0,
    };
  }

  /** Reads only the header: what the file is, and whether it can run here. A download is stopped after the header. */
  static async probe(source: ModelSource, options: ProbeOptions = {}): Promise<ModelInfo> {
    const engine = await Engine.#open(source, options, true);
    const info = engine.info;
    void engine.close();
    return info;
  }

  /**
   * Starts loading a model. Resolves when its header is read and the model can run here. Generating may begin at
   * once: the prompt is computed while the weights arrive. `signal` ends the loading while `ready` is pending.
   */
  static load(source: ModelSource, options: LoadOptions = {}): Promise<Engine> {
    return Engine.#open(source, options, false);
  }

  static async #open(source: ModelSource, given: LoadOptions, probe: boolean): Promise<Engine> {
    const options = takeLoadOptions(given);
    const { signal } = options;
    // A probe uses the flavour that loading uses, so that its files are fetched only once. It starts no threads.
    const choice = chooseFlavour(options.flavour, options.threads, detectAbilities(), processors());
    // Its plan of the memory is for the threads that loading starts.
    const coreOptions = coreLoadOptions(options, choice.threads);
    if (probe) choice.threads = 1;
    if (signal?.aborted) throw abortReason(signal);
    const resolved = await resolveSource(source, options);
    if (signal?.aborted) throw abortReason(signal);
    const kinds = { url: 'network', response: 'network', blobs: 'file', bytes: 'memory' } as const;
    const engine = new Engine(BY_LOAD, choice, options, kinds[resolved.kind]);
    engine.#workers = new Workers({
      source: resolved,
      probe,
      flavour: choice.flavour,
      threads: choice.threads,
      // If the caller gave no number of threads, the core measures how many of these decode fastest.
      options: coreOptions,
      patiences: {
        stallTimeout: options.stallTimeout ?? LOAD_RULES.stallTimeout.default,
        retryTimeout: options.retryTimeout ?? LOAD_RULES.retryTimeout.default,
      },
      weights: options.onWeights !== undefined && !probe,
      onCourse: (course) => engine.#follow(course),
      onKeeping: () => void askToPersist(),
      onMessage: (message) => engine.#receive(message),
      onDeath: (error) => engine.#end(error),
    });
    const release = onAbort(signal, (reason) => engine.#end(reason));
    engine.#ready.promise.then(release, release);
    await engine.#understood.promise;
    return engine;
  }

  // --- what comes from the worker ------------------------------------------------------------------

  #receive(message: Exclude<FromEngine, { type: 'alive' | 'closed' }>): void {
    if (this.#over !== undefined) return;
    const timeline = 'id' in message ? this.#runs.get(message.id) : undefined;
    if (timeline !== undefined && 'stats' in message && message.stats !== null)
      this.#waitedMs = message.stats.waitedMs;
    if ('id' in message && timeline !== undefined) {
      timeline.receive(message);
      if (['done', 'error', 'result'].includes(message.type)) this.#runs.delete(message.id);
    } else if ('stats' in message && message.stats !== null && !this.#own.running) {
      // The stats of loading, or of a result. Any other message with an id is about a run of a closed session.
      if (!('id' in message) || message.type === 'result') this.#own.core = message.stats;
    }
    switch (message.type) {
      case 'understood':
        this.#info = message.info;
        this.#notes.push(...message.notes);
        this.#understood.resolve();
        break;
      case 'progress':
        this.#report(message);
        break;
      case 'weights':
        this.#tellWeights(message);
        break;
      case 'ready':
        this.#loadMs = performance.now() - this.#started;
        this.#report({ ...this.#progress, phase: 'ready' });
        this.#ready.resolve();
        break;
      case 'failed':
        this.#end(fromErrorData(message.error));
        break;
      case 'error': {
        const error = fromErrorData(message.error);
        timeline?.fail(message.id, error);
        this.#take(message.id)?.reject(error);
        break;
      }
      case 'result':
        this.#take(message.id)?.resolve(message.value);
        break;
    }
  }

  /** The loader's news. */
  #follow(course: Course): void {
    if (this.#over !== undefined) return;
    if (course.fromNetwork > this.#course.fromNetwork) this.#networkAt = performance.now();
    this.#course = course;
    this.#notes.push(...course.notes);
    if (this.#progress.phase !== 'ready') this.#report(this.#progress);
  }

  #report(
    now: Pick<LoadProgress, 'loaded' | 'total' | 'layersReady' | 'layersTotal'> & {
      phase?: LoadProgress['phase'];
    },
  ): void {
    const { fromCache, fromNetwork, waiting, verified } = this.#course;
    const before = this.#progress.source;
    const remote = before === 'network' || before === 'cache';
    // What came last decides where it comes from.
    const source = !remote ? before : fromNetwork > 0 || fromCache === 0 ? 'network' : 'cache';
    const usual = source === 'network' ? 'download' : 'load';
    const known = this.#info === null ? 'header' : verified > 0 ? 'verify' : usual;
    this.#progress = {
      phase: now.phase === 'ready' ? 'ready' : known,
      loaded: now.loaded,
      total: now.total,
      // What was kept comes at once, and says nothing of the network.
      bytesPerSecond: this.#rate.perSecond(fromNetwork > 0 ? fromNetwork : now.loaded),
      source,
      // The last bytes may be told after the engine has them.
      cachedBytes: now.phase === 'ready' && source === 'cache' ? now.loaded : fromCache,
      waiting,
      layersReady: now.layersReady,
      layersTotal: now.layersTotal,
    };
    callBack(this.#onProgress, { ...this.#progress });
  }

  #tellWeights({ slots: numbers, bytesPerSecond }: FromEngine & { type: 'weights' }): void {
    const slots = slotViews(numbers);
    const { phase, source } = this.#progress;
    const remote = source === 'network' || source === 'cache';
    // What is read again after a download comes from the cache.
    const kept = remote && phase === 'ready' && performance.now() - this.#networkAt > NETWORK_MS;
    callBack(this.#onWeights, {
      slots,
      bytesPerSecond,
      source: kept ? 'cache' : source,
      streamedBytes: rereadBytes(slots),
      waitedMs: this.#waitedMs,
    });
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  /** Ends this engine: rejects everything that is pending, and ends the workers, which frees their memory. */
  #end(error: unknown): Promise<void> {
    if (this.#over !== undefined) return Promise.resolve();
    this.#over = error;
    this.#understood.reject(error);
    this.#ready.reject(error);
    for (const timeline of this.#timelines) timeline.end(null, error);
    for (const pending of this.#pending.values()) pending.reject(error);
    this.#pending.clear();
    return this.#workers?.end() ?? Promise.resolve();
  }

  // --- what users call -----------------------------------------------------------------------------

  /** Throws if the engine has ended. */
  #admit(): void {
    const over = this.#over;
    if (over === undefined) return;
    throw over instanceof SluiceError && over.code !== 'aborted'
      ? new SluiceError(over.code, over.message, { cause: over })
      : new SluiceError('invalid_argument', 'this engine is closed; load the model again');
  }

  #request(
    message: (id: number) => ToEngine,
    signal: AbortSignal | undefined,
    of?: Timeline,
  ): Promise<Value> {
    if (signal?.aborted) throw abortReason(signal);
    this.#admit();
    const id = this.#nextId++;
    return new Promise<Value>((resolve, reject) => {
      const release = onAbort(signal, (reason) => {
        this.#pending.delete(id);
        of?.letGo(id);
        this.#workers?.post({ type: 'cancel', id });
        reject(reason);
      });
      this.#pending.set(id, {
        resolve: (value) => (release(), resolve(value)),
        reject: (error) => (release(), reject(error)),
      });
      if (of !== undefined) {
        this.#runs.set(id, of);
        of.began(id, null);
      }
      this.#workers?.post(message(id));
    });
  }

  #hooks(): TimelineHooks {
    return {
      admit: () => this.#admit(),
      beginRun: (of) => {
        const id = this.#nextId++;
        this.#runs.set(id, of);
        return id;
      },
      post: (message) => this.#workers?.post(message),
      request: (message, signal, of) => this.#request(message, signal, of),
      openTimeline: (from) => this.#openTimeline(from),
      forget: (timeline) => {
        this.#timelines.delete(timeline);
        for (const [id, of] of this.#runs) if (of === timeline) this.#runs.delete(id);
      },
      complete: (core, finish) => ({
        ...core,
        flavour: this.#flavour,
        loadMs: this.#loadMs,
        finish,
        notes: [...this.#notes],
      }),
    };
  }

  #openTimeline(from: Timeline | null): Timeline {
    const timeline = new Timeline(this.#nextSession++, this.#hooks(), {
      ...this.#own.core,
      ...NO_RUN,
    });
    this.#timelines.add(timeline);
    this.#workers?.post({
      type: 'openSession',
      session: timeline.session,
      from: from?.session ?? null,
    });
    return timeline;
  }

  /** A new session, without tokens. There may be any number. The engine's own methods use a session of their own. */
  session(): Session {
    this.#admit();
    return this.#openTimeline(null);
  }

  /**
   * Continues `prompt`, token by token. The work begins when the first token is asked for, and ends when the loop is
   * left. The arguments are read at this call, but errors in them are thrown when the first token is asked for.
   */
  generate(prompt: Prompt, options: GenerateOptions = {}): AsyncIterableIterator<Token, undefined> {
    return this.#own.generate(prompt, options);
  }

  /** The token ids of the text, without those that the model wants before a prompt. */
  async tokenize(text: string, options: TokenizeOptions = {}): Promise<number[]> {
    const taken = takeText(text, 'text');
    const { special = false, signal } = takeTokenizeOptions(options);
    return (await this.#request(
      (id) => ({ type: 'tokenize', id, text: taken, special }),
      signal,
    )) as number[];
  }

  /** The text of the ids; invalid UTF-8 becomes U+FFFD. */
  async detokenize(ids: readonly number[], options: DetokenizeOptions = {}): Promise<string> {
    const taken = takeIds(ids, 'ids');
    const { signal } = takeDetokenizeOptions(options);
    return (await this.#request(
      (id) => ({ type: 'detokenize', id, ids: taken }),
      signal,
    )) as string;
  }

  /** The logits after the last of `ids`, which are taken as they are. */
  async logits(ids: readonly number[], options: LogitsOptions = {}): Promise<Logits> {
    return this.#own.logits(ids, options);
  }

  /** The current figures. While a model loads or a text is written, they change about ten times a second or more. */
  get stats(): EngineStats {
    return this.#own.stats;
  }

  /** Stops all work and frees all memory. Pending promises reject with `aborted`. May be called again. */
  async close(): Promise<void> {
    await this.#end(new SluiceError('aborted', 'the engine was closed'));
  }

  /** For `await using`. (In a browser without this symbol, nobody calls it.) */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
