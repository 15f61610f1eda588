// What the engine worker does: one module, one engine, its sessions, and the loop that runs them.
//
// The work is done in slices of about 10 ms. Between them the worker takes messages, such as a cancel or bytes. A posted
// message starts the next slice, not a timer: browsers slow the timers of hidden pages. While weights may still arrive, a slice
// is one step, so that bytes that have arrived are taken before the next step.
import type { EngineHandle, SessionHandle, SluiceModule } from '../../../../wasm/module.js';
import { check, parseAnswer } from './module-answers.js';
import { budgetNote, explained, roomFor, type Room } from './budget.js';
import { ChatRuns } from './chat-runs.js';
import { Encodings } from './encodings.js';
import type {
  EngineCalls,
  EngineNews,
  FiguresItem,
  FromEngine,
  ToEngine,
} from '../shared/calls.js';
import { SluiceError, stoppedWorking, toldError } from '../shared/errors.js';
import { Feed, refusalOf, type Opened } from './feed.js';
import { checkLength, infoOf, totalOf } from './header.js';
import { Analysis, analysisHandlers } from './analysis.js';
import { KeptStates } from './kept-states.js';
import type { OpenModule } from './module.js';
import type { Note } from '../shared/notes.js';
import { Pool } from './pool.js';
import type { CoreStats, FlavourFiles } from '../shared/protocol.js';
import { LATER, Replies, type Handlers, type Reply } from '../shared/replies.js';
import { Runs, SLICE_MS, coreStats, tokensTo, type RunSession } from './runs.js';
import { SessionFiles } from './session-files.js';
import { isStopped } from '../shared/stops.js';
import type { Logits } from '../shared/types.js';
import { WeightsNews } from './weights-news.js';

const PROGRESS_MS = 50;

type OpenArgs = EngineCalls['open']['args'];

/** Throws if the session has fewer tokens. */
function checkTokens(handle: SessionHandle, length: number): void {
  const has = handle.tokens().length;
  if (length <= has) return;
  throw new SluiceError(
    'invalid_argument',
    `length is ${length}; the session has ${has} tokens: give a whole number from 0 to ${has}`,
  );
}

/** What there is once the header is read. */
interface Parts {
  module: SluiceModule;
  engine: EngineHandle;
  chats: ChatRuns;
  encodings: Encodings;
  analysis: Analysis;
}

function applyTemplate(
  engine: EngineHandle,
  { messages, kwargs, chatTemplate, adaptContents }: EngineCalls['applyTemplate']['args'],
): EngineCalls['applyTemplate']['result'] {
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
  return parseAnswer(answer);
}

export class EngineHost {
  /** The engine, as soon as it is constructed. #engine is set to it when its header is read. */
  #opening: EngineHandle | null = null;
  #engine: EngineHandle | null = null;
  /** What the sessions and calls are made of; null until the header is read. */
  #parts: Parts | null = null;
  #feed: Feed | null = null;
  readonly #runs: Runs;
  #files: SessionFiles | null = null;
  #kept: KeptStates | null = null;
  /** Answers the call that started the module: news of the model, and what ended it. */
  #news: Pick<Reply<never, EngineNews>, 'item' | 'fail'> | null = null;
  readonly #replies: Replies<EngineCalls>;
  #pool = new Pool(0, '');
  #dead = false;
  #trapped = false;
  /** The call that came last: the one that a prompt is made for, as no other message is taken meanwhile. */
  #call = 0;
  #scheduled = false;
  #lastProgress = 0;
  #late: ReturnType<typeof setTimeout> | undefined;
  /** The page was told that the model is ready. */
  #ready = false;
  /** Sends news of the weights to the page; null if it wants none. */
  #weights: WeightsNews | null = null;
  /** The wasm code that the page has compiled; it arrives in a separate message. */
  readonly #early: Promise<WebAssembly.Module | null>;
  #takeCode!: (code: WebAssembly.Module | null) => void;
  readonly #ticks = new MessageChannel();

  constructor(
    post: (message: FromEngine, transfer: Transferable[]) => void,
    readonly openModule: (
      files: FlavourFiles,
      pool: Pool,
      early: Promise<WebAssembly.Module | null>,
    ) => Promise<OpenModule>,
  ) {
    this.#replies = new Replies<EngineCalls>(this.#handlers(), (message, transfer) => {
      // A result has the engine's figures, if not those of its session.
      const bare = message.type === 'result' && message.stats === undefined;
      const live = this.#parts !== null && !this.#dead;
      post(bare && live ? { ...message, stats: this.#stats() } : message, transfer);
    });
    this.#runs = new Runs({
      ask: () => this.#feed?.ask(),
      loading: () => this.#feed?.open === true,
      wake: () => this.#scheduleAny(),
      moved: () => this.#moved(),
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
    if (message.type === 'call') this.#call = message.id;
    if (message.type === 'code') this.#takeCode(message.code);
    // It is answered also after a failure.
    else if (message.type === 'call' && message.name === 'close') this.#replies.handle(message);
    else this.#guard(() => this.#replies.handle(message));
  }

  /** What is done for each call. A call that works on texts or sessions needs the model's header (#loaded). */
  #handlers(): Handlers<EngineCalls> {
    return {
      open: (args, reply) => {
        this.#news = reply;
        void this.#open(args).catch((error: unknown) => this.#fail(error));
        return LATER;
      },
      measure: (args, reply) => {
        this.#news = { item: () => {}, fail: (error) => reply.fail(error) };
        this.#measure(args).then(
          (rate) => reply.end(rate),
          (error: unknown) => this.#fail(error),
        );
        return LATER;
      },
      close: (_, reply) => {
        this.#close();
        void this.#pool.end().then(() => reply.end(undefined));
        return LATER;
      },
      generate: ({ session, prompt, options, progress }, reply) => {
        const one = this.#session(session);
        check(
          typeof prompt === 'string'
            ? one.handle.startText(prompt, options)
            : one.handle.startIds(prompt, options),
        );
        this.#runs.serve(one, reply, tokensTo(reply), { progress });
        return LATER;
      },
      resume: ({ session, options }, reply) => {
        const one = this.#session(session);
        check(one.handle.resume(options));
        this.#runs.serve(one, reply, tokensTo(reply));
        return LATER;
      },
      chat: (args, reply) => {
        const { chats } = this.#loaded();
        if (args.session === undefined) chats.answer(args, reply);
        else chats.answerIn(this.#session(args.session), args, reply);
        return LATER;
      },
      logits: (args, reply) => this.#logits(args, reply),
      openSession: ({ session, from }) => {
        const { engine, module } = this.#loaded();
        const source = from === null ? null : this.#runs.find(from);
        const handle = source?.handle.clone() ?? new module.Session(engine);
        this.#runs.add(session, handle);
        return undefined;
      },
      closeSession: ({ session }) => {
        this.#runs.remove(session)?.delete();
        this.#moved();
        return undefined;
      },
      truncate: ({ session, length }) => {
        const { handle } = this.#session(session);
        checkTokens(handle, length);
        handle.truncate(length);
        return handle.tokens().length;
      },
      tokensOf: ({ session }) => [...this.#session(session).handle.tokens()],
      save: ({ session }, reply) => {
        this.#files?.save(this.#session(session).handle, reply);
        return LATER;
      },
      restore: (args, reply) => {
        this.#loaded();
        this.#files?.restore(args, reply);
        return LATER;
      },
      tokenize: (args, reply) => {
        this.#loaded().encodings.tokenize(args, reply);
        return LATER;
      },
      countText: (args, reply) => {
        this.#loaded().encodings.count(args, reply);
        return LATER;
      },
      countChat: ({ prompt }) => this.#loaded().chats.count(prompt),
      detokenize: ({ ids }) => this.#loaded().engine.detokenize(ids),
      applyTemplate: (args) => applyTemplate(this.#loaded().engine, args),
      ...analysisHandlers(() => this.#loaded().analysis),
    };
  }

  /** Throws if the header is not read yet. */
  #loaded(): Parts {
    if (this.#parts === null) throw new SluiceError('invalid_argument', 'the model is not loaded');
    return this.#parts;
  }

  #session(number: number): RunSession {
    this.#loaded();
    return this.#runs.get(number);
  }

  /** Ends the loop and its channel, which would keep a Node process alive. */
  close(): void {
    this.#dead = true;
    this.#runs.stop();
    this.#parts?.chats.stop();
    this.#kept?.stop();
    this.#weights?.end();
    this.#ticks.port1.close();
  }

  /** Ends the pool's threads before the worker: while they sleep or spin in wasm, they would outlive it by seconds. */
  #close(): void {
    this.#feed?.stop();
    // After a trap no destructor may run.
    if (!this.#trapped) {
      this.#files?.end();
      this.#kept?.end();
      this.#parts?.chats.end();
      this.#parts?.analysis.end();
      this.#runs.end();
      this.#opening?.delete();
    }
    this.close();
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
    this.#parts?.chats.stop();
    this.#kept?.stop();
    this.#trapped = !(error instanceof SluiceError);
    this.#feed?.stop(refusalOf(error));
    this.#news?.fail(stoppedWorking(error));
  }

  // --- loading -------------------------------------------------------------------------------------

  /** Starts the module's threads. */
  #startModule({ files, threads }: Pick<OpenArgs, 'files' | 'threads'>): Promise<OpenModule> {
    const { thread } = files;
    this.#pool = new Pool(threads - 1, thread.slice(thread.indexOf('#') + 1));
    return this.openModule(files, this.#pool, this.#early);
  }

  async #measure(args: EngineCalls['measure']['args']): Promise<EngineCalls['measure']['result']> {
    const { module } = await this.#startModule(args);
    if (this.#dead) throw new SluiceError('aborted', 'the worker was closed');
    const bytesPerSecond = module.decodeRate(false, args.threads);
    const bytesPerSecond8 = module.decodeRate(true, args.threads);
    if (bytesPerSecond === 0 || bytesPerSecond8 === 0)
      throw new SluiceError('out_of_memory', 'there is no memory left to measure how fast it is');
    return { bytesPerSecond, bytesPerSecond8 };
  }

  /** Tells the page news of the model. */
  #tell(news: EngineNews, stats?: CoreStats): void {
    this.#news?.item(news, stats);
  }

  async #open(request: OpenArgs): Promise<void> {
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
      const info = infoOf(header.inspect(room.options, shown), room);
      checkLength(info, opened);
      this.#tell({ kind: 'header', info, notes: [] });
      return;
    }
    const engine = new module.Engine();
    this.#opening = engine;
    engine.stopWhen(() => isStopped(request.stops, this.#call));
    feed.onerror = (error) => this.#fail(explained(error, room));
    check(engine.open(room.options, sizes, opened.access));
    this.#files = this.#makeFiles(openModule, engine);
    this.#kept = new KeptStates(openModule, engine, {
      note: (note) => this.#tell({ kind: 'notes', notes: [note] }),
      wake: () => this.#guard(() => this.#schedule()),
      ask: () => this.#feed?.ask(),
      broken: (error) => this.#fail(error),
    });
    if (request.weights) {
      this.#weights = new WeightsNews(
        () => engine.slots(),
        () => feed.brought,
        (slots, bytesPerSecond) => this.#tell({ kind: 'weights', slots, bytesPerSecond }),
      );
    }
    feed.ontaken = () => this.#guard(() => this.#taken(openModule, engine, room, opened));
    feed.drive(engine, memory, request.direct, module.packedLayout());
  }

  #tellProgress(engine: EngineHandle, announced: number): void {
    clearTimeout(this.#late);
    this.#late = undefined;
    this.#lastProgress = performance.now();
    const progress = engine.progress();
    const total = progress.total || announced;
    this.#tell({ kind: 'progress', ...progress, total }, coreStats(engine));
  }

  /** After bytes were taken: reports the progress, and continues the runs that may wait for them. */
  #taken(module: OpenModule, engine: EngineHandle, room: Room, opened: Opened): void {
    // If all weights are loaded, the model could write text before the file's sha256 is verified: the page must wait.
    const proven = this.#feed?.proven === true;
    if (this.#engine === null && engine.hasTokenizer() && (proven || !engine.ready()))
      this.#takeInfo(module, engine, room, opened);
    if (!this.#ready) this.#follow(engine, totalOf(opened), proven && engine.ready());
    if (proven && engine.loaded()) this.#feed?.enough();
    this.#weights?.changed();
    this.#scheduleAny();
  }

  #takeInfo(code: OpenModule, engine: EngineHandle, room: Room, opened: Opened): void {
    const { module } = code;
    const info = infoOf(engine.inspect(), room);
    checkLength(info, opened);
    if (info.error !== undefined) throw toldError(info.error);
    this.#engine = engine;
    this.#runs.add(0, new module.Session(engine));
    this.#parts = {
      module,
      engine,
      chats: new ChatRuns(module, engine, info.memory, this.#runs, this.#kept as KeptStates, {
        stats: () => this.#stats(),
        wake: () => this.#schedule(),
        broken: (error) => this.#fail(error),
      }),
      encodings: new Encodings(module, engine, () => this.#schedule()),
      analysis: new Analysis(
        code,
        engine,
        info,
        this.#runs,
        () => this.#moved(),
        (work) => this.#guard(work),
      ),
    };
    const notes = JSON.parse(engine.notes()) as Note[];
    const streams =
      info.memory === null || room.budget === null ? null : budgetNote(info.memory, room.budget);
    if (streams !== null) notes.push(streams);
    this.#tell({ kind: 'header', info, notes }, this.#stats());
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
    this.#tell({ kind: 'ready' }, this.#stats());
  }

  /** A session has advanced or was deleted: requests the weights that are wanted now, and continues the runs. */
  #moved(): void {
    this.#feed?.ask();
    this.#weights?.changed();
    this.#scheduleAny();
  }

  // --- running -------------------------------------------------------------------------------------

  /** The stats of the engine's own session. */
  #stats(): CoreStats {
    return coreStats(this.#runs.get(0).handle);
  }

  /** Schedules a slice if there is work that may have waited. */
  #scheduleAny(): void {
    if (
      this.#runs.any ||
      this.#parts?.analysis.busy === true ||
      this.#files?.busy ||
      this.#kept?.busy
    )
      this.#schedule();
  }

  #makeFiles(opened: OpenModule, engine: EngineHandle): SessionFiles {
    return new SessionFiles(opened, engine, {
      restored: (session, handle) => void this.#runs.add(session, handle),
      wake: () => this.#guard(() => this.#schedule()),
    });
  }

  #logits(
    { session, ids, batch, top }: EngineCalls['logits']['args'],
    reply: Reply<Logits, FiguresItem>,
  ): typeof LATER {
    const one = this.#session(session);
    check(one.handle.startLogits(ids, batch, []));
    this.#runs.serve(one, reply, {
      held: false,
      // It has no tokens.
      item: (_, stats) => reply.item({ kind: 'figures' }, stats),
      done: (handle, finish) => {
        if (finish === 'aborted') return;
        reply.end(parseAnswer<Logits>(handle.logits(top, 0)), coreStats(handle));
      },
      failed: (error) => reply.fail(error),
    });
    return LATER;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#ticks.port2.postMessage(null);
  }

  #slice(): void {
    if (this.#engine === null) return;
    const until = performance.now() + SLICE_MS;
    const { encodings, analysis } = this.#loaded();
    do encodings.step();
    while (encodings.any && performance.now() < until && !this.#runs.any);
    if (encodings.any) this.#schedule();
    analysis.slice(until);
    if (analysis.busy) this.#schedule();
    if (this.#files?.busy === true) {
      if (this.#files.slice()) this.#schedule();
      // Computing the model's identity may want more weights now.
      this.#feed?.ask();
    }
    this.#kept?.slice();
    if (this.#runs.slice()) this.#moved();
  }
}
