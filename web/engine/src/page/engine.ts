// Engine: the page's side of a model. The work is done in workers (shared/calls.ts). The engine holds the promises, and
// settles all of them even if a worker dies.
import { postable, processors } from '../platform/here.js';
import { bindMembers } from './bound.js';
import type { Ask } from '../shared/caller.js';
import { Answers, type AnswerHooks } from './chat/answers.js';
import { Chat } from './chat/chat.js';
import type { EngineCalls } from '../shared/calls.js';
import type {
  AnswerRequest,
  AnswerStream,
  Completion,
  TextStream,
} from '../shared/answer-types.js';
import type { ChatCompletions, Completions } from '../shared/chat-types.js';
import { SluiceError, abortReason, reworded } from '../shared/errors.js';
import type { InsideCalls } from '../shared/inside-types.js';
import { chooseFlavour, detectAbilities } from './flavours.js';
import { insideCalls } from './inside-calls.js';
import { LoadView } from './load-view.js';
import { measureDecoding } from './measure.js';
import { addNotes, type Note } from '../shared/notes.js';
import { LOAD_RULES } from '../shared/option-table.js';
import {
  coreLoadOptions,
  takeLoadOptions,
  takeSaveOptions,
  takeSessionFile,
  takeSessionOptions,
} from './options.js';
import { fetchPrefix } from './prefix.js';
import { onAbort } from '../shared/promises.js';
import type { CoreStats } from '../shared/protocol.js';
import { ORIGINS, resolveSource } from './sources.js';
import { applyTemplate, countTokens, detokenize, tokenize, type TextHooks } from './text-calls.js';
import { NO_RUN, NO_STATS, PageSession, type PageSessionHooks } from './session.js';
import type {
  ChatMessage,
  CountOptions,
  DetokenizeOptions,
  EngineStats,
  Finish,
  GenerateOptions,
  LoadOptions,
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
} from '../shared/types.js';
import type { LoadProgress } from '../shared/progress-types.js';
import { embed, fillMask, refusal, similar, type TextCallHooks } from './vectors/embed.js';
import { makeEmbeddings } from './vectors/embeddings.js';
import type {
  Embeddings,
  Embedding,
  EmbedOptions,
  EmbedTexts,
  FilledMask,
  FillMaskOptions,
  Match,
  SimilarOptions,
} from '../shared/vector-types.js';
import { LoadState } from './load-state.js';
import { Workers } from './workers.js';

/** The constructor's first argument. It isn't exported, so only load and probe can make engines. */
const BY_LOAD = Symbol('Engine.load');

/** The engines that have not ended. */
const engines = new Set<Engine>();

/** The calls that look inside the model: the constructor adds them. */
export interface Engine extends InsideCalls {}

/** A model that is loaded or loading. Made by Engine.load; close() frees everything. */
export class Engine implements AsyncDisposable {
  /** What the file's header says. */
  get info(): ModelInfo {
    return this.#load.info as ModelInfo;
  }

  /**
   * Resolves when all resident weights are loaded: all weights, unless the model is larger than its `memoryBudget`. Rejects
   * with the error that ended the loading.
   */
  get ready(): Promise<void> {
    return this.#load.ready.promise;
  }

  /**
   * Resolves when the whole model has arrived: together with `ready`, unless the model is downloaded, and larger than its
   * `memoryBudget` or with a table of which single rows are enough. Then weights that are streamed, or that table, may arrive
   * later. Rejects with the error that ended the engine before that.
   */
  get arrived(): Promise<void> {
    return this.#load.arrived.promise;
  }

  #workers: Workers | null = null;
  /** What ended the engine; undefined until then. */
  #over: unknown;
  /** Resolves when its workers have ended. */
  #ended: Promise<void> = Promise.resolve();
  /** The engine's own session. */
  readonly #own: PageSession;
  readonly #answers: Answers;
  readonly #chat: Chat;
  readonly #texts: TextHooks & TextCallHooks;
  readonly #embeddings: Embeddings;
  #nextSession = 1;
  readonly #flavour: EngineStats['flavour'];
  readonly #notes: Note[];
  readonly #view: LoadView;
  readonly #load: LoadState;

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
    this.#own = new PageSession(0, this.#hooks(), {
      ...NO_STATS,
      threads: choice.threads,
      decodeThreads: choice.threads,
    });
    const hooks: AnswerHooks = {
      admit: () => this.#admitText(),
      ask: this.#ask,
      begin: () => this.#own.begin(false),
      core: () => this.#own.core,
      complete: (core, finish) => this.#complete(core, finish),
      note: (notes) => addNotes(this.#notes, notes),
      info: () => this.info,
    };
    this.#answers = new Answers(hooks, options.queueLimit ?? Infinity);
    this.#chat = new Chat(this.#answers);
    this.#texts = {
      admit: () => this.#admit(),
      info: () => this.info,
      ask: this.#ask,
      note: hooks.note,
    };
    this.#embeddings = makeEmbeddings(this.#texts);
    this.#view = new LoadView(options, source);
    this.#load = new LoadState(this.#view, this.#notes);
    bindMembers(this);
    Object.assign(this, insideCalls({ ...this.#texts, admitText: hooks.admit }));
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
    // The worker's call `open` lasts as long as the engine.
    return this.#load.ms === 0 || (this.#workers?.open ?? 0) > 1;
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
    const engine = new Engine(BY_LOAD, choice, options, ORIGINS[resolved.kind]);
    const { flavour, threads } = choice;
    const onDeath = (error: unknown): void => void engine.#end(error);
    const workers = new Workers({ flavour, threads, onDeath });
    engine.#workers = workers;
    workers.openModel({
      source: resolved,
      probe,
      // If the caller gave no number of threads, the core measures how many of these decode fastest.
      options: coreOptions,
      patiences: {
        stallTimeout: options.stallTimeout ?? LOAD_RULES.stallTimeout.default,
        retryTimeout: options.retryTimeout ?? LOAD_RULES.retryTimeout.default,
      },
      weights: options.onWeights !== undefined && !probe,
      onNews: (news) => engine.#load.hear(news),
      onStats: (stats) => engine.#figures(stats),
      onLoaderNews: (news) => {
        if (engine.#over === undefined) engine.#load.follow(news);
      },
      onFailure: (error) => void engine.#end(error),
    });
    if (!probe) engines.add(engine);
    const release = onAbort(signal, (reason) => engine.#end(reason));
    engine.#load.ready.promise.then(release, release);
    await engine.#load.header.promise;
    return engine;
  }

  // --- what the workers say -------------------------------------------------------------------------

  /** Takes the engine's figures, of loading or with a result. While a run goes on, those of the run count. */
  #figures(stats: CoreStats): void {
    if (!this.#own.running) this.#own.core = stats;
  }

  /** Ends this engine: rejects everything that is pending, and ends the workers, which frees their memory. */
  #end(error: unknown): Promise<void> {
    if (this.#over !== undefined) return this.#ended;
    this.#over = error;
    engines.delete(this);
    this.#load.fail(error);
    this.#answers.end(error);
    this.#workers?.reject(error);
    if (this.#workers !== null) this.#ended = this.#workers.end();
    return this.#ended;
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

  /** Asks the engine worker. */
  readonly #ask: Ask<EngineCalls> = async (name, args, options = {}) => {
    if (options.signal?.aborted) throw abortReason(options.signal);
    this.#admit();
    const onStats = options.onStats ?? ((stats: CoreStats) => this.#figures(stats));
    return (this.#workers as Workers).ask(name, args, { ...options, onStats });
  };

  /** Asks for what has no result. An error ends the engine. */
  #tell<Name extends 'openSession' | 'closeSession'>(
    name: Name,
    args: EngineCalls[Name]['args'],
  ): void {
    this.#workers?.ask(name, args).catch((error: unknown) => this.#end(error));
  }

  #hooks(): PageSessionHooks {
    return {
      admit: () => this.#admit(),
      admitText: () => this.#admitText(),
      ask: this.#ask,
      ran: ({ waitedMs }) => {
        this.#view.waitedMs = waitedMs;
      },
      openSession: (from) => this.#openSession(from),
      closeSession: ({ session }) => {
        if (this.#over === undefined) this.#tell('closeSession', { session });
      },
      complete: (core, finish) => this.#complete(core, finish),
      answer: (request, session) => this.#answers.answer(request, session),
    };
  }

  /** The figures of a run that has ended so; null: it has not. */
  #complete(core: CoreStats, finish: Finish | null): EngineStats {
    return {
      ...core,
      flavour: this.#flavour,
      loadMs: this.#load.ms,
      finish,
      notes: [...this.#notes],
    };
  }

  #addSession(number: number): PageSession {
    return new PageSession(number, this.#hooks(), { ...this.#own.core, ...NO_RUN });
  }

  #openSession(from: PageSession | null): PageSession {
    const session = this.#addSession(this.#nextSession++);
    this.#tell('openSession', { session: session.session, from: from?.session ?? null });
    return session;
  }

  /** A new session, without tokens. There may be any number. The engine's own methods use a session of their own. */
  session(): Session;
  /** A new session that begins with the tokens of a saved one, as `restore` makes it. */
  session(options: SessionOptions): Promise<Session>;
  session(options?: SessionOptions): Session | Promise<Session> {
    if (options !== undefined) return this.#prepared(options);
    this.#admit();
    return this.#openSession(null);
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
    const given = takeSessionFile(session);
    const { signal } = takeSaveOptions(options);
    const posted = postable(given);
    const file = posted instanceof Blob ? posted : await posted;
    const number = this.#nextSession++;
    try {
      await this.#ask('restore', { session: number, file }, { signal });
    } catch (error) {
      // It may have been restored before the worker heard of the abort.
      if (this.#over === undefined) this.#tell('closeSession', { session: number });
      throw error;
    }
    return this.#addSession(number);
  }

  /**
   * Continues `prompt`, token by token. The work begins when the first token is asked for, and ends when the loop is
   * left. The arguments are read at this call, but errors in them are thrown when the first token is asked for. The stream's
   * `ending` says how the text ended.
   */
  generate(prompt: Prompt, options: GenerateOptions = {}): TextStream<Token, Completion> {
    return this.#own.generate(prompt, options);
  }

  /** Continues `prompt` to the end of the text, and resolves with all of it. `options` as for generate. */
  complete(prompt: Prompt, options: GenerateOptions = {}): Promise<Completion> {
    return this.#own.complete(prompt, options);
  }

  /**
   * Answers a conversation, part by part: `{ part: 'text', id, text, logprob }`, or 'reasoning' for what the model thinks before. The
   * work begins when the first part is asked for, and ends when the loop is left; errors in the request are thrown there, too. The
   * stream's `ending` has the whole message, and how it ended. Answers wait in a queue, with the requests of `chat.completions`, and
   * use the engine's sessions for these. For a session of your own: `session.answer`. `invalid_argument`; `context_full`;
   * `busy` if too many wait (`queueLimit`).
   */
  answer(request: AnswerRequest): AnswerStream {
    return this.#answers.answer(request, null);
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
    return tokenize(this.#texts, text, options);
  }

  /**
   * The prompt that the template writes for a chat. The template is the file's own, or one for the family that the file seems to
   * belong to, which `stats.notes` names. Give the text to `generate` with `{ special: true }`. Then special tokens written out
   * in a message count as such.
   */
  applyTemplate(messages: readonly ChatMessage[], options: TemplateOptions = {}): Promise<string> {
    return applyTemplate(this.#texts, messages, options);
  }

  /** The text of the ids; invalid UTF-8 becomes U+FFFD. `invalid_argument` if one is not in the vocabulary. */
  detokenize(ids: readonly number[], options: DetokenizeOptions = {}): Promise<string> {
    return detokenize(this.#texts, ids, options);
  }

  /**
   * The number of tokens that the model gets for a prompt. A text counts with the beginning-of-text token, as `generate` adds it;
   * messages count with all that the template writes, as in `chat.completions`: about, if they are far longer than the context.
   * Tokens whose state a session already has count, but are not computed again.
   */
  async countTokens(
    prompt: Prompt | readonly ChatMessage[],
    options: CountOptions = {},
  ): Promise<number> {
    this.#admit();
    return countTokens(this.#texts, prompt, options);
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

  /** Stops all work and frees all memory. Pending promises reject with `aborted`. Called again, it waits for the same end. */
  async close(): Promise<void> {
    await this.#end(new SluiceError('aborted', 'the engine was closed'));
  }

  /** For `await using`. (In a browser without this symbol it isn't called.) */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
