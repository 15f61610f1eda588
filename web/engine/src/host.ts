// What the engine worker does: one module, one engine, its sessions, and the loop that runs them.
//
// The work is done in slices of about 10 ms. Between them the worker takes messages, such as a cancel or bytes. A posted
// message starts the next slice, not a timer: browsers slow the timers of hidden pages. While weights may still come, a slice
// is one step, so that what has come is taken before the next one.
import type {
  Answer,
  EncodingHandle,
  EngineHandle,
  SessionHandle,
  SluiceModule,
} from '../../../wasm/module.js';
import { check, parseAnswer } from './answers.js';
import { budgetNote, explained, roomFor, tooLarge, type Room } from './budget.js';
import { SluiceError, stoppedWorking, toErrorData } from './errors.js';
import { Feed, isUseless, type Opened } from './feed.js';
import { holdLifeline } from './lifeline.js';
import type { OpenModule } from './module.js';
import { Pool } from './pool.js';
import type { CoreStats, FlavourFiles, FromEngine, ToEngine } from './protocol.js';
import type { Finish, Logits, ModelInfo, Token } from './types.js';
import { WeightsNews } from './weights-view.js';

const SLICE_MS = 10;
const PROGRESS_MS = 50;
/** How often a run sends its figures while it has no tokens to send. */
const STATS_MS = 100;

/** What step() answers. */
type StepEvent =
  | { event: 'working' | 'waiting' }
  | { event: 'token'; id: number; text: string; logprob: number; top?: [number, number][] }
  | { event: 'done'; finish: Finish };

/** Throws if the file is incomplete on the server. So it need not be downloaded to its end. */
function checkLength(info: ModelInfo, { network, exact, sizes }: Opened): void {
  const [size = 0] = sizes;
  const promised = info.dataOffset + info.dataBytes;
  if (network && exact && sizes.length === 1 && size > 0 && promised > size) {
    throw new SluiceError(
      'download_failed',
      `the server has ${size} bytes of a file whose header names ${promised}: ` +
        'it is incomplete there; use another address, or upload it again',
    );
  }
}

function coreStats(engine: Pick<EngineHandle, 'stats'>): CoreStats {
  return JSON.parse(engine.stats()) as CoreStats;
}

/** Bytes of all files; 0 if unknown. */
function totalOf({ sizes }: Opened): number {
  return sizes.includes(0) ? 0 : sizes.reduce((sum, size) => sum + size, 0);
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
  /** The engine as soon as it is made. #engine is the same, but only after its header is read. */
  #opening: EngineHandle | null = null;
  #engine: EngineHandle | null = null;
  #module: SluiceModule | null = null;
  #feed: Feed | null = null;
  /** By session number. Those that run take turns, in this order. */
  readonly #timelines = new Map<number, Timeline>();
  /** Texts to tokenize, one after the other. */
  readonly #encodings: { id: number; encoding: EncodingHandle; ids: number[] }[] = [];
  #pool = new Pool(0, '');
  #dead = false;
  #trapped = false;
  #scheduled = false;
  #lastProgress = 0;
  #late: ReturnType<typeof setTimeout> | undefined;
  /** The page was told that the model is ready. */
  #ready = false;
  /** Null if the page doesn't want them. */
  #news: WeightsNews | null = null;
  /** The code that the page has compiled; it comes in a message of its own. */
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

  /** Ends the loop and its channel, which would keep a Node process alive. */
  close(): void {
    this.#dead = true;
    this.#news?.end();
    this.#ticks.port1.close();
  }

  /** The pool's threads end first: while they sleep or spin in wasm, they would outlive their worker by seconds. */
  #close(): void {
    this.#feed?.stop();
    // After a trap no destructor may run.
    if (!this.#trapped) {
      for (const { handle } of this.#timelines.values()) handle.delete();
      this.#opening?.delete();
    }
    this.close();
    void this.#pool.end().then(() => this.post({ type: 'closed' }));
  }

  /** Runs `work`; an error ends this worker. */
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
    this.#feed?.stop(isUseless(error));
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
    // The parser doesn't get the length that a server names: it would call a download that is cut short a bad file.
    // The end of the stream decides.
    const sizes = opened.network ? opened.sizes.map(() => 0) : opened.sizes;
    const room = roomFor(request.options, maxBytes, opened.arrival);
    if (request.probe) {
      const header = new module.Header(sizes);
      await feed.readHeader(header, module, memory);
      const shown = opened.exact ? totalOf(opened) : 0;
      const info = this.#info(header.inspect(room.options, shown), room);
      checkLength(info, opened);
      this.post({ type: 'understood', info, notes: [], stats: null });
      return;
    }
    const engine = new module.Engine();
    this.#opening = engine;
    this.#module = module;
    feed.onerror = (error) => this.#fail(explained(error, room));
    check(engine.open(room.options, sizes, opened.arrival));
    if (request.weights) {
      this.#news = new WeightsNews(
        () => engine.slots(),
        () => feed.brought,
        (slots, bytesPerSecond) => this.post({ type: 'weights', slots, bytesPerSecond }),
      );
    }
    feed.ontaken = () => this.#guard(() => this.#taken(engine, room, opened));
    feed.drive(engine, memory, request.direct);
  }

  #info(answer: Answer, room: Room): ModelInfo {
    const info = parseAnswer<ModelInfo>(answer);
    info.bytes = info.fileBytes;
    const error = info.supported ? tooLarge(info, room) : null;
    info.fits = info.supported && info.memory !== null && error === null;
    if (error !== null) info.error = error;
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

  /** After bytes were taken: reports the progress, and continues the runs that may wait for them. */
  #taken(engine: EngineHandle, room: Room, opened: Opened): void {
    if (this.#engine === null && engine.understood()) this.#understand(engine, room, opened);
    if (!this.#ready) this.#follow(engine, totalOf(opened));
    if (engine.loaded()) this.#feed?.enough();
    this.#news?.changed();
    if (this.#anyRuns()) this.#schedule();
  }

  #understand(engine: EngineHandle, room: Room, opened: Opened): void {
    const info = this.#info(engine.inspect(), room);
    checkLength(info, opened);
    if (info.error !== undefined) throw new SluiceError(info.error.code, info.error.message);
    this.#engine = engine;
    const module = this.#module as SluiceModule;
    this.#timelines.set(0, { handle: new module.Session(engine), run: null });
    const notes = JSON.parse(engine.notes()) as string[];
    const streams =
      info.memory === null || room.budget === null ? null : budgetNote(info.memory, room.budget);
    if (streams !== null) notes.push(streams);
    this.post({ type: 'understood', info, notes, stats: this.#stats() });
  }

  /** Tells the page how the loading goes on, and its end. */
  #follow(engine: EngineHandle, announced: number): void {
    this.#ready = engine.ready();
    if (this.#ready || performance.now() - this.#lastProgress >= PROGRESS_MS) {
      this.#tellProgress(engine, announced);
    } else {
      // If no more bytes come soon, these are reported later.
      this.#late ??= setTimeout(
        () => this.#guard(() => this.#tellProgress(engine, announced)),
        PROGRESS_MS,
      );
    }
    if (!this.#ready) return;
    this.post({ type: 'ready', stats: this.#stats() });
  }

  /** A session has moved, or is no more: asks for the weights that are wanted now, and continues the runs. */
  #moved(): void {
    this.#feed?.ask();
    this.#news?.changed();
    if (this.#anyRuns()) this.#schedule();
  }

  // --- running -------------------------------------------------------------------------------------

  /** The stats of the engine's own session. */
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
          return this.#moved();
      }
    } catch (error) {
      if (!(error instanceof SluiceError) || !('id' in message)) throw error;
      this.post({ type: 'error', id: message.id, error: toErrorData(error) });
    }
  }

  #begin(timeline: Timeline, run: Omit<Run, 'lastStats'>): void {
    // Its figures are sent with its tokens, or after its first slice. A message now would keep the page's thread, and so
    // a core, busy for a good part of a short prompt.
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

  /** Does the first slice at once if no other text waits: enough for a short text. */
  #tokenize(engine: EngineHandle, { id, text, special }: ToEngine & { type: 'tokenize' }): void {
    const module = this.#module as SluiceModule;
    this.#encodings.push({ id, encoding: new module.Encoding(engine, text, special), ids: [] });
    if (this.#encodings.length === 1) this.#encode();
    if (this.#encodings.length > 0) this.#schedule();
  }

  /** Does a slice of the first text. */
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

  /** The page already ignores `id`. A new run of the same session may be the next message. */
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
      this.#moved();
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
      // Moves it to the end of the order.
      if (this.#timelines.delete(session)) this.#timelines.set(session, timeline);
      return this.#moved();
    }
  }

  /** Does a slice of a session's run. Returns false if it only waited for weights. */
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
        // Also if it waits: what it waits for may be wanted only now.
        this.#feed?.ask();
        if (event.event === 'waiting') {
          // The next bytes start the loop again.
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
        // While weights may come, they are taken between two steps.
      } while (performance.now() < until && this.#feed?.open !== true);
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
