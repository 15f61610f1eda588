// Engines that do what a test says, in place of the library's.
import { signal } from '@preact/signals';
import type {
  EngineStats,
  LoadOptions,
  LoadProgress,
  ModelInfo,
  ModelSource,
  Note,
  WeightsView,
} from '@sluice/engine';
import { SluiceError } from '@sluice/engine';
import { ModelController, type LoadedEngine } from '../src/model/controller';
import { EngineLender } from '../src/model/engine-lender';
import { Runs } from '../src/model/run';
import { DEFAULTS } from '../src/settings/settings';

interface Deferred {
  promise: Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
}

function deferred(): Deferred {
  let resolve = (): void => undefined;
  let reject = (_: unknown): void => undefined;
  const promise = new Promise<void>((done, failed) => ([resolve, reject] = [done, failed]));
  // It may fail while nobody waits for it.
  promise.catch(() => undefined);
  return { promise, resolve: () => resolve(), reject: (error) => reject(error) };
}

/** An engine with the header of a model. Like the library's, it ends by its load's signal until it is ready, and by close(). */
export class FakeEngine implements LoadedEngine {
  readonly info: ModelInfo;
  stats: EngineStats;
  closed = false;
  /** What close() waits for. */
  closing: Promise<void> = Promise.resolve();
  readonly #ready = deferred();
  readonly #arrived = deferred();
  readonly #options: LoadOptions;

  constructor(name: string, bytes: number, options: LoadOptions) {
    this.info = { name, metadata: {}, memory: { total: bytes } } as unknown as ModelInfo;
    this.stats = { heapBytes: bytes, notes: [], seed: 0 } as unknown as EngineStats;
    this.#options = options;
    const end = (): void => this.#end(options.signal?.reason);
    options.signal?.addEventListener('abort', end);
    const release = (): void => options.signal?.removeEventListener('abort', end);
    this.#ready.promise.then(release, release);
  }

  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get arrived(): Promise<void> {
    return this.#arrived.promise;
  }

  /** The model can be used; `rest`: a part of it is still on its way. */
  becomeReady({ rest = false } = {}): void {
    if (!rest) this.#options.onProgress?.({ phase: 'ready' } as LoadProgress);
    this.#ready.resolve();
    if (!rest) this.arrive();
  }

  /** The rest has come. */
  arrive(): void {
    this.#arrived.resolve();
  }

  /** So far its weights have come. */
  tell(view: Partial<WeightsView>): void {
    this.#options.onWeights?.(view as WeightsView);
  }

  /** It fails while it loads. */
  fail(error: unknown): void {
    this.#end(error);
  }

  async close(): Promise<void> {
    this.#end(new SluiceError('aborted', 'the engine was closed'));
    await this.closing;
  }

  #end(why: unknown): void {
    this.closed = true;
    this.#ready.reject(why);
    this.#arrived.reject(why);
  }
}

/** One call of the controller's `load`. */
export class FakeLoad {
  readonly source: string;
  readonly options: LoadOptions;
  engine: FakeEngine | null = null;
  readonly #come: (engine: FakeEngine) => void;
  readonly fail: (error: unknown) => void;

  constructor(
    source: ModelSource,
    options: LoadOptions,
    come: (engine: FakeEngine) => void,
    fail: (error: unknown) => void,
  ) {
    this.source = String(source);
    this.options = options;
    this.#come = come;
    this.fail = fail;
    options.signal?.addEventListener('abort', () => fail(options.signal?.reason));
  }

  /** Its header is read: it has this name, and would take so many bytes. */
  header(name = this.source.slice(-6, -5).toUpperCase(), bytes = 1000): FakeEngine {
    this.engine = new FakeEngine(name, bytes, this.options);
    this.#come(this.engine);
    return this.engine;
  }

  /** So far it has come. */
  progress(loaded: number, more: object = {}): void {
    this.options.onProgress?.({
      phase: 'download',
      loaded,
      total: 1000,
      ...more,
    } as unknown as LoadProgress);
  }
}

/** A device whose memory two small models fit in. */
export function setUp({ canKeep = true } = {}) {
  const loads: FakeLoad[] = [];
  const said: string[] = [];
  const settings = signal({ ...DEFAULTS });
  const runs = new Runs();
  const device = { gib: 8 as number | undefined };
  const models = new ModelController<FakeEngine>({
    load: (source, options) =>
      new Promise((come, fail) => loads.push(new FakeLoad(source, options, come, fail))),
    settings,
    announce: (text) => said.push(text),
    run: runs,
    device: { memory: () => device.gib, canKeep, sharing: true },
  });
  /** The latest load. */
  const load = (): FakeLoad => {
    const last = loads.at(-1);
    if (last === undefined) throw new Error('nothing was loaded');
    return last;
  };
  return {
    models,
    runs,
    lender: new EngineLender(models, runs),
    loads,
    load,
    said,
    settings,
    device,
  };
}

/** All that follows from what was done, has happened: nothing here waits for time. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

export function noteOf(code: string): Note {
  return { code, message: code, audience: 'user' } as unknown as Note;
}
