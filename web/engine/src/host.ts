// The engine worker's inside: one module, one engine, and the loop that runs it.
//
// Work is done in slices of some 10 ms; between them the worker's queue runs (a posted message, no
// timer: browsers slow those of hidden pages), so that a cancel arrives and bytes are taken.
import type {
  Answer,
  EncodingHandle,
  EngineHandle,
  SessionHandle,
  SluiceModule,
} from '../../../wasm/module.js';
import { check, parseAnswer } from './answers.js';
import { SluiceError, stoppedWorking, toErrorData } from './errors.js';
import { Feed, type Opened } from './feed.js';
import { holdLifeline } from './lifeline.js';
import type { OpenModule } from './module.js';
import { Pool } from './pool.js';
import type { CoreStats, FlavourFiles, FromEngine, ToEngine } from './protocol.js';
import type { Finish, Logits, ModelInfo, Token } from './types.js';

const SLICE_MS = 10;
const PROGRESS_MS = 50;
/** How often a run without tokens (a prompt that is computed or waits for weights) tells its figures. */
const STATS_MS = 100;

/** What step() answers. */
type StepEvent =
  | { event: 'working' | 'waiting' }
  | { event: 'token'; id: number; text: string; logprob: number; top?: [number, number][] }
  | { event: 'done'; finish: Finish };

/** A file that is incomplete on the server need not be downloaded to the end to show it. */
function checkLength(info: ModelInfo, opened: Opened): void {
  const promised = info.dataOffset + info.dataBytes;
  if (opened.network && opened.exact && opened.total > 0 && promised > opened.total) {
    throw new SluiceError(
      'download_failed',
      `the server has ${opened.total} bytes of a file whose header names ${promised}: ` +
        'it is incomplete there; use another address, or upload it again',
    );
  }
}

function coreStats(engine: Pick<EngineHandle, 'stats'>): CoreStats {
  return JSON.parse(engine.stats()) as CoreStats;
}

interface Run {
  id: number;
  kind: 'generate' | 'logits';
  top: number;
  /** When the page last got its figures. */
  lastStats: number;
}

interface Timeline {
  readonly handle: SessionHandle;
  run: Run | null;
}

export class EngineHost {
  /** Set as soon as there is one; #engine only when its header is understood. */
  #opening: EngineHandle | null = null;
  #engine: EngineHandle | null = null;
  #module: SluiceModule | null = null;
  #feed: Feed | null = null;
  /** By their numbers in the messages. Those that run take turns, in this order. */
  readonly #timelines = new Map<number, Timeline>();
  /** Long texts on their way to ids, the first in turn first. */
  readonly #encodings: { id: number; encoding: EncodingHandle; ids: number[] }[] = [];
  #pool = new Pool(0, '');
  #dead = false;
  #trapped = false;
  #scheduled = false;
  #lastProgress = 0;
  #late: ReturnType<typeof setTimeout> | undefined;
  /** The code from the page, in a message of its own. */
  readonly #early: Promise<WebAssembly.Module | null>;
  #takeCode!: (code: WebAssembly.Module | null) => void;
  readonly #ticks = new MessageChannel();

  constructor(
    readonly post: (message: FromEngine) => void,
    readonly openModule: (
      files: FlavourFiles,
      pool: Pool,
      early: Promise<WebAssembly.Module | null>,
    ) => Promise<OpenModule>,
  ) {
    this.#early = new Promise((resolve) => {
      this.#takeCode = resolve;
    });
    this.#ticks.port1.onmessage = () => {
      this.#scheduled = false;
      this.#guard(() => this.#slice());
    };
  }

  handle(message: ToEngine): void {
    if (message.type === 'open') {
      void this.#open(message).catch((error: unknown) => this.#fail(error));
    } else if (message.type === 'code') {
      this.#takeCode(message.code);
    } else if (message.type === 'cancel') {
      this.#guard(() => this.#cancel(message.id));
    } else if (message.type === 'close') {
      this.#close();
    } else {
      this.#guard(() => this.#request(message));
    }
  }

  /** Ends the loop's own channel, which would keep a Node process alive. */
  close(): void {
    this.#dead = true;
    this.#ticks.port1.close();
  }

  /** Threads of the pool that sleep or spin in wasm would outlive their worker by seconds: they come to rest first. */
  #close(): void {
    this.#feed?.stop();
    // What trapped is in no state to end itself.
    if (!this.#trapped) {
      for (const { handle } of this.#timelines.values()) handle.delete();
      this.#opening?.delete();
    }
    this.close();
    void this.#pool.end().then(() => this.post({ type: 'closed' }));
  }

  /** Runs `work`; what it throws is the end of this worker. */
  #guard(work: () => void): void {
    if (this.#dead) return;
    try {
      work();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#trapped = !(error instanceof SluiceError);
    this.#feed?.stop();
    this.post({ type: 'failed', error: toErrorData(stoppedWorking(error)) });
  }

  // --- loading -------------------------------------------------------------------------------------

  async #open(request: ToEngine & { type: 'open' }): Promise<void> {
    void holdLifeline(request.lifeline).then(() => this.post({ type: 'alive' }));
    const { thread } = request.files;
    this.#pool = new Pool(request.threads - 1, thread.slice(thread.indexOf('#') + 1));
    const feed = new Feed(request.port);
    this.#feed = feed;
    feed.onerror = (error) => this.#fail(error);
    const [opened, { module, memory, maxBytes }] = await Promise.all([
      feed.opened,
      this.openModule(request.files, this.#pool, this.#early),
    ]);
    if (this.#dead) return;
    // A length that the network names is not told to the parser: a file that is longer was cut short on its way,
    // and is no bad file. The end of the stream decides.
    const fileSize = opened.network ? 0 : opened.total;
    if (request.probe) {
      const header = new module.Header();
      header.setFileSize(fileSize);
      await feed.readHeader(header, module, memory);
      const shown = opened.exact && opened.total > 0 ? opened.total : fileSize;
      const info = this.#info(header.inspect(request.options, shown), maxBytes);
      checkLength(info, opened);
      this.post({ type: 'understood', info, notes: [], stats: null });
      return;
    }
    const engine = new module.Engine();
    this.#opening = engine;
    this.#module = module;
    check(engine.open(request.options, fileSize));
    feed.ontaken = () => this.#guard(() => this.#taken(engine, maxBytes, opened));
    feed.drive(engine, memory, request.direct);
  }

  #info(answer: Answer, maxBytes: number): ModelInfo {
    const info = parseAnswer<ModelInfo>(answer);
    info.bytes = info.fileBytes;
    info.fits = info.supported && info.memory !== null && info.memory.total <= maxBytes;
    if (info.supported && info.memory !== null && !info.fits) {
      info.error = {
        code: 'out_of_memory',
        message:
          `the model needs ${info.memory.total} bytes (weights, cache and activations), and this browser gives a page ` +
          `${maxBytes} at most; use a smaller model or a smaller contextSize`,
      };
    }
    return info;
  }

  #tellProgress(engine: EngineHandle, announced: number): void {
    clearTimeout(this.#late);
    this.#late = undefined;
    this.#lastProgress = performance.now();
    const progress = engine.progress();
    const total = progress.total || announced;
    this.post({ type: 'progress', ...progress, total, stats: coreStats(engine) });
  }

  /** Bytes were taken: tells what changed, and goes on with what waited for them. */
  #taken(engine: EngineHandle, maxBytes: number, opened: Opened): void {
    if (this.#engine === null && engine.understood()) {
      const info = this.#info(engine.inspect(), maxBytes);
      checkLength(info, opened);
      if (info.error !== undefined) throw new SluiceError(info.error.code, info.error.message);
      this.#engine = engine;
      const module = this.#module as SluiceModule;
      this.#timelines.set(0, { handle: new module.Session(engine), run: null });
      const notes = JSON.parse(engine.notes()) as string[];
      this.post({ type: 'understood', info, notes, stats: this.#stats() });
    }
    const done = engine.loaded();
    if (done || performance.now() - this.#lastProgress >= PROGRESS_MS) {
      this.#tellProgress(engine, opened.total);
    } else {
      // The last bytes before a pause are told as well.
      this.#late ??= setTimeout(
        () => this.#guard(() => this.#tellProgress(engine, opened.total)),
        PROGRESS_MS,
      );
    }
    if (done) {
      this.#feed?.stop();
      this.post({ type: 'ready', stats: this.#stats() });
    }
    if (this.#anyRuns()) this.#schedule();
  }

  // --- running -------------------------------------------------------------------------------------

  /** Of the engine's own session. */
  #stats(): CoreStats {
    return coreStats((this.#timelines.get(0) as Timeline).handle);
  }

  #anyRuns(): boolean {
    for (const { run } of this.#timelines.values()) if (run !== null) return true;
    return false;
  }

  #timeline(session: number): Timeline {
    const timeline = this.#timelines.get(session);
    if (timeline === undefined)
      throw new SluiceError('invalid_argument', 'there is no such session; take a new one');
    return timeline;
  }

  #request(message: Exclude<ToEngine, { type: 'open' | 'code' | 'cancel' | 'close' }>): void {
    const engine = this.#engine;
    try {
      if (engine === null) throw new SluiceError('invalid_argument', 'the model is not loaded');
      switch (message.type) {
        case 'tokenize':
          return this.#tokenize(engine, message);
        case 'detokenize':
          return this.#result(message.id, engine.detokenize(message.ids));
        case 'generate': {
          const { session, id, prompt, options } = message;
          const timeline = this.#timeline(session);
          check(
            typeof prompt === 'string'
              ? timeline.handle.startText(prompt, options)
              : timeline.handle.startIds(prompt, options),
          );
          return this.#begin(timeline, { id, kind: 'generate', top: 0 });
        }
        case 'logits': {
          const { session, id, ids, batch, top } = message;
          const timeline = this.#timeline(session);
          check(timeline.handle.startLogits(ids, batch));
          return this.#begin(timeline, { id, kind: 'logits', top });
        }
        case 'openSession': {
          const module = this.#module as SluiceModule;
          const from = message.from === null ? null : this.#timelines.get(message.from);
          const handle = from?.handle.clone() ?? new module.Session(engine);
          this.#timelines.set(message.session, { handle, run: null });
          return;
        }
        case 'truncate': {
          const { handle } = this.#timeline(message.session);
          handle.truncate(message.length);
          return this.#result(message.id, handle.tokens().length);
        }
        case 'tokensOf':
          return this.#result(message.id, [...this.#timeline(message.session).handle.tokens()]);
        case 'closeSession':
          this.#timelines.get(message.session)?.handle.delete();
          this.#timelines.delete(message.session);
          return;
      }
    } catch (error) {
      if (!(error instanceof SluiceError) || !('id' in message)) throw error;
      this.post({ type: 'error', id: message.id, error: toErrorData(error) });
    }
  }

  #begin(timeline: Timeline, run: Omit<Run, 'lastStats'>): void {
    // Its figures come with its tokens, or after its first slice: a message now would take the page's thread, and with
    // it a processor, for a good part of a short prompt.
    timeline.run = { ...run, lastStats: -Infinity };
    this.#schedule();
  }

  #tellStatsIfDue(run: Run, handle: SessionHandle): void {
    if (performance.now() - run.lastStats < STATS_MS) return;
    run.lastStats = performance.now();
    this.post({ type: 'stats', id: run.id, stats: coreStats(handle) });
  }

  #result(id: number, value: string | number | number[]): void {
    this.post({ type: 'result', id, value, stats: this.#stats() });
  }

  /** A short text is answered at once. */
  #tokenize(engine: EngineHandle, { id, text, special }: ToEngine & { type: 'tokenize' }): void {
    const module = this.#module as SluiceModule;
    this.#encodings.push({ id, encoding: new module.Encoding(engine, text, special), ids: [] });
    if (this.#encodings.length === 1) this.#encode();
    if (this.#encodings.length > 0) this.#schedule();
  }

  /** A slice of the first text. */
  #encode(): void {
    const [first] = this.#encodings;
    if (first === undefined) return;
    const more = first.encoding.step();
    for (const tokenId of first.encoding.take()) first.ids.push(tokenId);
    if (more) return;
    this.#encodings.shift();
    first.encoding.delete();
    this.#result(first.id, first.ids);
  }

  /** The page has let go of run `id` already; a new one may come right behind. */
  #cancel(id: number): void {
    const text = this.#encodings.findIndex((one) => one.id === id);
    for (const { encoding } of text < 0 ? [] : this.#encodings.splice(text, 1)) encoding.delete();
    for (const timeline of this.#timelines.values()) {
      const { handle, run } = timeline;
      if (run?.id !== id) continue;
      handle.cancel();
      check(handle.step());
      timeline.run = null;
      this.post({ type: 'done', id, finish: 'aborted', stats: coreStats(handle) });
    }
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#ticks.port2.postMessage(null);
  }

  #slice(): void {
    if (this.#engine === null) return;
    const until = performance.now() + SLICE_MS;
    do this.#encode();
    while (this.#encodings.length > 0 && performance.now() < until && !this.#anyRuns());
    if (this.#encodings.length > 0) this.#schedule();
    for (const [session, timeline] of [...this.#timelines]) {
      if (timeline.run === null || !this.#runSlice(timeline, timeline.run)) continue;
      // It has had its turn: the others come first now.
      if (this.#timelines.delete(session)) this.#timelines.set(session, timeline);
      if (this.#anyRuns()) this.#schedule();
      return;
    }
  }

  /** A slice of a session's run; false where it only waits for weights. */
  #runSlice(timeline: Timeline, run: Run): boolean {
    const { handle } = timeline;
    const until = performance.now() + SLICE_MS;
    const tokens: Token[] = [];
    let worked = false;
    const flush = (): void => {
      if (tokens.length === 0) return;
      run.lastStats = performance.now();
      this.post({ type: 'tokens', id: run.id, tokens: tokens.splice(0), stats: coreStats(handle) });
    };
    try {
      do {
        const event = parseAnswer<StepEvent>(handle.step());
        if (event.event === 'waiting') {
          // Bytes that are taken start the loop again.
          flush();
          this.#tellStatsIfDue(run, handle);
          return worked;
        }
        worked = true;
        if (event.event === 'token') {
          const { id, text, logprob, top } = event;
          tokens.push(top === undefined ? { id, text, logprob } : { id, text, logprob, top });
        } else if (event.event === 'done') {
          flush();
          timeline.run = null;
          const stats = coreStats(handle);
          if (run.kind === 'logits') {
            const value = parseAnswer<Logits>(handle.logits(run.top));
            this.post({ type: 'result', id: run.id, value, stats });
          } else {
            this.post({ type: 'done', id: run.id, finish: event.finish, stats });
          }
          return true;
        }
      } while (performance.now() < until);
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error;
      timeline.run = null;
      handle.cancel();
      handle.step();
      this.post({ type: 'error', id: run.id, error: toErrorData(error) });
      return true;
    }
    flush();
    this.#tellStatsIfDue(run, handle);
    return true;
  }
}
