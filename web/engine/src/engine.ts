// Engine: the page's side of a model. The work is done in workers (protocol.ts). The engine holds the promises, and
// settles all of them even if a worker dies.
import { bindMembers } from './bound.js';
import { askToPersist } from './cache.js';
import { Chat } from './chat/chat.js';
import type { ChatHooks, RunOwner } from './chat/reply.js';
import type { ChatCompletions, Completions } from './chat/types.js';
import { SluiceError, abortReason, reworded, toldError } from './errors.js';
import { chooseFlavour, detectAbilities, processors } from './flavours.js';
import { LoadView } from './load-view.js';
import { measureDecoding } from './measure.js';
import { addNotes, type Note } from './notes.js';
import { LOAD_RULES } from './option-table.js';
import {
  coreLoadOptions,
  takeLoadOptions,
  takeSaveOptions,
  takeSessionFile,
  takeSessionOptions,
} from './options.js';
import { fetchPrefix } from './prefix.js';
import { deferred, onAbort } from './promises.js';
import type { Course, FromEngine, ToEngine } from './protocol.js';
import { resolveSource } from './sources.js';
import { applyTemplate, countTokens, detokenize, tokenize } from './text-calls.js';
import { NO_RUN, NO_STATS, Timeline, type TimelineHooks, type Value } from './timeline.js';
import type {
  AsyncStream,
  ChatMessage,
  Completion,
  CountOptions,
  DetokenizeOptions,
  EngineStats,
  GenerateOptions,
  LoadOptions,
  LoadProgress,
  Logits,
  LogitsOptions,
  DecodeRate,
  MeasureOptions,
  ModelInfo,
  ModelSource,
  ProbeOptions,
  Prompt,
  RestoreOptions,
  Session,
  SessionOptions,
  TemplateOptions,
  Token,
  TokenizeOptions,
} from './types.js';
import {
  embed,
  fillMask,
  refusal,
  similar,
  type TextCallHooks,
  type VectorsMessage,
} from './vectors/calls.js';
import { makeEmbeddings } from './vectors/openai.js';
import type {
  Embeddings,
  Embedding,
  EmbedOptions,
  EmbedTexts,
  FilledMask,
  FillMaskOptions,
  Match,
  SimilarOptions,
} from './vectors/types.js';
import { Workers, type OpenRequest } from './workers.js';

interface PendingAnswer {
  hear?: ((message: VectorsMessage) => void) | undefined;
  resolve(value: Value): void;
  reject(error: unknown): void;
}

/** The constructor's first argument. It isn't exported, so only load and probe can make engines. */
const BY_LOAD = Symbol('Engine.load');

/** The engines that have not ended. */
const engines = new Set<Engine>();

/** A model that is loaded or loading. Made by Engine.load; close() frees everything. */
export class Engine implements AsyncDisposable {
  /** What the file's header says. */
  get info(): ModelInfo {
    return this.#info as ModelInfo;
  }

  /**
   * Resolves when all resident weights are loaded: all weights, unless the model is larger than its `memoryBudget`. Rejects
   * with the error that ended the loading.
   */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  /**
   * Resolves when the whole model has arrived: together with `ready`, unless the model is downloaded, and larger than its
   * `memoryBudget` or with a table of which single rows are enough. Then weights that are streamed, or that table, may arrive
   * later. Rejects with the error that ended the engine before that.
   */
  get arrived(): Promise<void> {
    return this.#arrived.promise;
  }

  #info: ModelInfo | null = null;
  #workers: Workers | null = null;
  readonly #hasTokenizer = deferred();
  readonly #ready = deferred();
  readonly #arrived = deferred();
  /** What ended the engine; undefined until then. */
  #over: unknown;
  readonly #started = performance.now();
  #loadMs = 0;
  /** The engine's own session. */
  readonly #own: Timeline;
  /** The open sessions, and the owner of each run until the worker reports the run's end. */
  readonly #timelines = new Set<Timeline>();
  readonly #runs = new Map<number, RunOwner>();
  readonly #chat: Chat;
  readonly #texts: TextCallHooks;
  readonly #embeddings: Embeddings;
  #nextSession = 1;
  readonly #flavour: EngineStats['flavour'];
  readonly #notes: Note[];
  readonly #view: LoadView;
  #nextId = 1;
  readonly #pending = new Map<number, PendingAnswer>();

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
    const hooks: ChatHooks = {
      ...this.#runHooks(),
      admit: () => this.#admitText(),
      figures: (figures, finish) => this.#own.chatted(figures, finish),
      note: (notes) => addNotes(this.#notes, notes),
      info: () => this.info,
    };
    this.#chat = new Chat(hooks, options.queueLimit ?? Infinity);
    this.#texts = {
      admit: () => this.#admit(),
      info: () => this.info,
      ask: (message, signal, hear) => this.#request(message, signal, undefined, hear),
    };
    this.#embeddings = makeEmbeddings(this.#texts);
    this.#view = new LoadView(options, source);
    bindMembers(this);
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

  /**
   * Measures for about a second how fast an engine in this browser decodes. A model has about `bytesPerSecond /
   * info.memory.bytesPerToken` tokens per second (`bytesPerSecond8` with weights of eight bits), fewer if
   * `info.memory.rereadBytes` are read again for each. A separate worker measures in 128 MiB, which it frees. `busy` while an
   * engine of this page loads or computes, because measuring would disturb it.
   */
  static measure(options: MeasureOptions = {}): Promise<DecodeRate> {
    return measureDecoding(options, () => [...engines].some((engine) => engine.#busy));
  }

  get #busy(): boolean {
    return this.#loadMs === 0 || this.#runs.size > 0 || this.#pending.size > 0;
  }

  static async #open(source: ModelSource, given: LoadOptions, probe: boolean): Promise<Engine> {
    const options = takeLoadOptions(given);
    const { signal } = options;
    // A probe uses the flavour that loading uses, so that its files are fetched only once. It starts no threads.
    const choice = chooseFlavour(options.flavour, options.threads, detectAbilities(), processors());
    // A probe plans the memory for the threads that loading would start.
    const coreOptions = coreLoadOptions(options, choice.threads);
    if (probe) choice.threads = 1;
    if (signal?.aborted) throw abortReason(signal);
    const resolved = await resolveSource(source, options);
    if (signal?.aborted) throw abortReason(signal);
    const kinds = { url: 'network', response: 'network', blobs: 'file', bytes: 'memory' } as const;
    const engine = new Engine(BY_LOAD, choice, options, kinds[resolved.kind]);
    const request: OpenRequest = {
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
    };
    engine.#workers = new Workers(request, request);
    if (!probe) engines.add(engine);
    const release = onAbort(signal, (reason) => engine.#end(reason));
    engine.#ready.promise.then(release, release);
    await engine.#hasTokenizer.promise;
    return engine;
  }

  // --- messages from the worker --------------------------------------------------------------------

  #receive(message: Exclude<FromEngine, { type: 'alive' | 'closed' }>): void {
    if (this.#over !== undefined) return;
    const timeline = 'id' in message ? this.#runs.get(message.id) : undefined;
    if (timeline !== undefined && 'stats' in message && message.stats !== null)
      this.#view.waitedMs = message.stats.waitedMs;
    if ('id' in message && timeline !== undefined) {
      timeline.receive(message);
      if (['done', 'error', 'result'].includes(message.type)) this.#runs.delete(message.id);
    } else if ('stats' in message && message.stats !== null && !this.#own.running) {
      // The stats of loading, or of a result. Any other message with an id is about a run of a closed session.
      if (!('id' in message) || message.type === 'result') this.#own.core = message.stats;
    }
    switch (message.type) {
      case 'has_tokenizer':
        this.#info = message.info;
        this.#view.hasTokenizer(message.info);
        addNotes(this.#notes, message.notes);
        this.#hasTokenizer.resolve();
        break;
      case 'notes':
        addNotes(this.#notes, message.notes);
        break;
      case 'progress':
        this.#view.report(message);
        break;
      case 'weights':
        this.#view.tellWeights(message);
        break;
      case 'ready':
        this.#loadMs = performance.now() - this.#started;
        this.#view.ready();
        this.#ready.resolve();
        if (this.#view.hasArrived) this.#arrived.resolve();
        break;
      case 'failed':
        this.#end(toldError(message.error));
        break;
      case 'error': {
        const error = toldError(message.error);
        timeline?.fail(message.id, error);
        this.#take(message.id)?.reject(error);
        break;
      }
      case 'vectors':
        this.#pending.get(message.id)?.hear?.(message);
        break;
      case 'result':
        addNotes(this.#notes, message.notes ?? []);
        this.#take(message.id)?.resolve(message.value);
        break;
    }
  }

  /** Takes the loader's progress and notes. */
  #follow(course: Course): void {
    if (this.#over !== undefined) return;
    addNotes(this.#notes, course.notes);
    this.#view.follow(course);
    if (this.#view.hasArrived) this.#arrived.resolve();
  }

  #take(id: number): PendingAnswer | undefined {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }

  /** Ends this engine: rejects everything that is pending, and ends the workers, which frees their memory. */
  #end(error: unknown): Promise<void> {
    if (this.#over !== undefined) return Promise.resolve();
    this.#over = error;
    engines.delete(this);
    this.#hasTokenizer.reject(error);
    this.#ready.reject(error);
    this.#arrived.reject(error);
    for (const timeline of this.#timelines) timeline.end(null, error);
    this.#chat.end(error);
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
      ? reworded(over, over.message)
      : new SluiceError('closed', 'this engine is closed; load the model again');
  }

  /** Throws if the engine has ended, or if its model makes no text. */
  #admitText(): void {
    this.#admit();
    if (!this.info.makes.includes('text')) throw refusal(this.info, 'text', 'makes no text');
  }

  /** `of`: the timeline whose run it is. `hear` gets the vectors that come before the result. */
  #request(
    message: (id: number) => ToEngine,
    signal: AbortSignal | undefined,
    of?: Timeline,
    hear?: (message: VectorsMessage) => void,
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
        hear,
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

  readonly #ask = (
    message: (id: number) => ToEngine,
    signal: AbortSignal | undefined,
  ): Promise<Value> => this.#request(message, signal);

  #runHooks(): Pick<ChatHooks, 'admit' | 'beginRun' | 'post'> {
    return {
      admit: () => this.#admit(),
      beginRun: (of) => {
        const id = this.#nextId++;
        this.#runs.set(id, of);
        return id;
      },
      post: (message) => this.#workers?.post(message),
    };
  }

  #hooks(): TimelineHooks {
    return {
      ...this.#runHooks(),
      admitText: () => this.#admitText(),
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

  #addTimeline(session: number): Timeline {
    const timeline = new Timeline(session, this.#hooks(), { ...this.#own.core, ...NO_RUN });
    this.#timelines.add(timeline);
    return timeline;
  }

  #openTimeline(from: Timeline | null): Timeline {
    const timeline = this.#addTimeline(this.#nextSession++);
    this.#workers?.post({
      type: 'openSession',
      session: timeline.session,
      from: from?.session ?? null,
    });
    return timeline;
  }

  /** A new session, without tokens. There may be any number. The engine's own methods use a session of their own. */
  session(): Session;
  /** A new session that begins with the tokens of a saved one, as `restore` makes it. */
  session(options: SessionOptions): Promise<Session>;
  session(options?: SessionOptions): Session | Promise<Session> {
    if (options !== undefined) return this.#prepared(options);
    this.#admit();
    return this.#openTimeline(null);
  }

  async #prepared(options: SessionOptions): Promise<Session> {
    const { prefix, signal } = takeSessionOptions(options);
    this.#admit();
    const file = prefix instanceof Blob ? prefix : await fetchPrefix(prefix, this.info, signal);
    return this.restore(file, { signal });
  }

  /**
   * A new session from the file of a saved one (`Session.save`, or `sluice run --session`), of the same model and `kvType`.
   * Waits until all weights have arrived. `bad_file` if the file is damaged; `invalid_argument` if it belongs to another model
   * or was computed in another way, or if a newer version wrote it; `context_full` if the context can't hold it.
   */
  async restore(session: Blob, options: RestoreOptions = {}): Promise<Session> {
    const file = takeSessionFile(session);
    const { signal } = takeSaveOptions(options);
    const number = this.#nextSession++;
    try {
      await this.#request((id) => ({ type: 'restore', session: number, id, file }), signal);
    } catch (error) {
      // It may have been restored before the worker heard of the abort.
      if (this.#over === undefined) this.#workers?.post({ type: 'closeSession', session: number });
      throw error;
    }
    return this.#addTimeline(number);
  }

  /**
   * Continues `prompt`, token by token. The work begins when the first token is asked for, and ends when the loop is
   * left. The arguments are read at this call, but errors in them are thrown when the first token is asked for.
   */
  generate(prompt: Prompt, options: GenerateOptions = {}): AsyncStream<Token> {
    return this.#own.generate(prompt, options);
  }

  /** Continues `prompt` to the end of the text, and resolves with all of it. `options` as for generate. */
  complete(prompt: Prompt, options: GenerateOptions = {}): Promise<Completion> {
    return this.#own.complete(prompt, options);
  }

  /**
   * Chat completions, as in OpenAI's client: `engine.chat.completions.create({ messages })`. The worker has sessions of its own
   * for these and for `completions`: a continued conversation computes only its new tokens.
   */
  get chat(): { readonly completions: ChatCompletions } {
    return this.#chat.chat;
  }

  /** Text completions, as in OpenAI's older API: `engine.completions.create({ prompt })`. */
  get completions(): Completions {
    return this.#chat.completions;
  }

  /**
   * The vectors of texts, in the list's order: `[{ embedding, tokens }]`. Texts of similar meaning have vectors of similar
   * direction, if the model was trained for it. Any model can do it. Texts are computed side by side, beside what else the engine
   * does; calls wait for each other. Each vector is the same as if its text were computed alone.
   */
  embed(texts: EmbedTexts, options: EmbedOptions = {}): Promise<Embedding[]> {
    return embed(this.#texts, texts, options);
  }

  /**
   * How near texts are to a query, the nearest first: `[{ index, score, text }]`. In place of the texts there may be vectors that
   * `embed` gave for them, with `kind: 'document'`.
   */
  similar(
    query: string,
    texts: EmbedTexts | readonly Float32Array[],
    options: SimilarOptions = {},
  ): Promise<Match[]> {
    return similar(this.#texts, query, texts, options);
  }

  /**
   * The likeliest tokens for each mask in a text, in the order of the masks: `[{ position, top: [{ id, token, logprob }] }]`. The
   * text names the model's mask token, as in 'Paris is the [MASK] of France.' Needs a model of masked words (`info.makes`).
   */
  fillMask(text: string, options: FillMaskOptions = {}): Promise<FilledMask[]> {
    return fillMask(this.#texts, text, options);
  }

  /** Embeddings, as in OpenAI's client: `engine.embeddings.create({ input })`. */
  get embeddings(): Embeddings {
    return this.#embeddings;
  }

  /** The token ids of the text, without the tokens that the model expects before a prompt. */
  tokenize(text: string, options: TokenizeOptions = {}): Promise<number[]> {
    return tokenize(this.#ask, text, options);
  }

  /**
   * The prompt that the template writes for a chat. The template is the file's own, or one for the family that the file seems to
   * belong to, which `stats.notes` names. Give the text to `generate` with `{ special: true }`. Then special tokens written out
   * in a message count as such.
   */
  applyTemplate(messages: readonly ChatMessage[], options: TemplateOptions = {}): Promise<string> {
    return applyTemplate(this.#ask, messages, options);
  }

  /** The text of the ids; invalid UTF-8 becomes U+FFFD. `invalid_argument` if one is not in the vocabulary. */
  detokenize(ids: readonly number[], options: DetokenizeOptions = {}): Promise<string> {
    return detokenize(this.#ask, this.info, ids, options);
  }

  /**
   * The number of tokens that the model gets for a prompt. A text counts with the beginning-of-text token, as `generate` adds it;
   * messages count with all that the template writes, as in `chat.completions`. Tokens whose state a session already has count,
   * but are not computed again.
   */
  async countTokens(
    prompt: Prompt | readonly ChatMessage[],
    options: CountOptions = {},
  ): Promise<number> {
    this.#admit();
    return countTokens(this.#ask, this.info, prompt, options);
  }

  /** The logits after the last of `ids`, which are taken as they are. */
  async logits(ids: readonly number[], options: LogitsOptions = {}): Promise<Logits> {
    return this.#own.logits(ids, options);
  }

  /**
   * The current figures: of the last run of the engine's own methods, chats among them. While a model loads or a text is
   * written, they change about ten times a second or more.
   */
  get stats(): EngineStats {
    return this.#own.stats;
  }

  /** Stops all work and frees all memory. Pending promises reject with `aborted`. May be called again. */
  async close(): Promise<void> {
    await this.#end(new SluiceError('aborted', 'the engine was closed'));
  }

  /** For `await using`. (In a browser without this symbol it isn't called.) */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
