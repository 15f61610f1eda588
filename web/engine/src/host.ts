// What the engine worker does: one module, one engine, its sessions, and the loop that runs them.
//
// The work is done in slices of about 10 ms. Between them the worker takes messages, such as a cancel or bytes. A posted
// message starts the next slice, not a timer: browsers slow the timers of hidden pages. While weights may still arrive, a slice
// is one step, so that bytes that have arrived are taken before the next step.
import type {
  Answer,
  EngineHandle,
  PromptHandle,
  SessionHandle,
  SluiceModule,
} from '../../../wasm/module.js';
import { check, parseAnswer } from './answers.js';
import { budgetNote, explained, roomFor, tooLarge, type Room } from './budget.js';
import { CHAT_SESSION, ChatSessions } from './chat-sessions.js';
import { Encodings } from './encodings.js';
import { SluiceError, stoppedWorking, toErrorData, toldError } from './errors.js';
import { Feed, refusalOf, type Opened } from './feed.js';
import { KeptStates, type Hold } from './kept-states.js';
import { holdLifeline } from './lifeline.js';
import type { OpenModule } from './module.js';
import type { Note } from './notes.js';
import { Pool } from './pool.js';
import type { CoreStats, FlavourFiles, FromEngine, StateRequest, ToEngine } from './protocol.js';
import { Runs, SLICE_MS, coreStats, type NewRun, type RunTimeline } from './runs.js';
import { SessionFiles } from './session-files.js';
import type { Logits, ModelInfo } from './types.js';
import { TextRuns } from './vectors/text-runs.js';
import type { FilledMask } from './vectors/types.js';
import { WeightsNews } from './weights-view.js';

const PROGRESS_MS = 50;

type ChatCall = ToEngine & { type: 'chat' };
/** The fields that start the module. */
type Start = Pick<ToEngine & { type: 'open' }, 'lifeline' | 'files' | 'threads'>;

/** Throws if the file is incomplete on the server, before it is downloaded to its end. */
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

/** Throws if the session has fewer tokens. */
function checkTokens(handle: SessionHandle, length: number): void {
  const has = handle.tokens().length;
  if (length <= has) return;
  throw new SluiceError(
    'invalid_argument',
    `length is ${length}; the session has ${has} tokens: give a whole number from 0 to ${has}`,
  );
}

/** Bytes of all files; 0 if unknown. */
function totalOf({ sizes }: Opened): number {
  return sizes.includes(0) ? 0 : sizes.reduce((sum, size) => sum + size, 0);
}

export class EngineHost {
  /** The engine, as soon as it is constructed. #engine is set to it when its header is read. */
  #opening: EngineHandle | null = null;
  #engine: EngineHandle | null = null;
  #module: SluiceModule | null = null;
  #feed: Feed | null = null;
  readonly #runs: Runs;
  #chats: ChatSessions | null = null;
  #encodings: Encodings | null = null;
  #texts: TextRuns | null = null;
  #files: SessionFiles | null = null;
  #kept: KeptStates | null = null;
  /** The chat whose state is being restored. */
  #starting: { id: number } | null = null;
  #pool = new Pool(0, '');
  #dead = false;
  #trapped = false;
  #scheduled = false;
  #lastProgress = 0;
  #late: ReturnType<typeof setTimeout> | undefined;
  /** The page was told that the model is ready. */
  #ready = false;
  /** Sends news of the weights to the page; null if it wants none. */
  #news: WeightsNews | null = null;
  /** The wasm code that the page has compiled; it arrives in a separate message. */
  readonly #early: Promise<WebAssembly.Module | null>;
  #takeCode!: (code: WebAssembly.Module | null) => void;
  readonly #ticks = new MessageChannel();

  constructor(
    readonly post: (message: FromEngine, transfer?: Transferable[]) => void,
    readonly openModule: (
      files: FlavourFiles,
      pool: Pool,
      early: Promise<WebAssembly.Module | null>,
    ) => Promise<OpenModule>,
  ) {
    this.#runs = new Runs({
      post,
      ask: () => this.#feed?.ask(),
      loading: () => this.#feed?.open === true,
    });
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
    } else if (message.type === 'measure') {
      void this.#measure(message).catch((error: unknown) => this.#fail(error));
    } else if (message.type === 'code') {
      this.#takeCode(message.code);
    } else if (message.type === 'cancel') {
      this.#guard(() => this.#cancel(message.id));
    } else if (message.type === 'hold') {
      this.#guard(() => {
        if (this.#engine === null) return;
        this.#runs.hold(message.id, message.on);
        this.#scheduleAny();
      });
    } else if (message.type === 'close') {
      this.#close();
    } else {
      this.#guard(() => this.#request(message));
    }
  }

  /** Ends the loop and its channel, which would keep a Node process alive. */
  close(): void {
    this.#dead = true;
    this.#runs.stop();
    this.#kept?.stop();
    this.#news?.end();
    this.#ticks.port1.close();
  }

  /** Ends the pool's threads before the worker: while they sleep or spin in wasm, they would outlive it by seconds. */
  #close(): void {
    this.#feed?.stop();
    // After a trap no destructor may run.
    if (!this.#trapped) {
      this.#files?.end();
      this.#kept?.end();
      this.#runs.remove(CHAT_SESSION);
      this.#chats?.end();
      this.#texts?.end();
      this.#runs.end();
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
    this.#runs.stop();
    this.#kept?.stop();
    this.#trapped = !(error instanceof SluiceError);
    this.#feed?.stop(refusalOf(error));
    this.post({ type: 'failed', error: toErrorData(stoppedWorking(error)) });
  }

  // --- loading -------------------------------------------------------------------------------------

  /** Starts the module's threads. */
  #startModule({ lifeline, files, threads }: Start): Promise<OpenModule> {
    void holdLifeline(lifeline).then(() => this.post({ type: 'alive' }));
    const { thread } = files;
    this.#pool = new Pool(threads - 1, thread.slice(thread.indexOf('#') + 1));
    return this.openModule(files, this.#pool, this.#early);
  }

  async #measure(request: ToEngine & { type: 'measure' }): Promise<void> {
    const { module } = await this.#startModule(request);
    if (this.#dead) return;
    const bytesPerSecond = module.decodeRate(false, request.threads);
    const bytesPerSecond8 = module.decodeRate(true, request.threads);
    if (bytesPerSecond === 0 || bytesPerSecond8 === 0)
      throw new SluiceError('out_of_memory', 'there is no memory left to measure how fast it is');
    this.post({ type: 'measured', rate: { bytesPerSecond, bytesPerSecond8 } });
  }

  async #open(request: ToEngine & { type: 'open' }): Promise<void> {
    const starting = this.#startModule(request);
    const feed = new Feed(request.port);
    this.#feed = feed;
    feed.onerror = (error) => this.#fail(error);
    const [opened, openModule] = await Promise.all([feed.opened, starting]);
    if (this.#dead) return;
    const { module, memory, maxBytes } = openModule;
    // The parser doesn't get the length that a server names: it would report a truncated download as a bad file.
    // The length is checked at the end of the stream.
    const sizes = opened.network ? opened.sizes.map(() => 0) : opened.sizes;
    const room = roomFor(request.options, maxBytes, opened.access);
    if (request.probe) {
      const header = new module.Header(sizes);
      await feed.readHeader(header, module, memory);
      const shown = opened.exact ? totalOf(opened) : 0;
      const info = this.#info(header.inspect(room.options, shown), room);
      checkLength(info, opened);
      this.post({ type: 'has_tokenizer', info, notes: [], stats: null });
      return;
    }
    const engine = new module.Engine();
    this.#opening = engine;
    this.#module = module;
    feed.onerror = (error) => this.#fail(explained(error, room));
    check(engine.open(room.options, sizes, opened.access));
    this.#files = this.#makeFiles(openModule, engine);
    this.#kept = new KeptStates(openModule, engine, {
      note: (note) => this.post({ type: 'notes', notes: [note] }),
      wake: () => this.#guard(() => this.#schedule()),
      ask: () => this.#feed?.ask(),
      broken: (error) => this.#fail(error),
    });
    if (request.weights) {
      this.#news = new WeightsNews(
        () => engine.slots(),
        () => feed.brought,
        (slots, bytesPerSecond) => this.post({ type: 'weights', slots, bytesPerSecond }),
      );
    }
    feed.ontaken = () => this.#guard(() => this.#taken(engine, room, opened));
    feed.drive(engine, memory, request.direct, module.packedLayout());
  }

  #info(answer: Answer, room: Room): ModelInfo {
    // What a model makes is left out if it can't be run.
    const unknown = { makes: [], pooling: null, dimensions: null };
    const info = { ...unknown, ...parseAnswer<ModelInfo>(answer) };
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
    // If all weights are loaded, the model could write text before the file's sha256 is verified: the page must wait.
    const proven = this.#feed?.proven === true;
    if (this.#engine === null && engine.hasTokenizer() && (proven || !engine.ready()))
      this.#takeInfo(engine, room, opened);
    if (!this.#ready) this.#follow(engine, totalOf(opened), proven && engine.ready());
    if (proven && engine.loaded()) this.#feed?.enough();
    this.#news?.changed();
    this.#scheduleAny();
  }

  #takeInfo(engine: EngineHandle, room: Room, opened: Opened): void {
    const info = this.#info(engine.inspect(), room);
    checkLength(info, opened);
    if (info.error !== undefined) throw toldError(info.error);
    this.#engine = engine;
    const module = this.#module as SluiceModule;
    this.#runs.add(0, new module.Session(engine));
    const spare = (): boolean => this.#kept?.spare() === true;
    this.#chats = new ChatSessions(module, engine, info.memory, spare);
    this.#encodings = new Encodings(module, engine, (id, value) => this.#result(id, value));
    this.#texts = new TextRuns(module, engine, info, this.#runs, {
      post: this.post,
      result: (id, value) => this.#result(id, value),
    });
    const notes = JSON.parse(engine.notes()) as Note[];
    const streams =
      info.memory === null || room.budget === null ? null : budgetNote(info.memory, room.budget);
    if (streams !== null) notes.push(streams);
    this.post({ type: 'has_tokenizer', info, notes, stats: this.#stats() });
  }

  /** Reports the loading's progress and its end to the page. */
  #follow(engine: EngineHandle, announced: number, ready: boolean): void {
    this.#ready = ready;
    if (this.#ready || performance.now() - this.#lastProgress >= PROGRESS_MS) {
      this.#tellProgress(engine, announced);
    } else {
      // If no more bytes arrive soon, these are reported later.
      this.#late ??= setTimeout(
        () => this.#guard(() => this.#tellProgress(engine, announced)),
        PROGRESS_MS,
      );
    }
    if (!this.#ready) return;
    this.post({ type: 'ready', stats: this.#stats() });
  }

  /** A session has advanced or was deleted: requests the weights that are wanted now, and continues the runs. */
  #moved(): void {
    this.#feed?.ask();
    this.#news?.changed();
    this.#scheduleAny();
  }

  // --- running -------------------------------------------------------------------------------------

  /** The stats of the engine's own session. */
  #stats(): CoreStats {
    return coreStats(this.#runs.get(0).handle);
  }

  /** Schedules a slice if there is work that may have waited. */
  #scheduleAny(): void {
    const { busy } = this.#texts ?? {};
    if (this.#runs.any || busy || this.#files?.busy || this.#kept?.busy) this.#schedule();
  }

  #makeFiles(opened: OpenModule, engine: EngineHandle): SessionFiles {
    return new SessionFiles(opened, engine, {
      saved: (id, file) => this.#result(id, file),
      restored: (id, session, handle) => {
        this.#runs.add(session, handle);
        this.#result(id, handle.tokens().length);
      },
      failed: (id, error) => this.post({ type: 'error', id, error: toErrorData(error) }),
      wake: () => this.#guard(() => this.#schedule()),
    });
  }

  #request(
    message: Exclude<ToEngine, { type: 'open' | 'measure' | 'code' | 'cancel' | 'hold' | 'close' }>,
  ): void {
    const engine = this.#engine;
    try {
      if (engine === null) throw new SluiceError('invalid_argument', 'the model is not loaded');
      switch (message.type) {
        case 'tokenize':
          this.#encodings?.add(message);
          return this.#encodings?.any === true ? this.#schedule() : undefined;
        case 'countChat': {
          const { tokens, warnings } = (this.#chats as ChatSessions).count(message.prompt);
          return this.#result(message.id, tokens, warnings);
        }
        case 'detokenize':
          return this.#result(message.id, engine.detokenize(message.ids));
        case 'applyTemplate':
          return this.#applyTemplate(engine, message);
        case 'generate': {
          const { session, id, prompt, options } = message;
          const timeline = this.#runs.get(session);
          check(
            typeof prompt === 'string'
              ? timeline.handle.startText(prompt, options)
              : timeline.handle.startIds(prompt, options),
          );
          return this.#begin(timeline, { id }, message.progress);
        }
        case 'resume': {
          const timeline = this.#runs.get(message.session);
          check(timeline.handle.resume(message.options));
          return this.#begin(timeline, { id: message.id }, false);
        }
        case 'save':
          return this.#files?.save(message.id, this.#runs.get(message.session).handle);
        case 'restore':
          return this.#files?.restore(message.id, message.session, message.file);
        case 'chat':
          return this.#chat(message);
        case 'logits': {
          const { session, id, ids, batch, top } = message;
          const timeline = this.#runs.get(session);
          check(timeline.handle.startLogits(ids, batch, []));
          const tell = (handle: SessionHandle): void => {
            const value = parseAnswer<Logits>(handle.logits(top, 0));
            this.post({ type: 'result', id, value, stats: coreStats(handle) });
          };
          return this.#begin(timeline, { id, tell }, false);
        }
        case 'embed':
        case 'fillMask':
          this.#texts?.add(message);
          return this.#schedule();
        case 'openSession': {
          const module = this.#module as SluiceModule;
          const from = message.from === null ? null : this.#runs.find(message.from);
          const handle = from?.handle.clone() ?? new module.Session(engine);
          this.#runs.add(message.session, handle);
          return;
        }
        case 'truncate': {
          const { handle } = this.#runs.get(message.session);
          checkTokens(handle, message.length);
          handle.truncate(message.length);
          return this.#result(message.id, handle.tokens().length);
        }
        case 'tokensOf':
          return this.#result(message.id, [...this.#runs.get(message.session).handle.tokens()]);
        case 'closeSession': {
          this.#runs.remove(message.session)?.delete();
          return this.#moved();
        }
      }
    } catch (error) {
      if (!(error instanceof SluiceError) || !('id' in message)) throw error;
      this.post({ type: 'error', id: message.id, error: toErrorData(error) });
    }
  }

  #begin(timeline: RunTimeline, begun: NewRun, progress: boolean): void {
    this.#runs.begin(timeline, begun, progress);
    this.#schedule();
  }

  #chat(message: ChatCall): void {
    if (this.#runs.find(CHAT_SESSION)?.run != null || this.#starting !== null)
      throw new SluiceError('busy', 'this engine answers another request; wait for its end');
    // The last chat's session may be evicted from now on.
    this.#runs.remove(CHAT_SESSION);
    const prompt = (this.#chats as ChatSessions).open(message);
    if (message.state === null) return this.#answer(message, null);
    void this.#restore(message, message.state, prompt).catch((error: unknown) => this.#fail(error));
  }

  /** Restores the conversation's stored state if its reply can reuse more tokens than in any session. Then answers. */
  async #restore(message: ChatCall, state: StateRequest, prompt: PromptHandle): Promise<void> {
    const { id } = message;
    const starting = { id };
    this.#starting = starting;
    const live = (): boolean => this.#starting === starting && !this.#dead;
    const kept = this.#kept as KeptStates;
    const chats = this.#chats as ChatSessions;
    const hold = await kept.hold(state);
    if (hold !== null && live()) {
      const session = await kept.restore(
        hold,
        prompt,
        () => chats.reusable,
        live,
        () => chats.makeRoom(),
      );
      if (live() && session !== null) chats.adopt(session);
      else session?.delete();
    }
    if (!live()) {
      if (hold !== null) kept.release(hold);
      return;
    }
    this.#starting = null;
    try {
      this.#answer(message, hold);
    } catch (error) {
      if (hold !== null) kept.release(hold);
      if (!(error instanceof SluiceError)) throw error;
      this.post({ type: 'error', id, error: toErrorData(error) });
    }
  }

  /** Starts the answer. `hold`: the stored state to update after it. */
  #answer(message: ChatCall, hold: Hold | null): void {
    const { id, progress } = message;
    const { handle, begun, dress, again } = (this.#chats as ChatSessions).start(message);
    this.post({ type: 'chatBegun', id, ...begun });
    const timeline = this.#runs.add(CHAT_SESSION, handle);
    const ended = (normally: boolean): void => {
      if (hold === null) return;
      const copy = normally ? handle.clone() : null;
      if (copy === null) this.#kept?.release(hold);
      else this.#kept?.keep(hold, copy);
    };
    this.#begin(timeline, { id, dress, again, ended }, progress);
  }

  #result(
    id: number,
    value: string | number | number[] | Blob | FilledMask[],
    notes: Note[] = [],
  ): void {
    this.post({ type: 'result', id, value, stats: this.#stats(), notes });
  }

  #applyTemplate(engine: EngineHandle, message: ToEngine & { type: 'applyTemplate' }): void {
    const { id, messages, kwargs, chatTemplate, adaptContents } = message;
    const now = new Date();
    const answer = engine.applyTemplate(
      messages,
      kwargs,
      chatTemplate,
      adaptContents,
      false,
      Math.floor(now.getTime() / 1000),
      -60 * now.getTimezoneOffset(),
    );
    const { text, warnings } = parseAnswer<{ text: string; warnings: Note[] }>(answer);
    this.#result(id, text, warnings);
  }

  /** The page already ignores `id`. */
  #cancel(id: number): void {
    this.#encodings?.cancel(id);
    this.#files?.cancel(id);
    if (this.#starting?.id === id) {
      this.#starting = null;
      this.post({ type: 'done', id, finish: 'aborted', stats: this.#stats() });
      this.#schedule();
    }
    if (this.#texts?.cancel(id) === true || this.#runs.cancel(id)) this.#moved();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#ticks.port2.postMessage(null);
  }

  #slice(): void {
    if (this.#engine === null) return;
    const until = performance.now() + SLICE_MS;
    const texts = this.#encodings as Encodings;
    do texts.step();
    while (texts.any && performance.now() < until && !this.#runs.any);
    if (texts.any) this.#schedule();
    this.#texts?.slice(until);
    if (this.#texts?.busy === true) this.#schedule();
    if (this.#files?.busy === true) {
      if (this.#files.slice()) this.#schedule();
      // Computing the model's identity may want more weights now.
      this.#feed?.ask();
    }
    this.#kept?.slice();
    if (this.#runs.slice()) this.#moved();
  }
}
