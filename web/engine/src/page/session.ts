// The page's side of a session: its number in the engine worker, and its current run.
import type { EngineCalls } from '../shared/calls.js';
import type { Answer, AnswerPart, AnswerRequest, Completion } from '../shared/answer-types.js';
import { SluiceError, abortReason } from '../shared/errors.js';
import { onAbort } from '../shared/promises.js';
import type { CoreStats } from '../shared/protocol.js';
import type {
  EngineStats,
  Finish,
  GenerateOptions,
  Logits,
  LogitsOptions,
  Prompt,
  SaveOptions,
  Session,
  Token,
} from '../shared/types.js';
import { bindMembers } from './bound.js';
import type { Ask } from '../shared/caller.js';
import {
  takeGenerateOptions,
  takeIds,
  takeLength,
  takeLogitsOptions,
  takePrompt,
  takeSaveOptions,
} from './options.js';
import { failedReader, lazyReader, type EndingReader } from './read-queue.js';
import { runToEnd, type Ending, type RunEvents, type RunFigures, type StartRun } from './run.js';

/** The figures at the beginning of a run. */
export const NO_RUN = {
  ttftMs: 0,
  waitedMs: 0,
  promptTokens: 0,
  reusedTokens: 0,
  promptTokensPerSecond: 0,
  tokens: 0,
  tokensPerSecond: 0,
  reasoningTokens: 0,
};

/** The figures before anything is loaded. */
export const NO_STATS: CoreStats = {
  ...NO_RUN,
  kernels: '',
  threads: 1,
  decodeThreads: 1,
  contextSize: 0,
  residentBytes: 0,
  rereadBytes: 0,
  streamedBytes: 0,
  memoryBudget: 0,
  bytesPerToken: 0,
  heapBytes: 0,
  seed: 0,
};

/** What a session uses of its engine. */
export interface PageSessionHooks {
  /** Throws if the engine has ended. */
  admit(): void;
  /** Throws also if the model makes no text. */
  admitText(): void;
  ask: Ask<EngineCalls>;
  /** A run has sent figures. */
  ran(stats: CoreStats): void;
  /** Opens a session in the worker, with the tokens of `from`. */
  openSession(from: PageSession): PageSession;
  /** Closes a session in the worker. */
  closeSession(session: PageSession): void;
  complete(stats: CoreStats, finish: Finish | null): EngineStats;
  /** Writes an answer in a session. */
  answer(request: AnswerRequest, session: PageSession): EndingReader<AnswerPart, Answer>;
}

/** A call of a session that is a run, with what it may have besides. */
interface Taken {
  start: StartRun;
  signal: AbortSignal | undefined;
  /** Figures from its beginning on. */
  figures: Partial<CoreStats>;
  progress: RunEvents['progress'];
}

/** What a run has written so far, and its last figures. */
interface Written {
  text: string;
  tokens: number[];
  stats: CoreStats;
}

export class PageSession implements Session {
  #finish: Finish | null = null;
  /** The run of this session; null while it rests. */
  #running: object | null = null;
  /** The run whose figures are shown: of this session, or of a chat while this one rests. */
  #shown: object | null = null;
  /** Ends the run when the session is closed. */
  readonly #closing = new AbortController();

  /** `session`: its number in the worker. */
  constructor(
    readonly session: number,
    readonly hooks: PageSessionHooks,
    public core: CoreStats,
  ) {
    bindMembers(this);
  }

  get running(): boolean {
    return this.#running !== null;
  }

  get stats(): EngineStats {
    return this.hooks.complete(this.core, this.#finish);
  }

  /**
   * A run begins: of this session, or a chat, whose figures the engine's own session shows while it rests. Of two chats those of
   * the later one count, also if the earlier one is cancelled and still sends some.
   */
  begin(own: boolean, figures: Partial<CoreStats> = {}): RunFigures {
    const run = {};
    let over = false;
    const shows = (): boolean => {
      if (own ? this.#running === run : this.#running === null && !over) this.#shown = run;
      return this.#shown === run && (own || this.#running === null);
    };
    if (own) this.#running = run;
    if (shows()) {
      this.core = { ...this.core, ...NO_RUN, ...figures };
      this.#finish = null;
    }
    return {
      stats: (stats) => {
        this.hooks.ran(stats);
        if (shows()) this.core = stats;
      },
      ended: (finish) => {
        if (finish !== null && shows()) this.#finish = finish;
        over = true;
        if (this.#running === run) this.#running = null;
      },
    };
  }

  #admit(idle: boolean): void {
    this.hooks.admit();
    if (this.#closing.signal.aborted)
      throw new SluiceError('closed', 'this session is closed; take a new one');
    if (idle && this.#running !== null) {
      const what = this.session === 0 ? 'this engine is' : 'this session is';
      throw new SluiceError('busy', `${what} generating; wait for its end, or stop it first`);
    }
  }

  /** Whether it is a session of the engine that is asked so. */
  asks(ask: Ask<EngineCalls>): boolean {
    return this.hooks.ask === ask;
  }

  /** Throws if no run can begin now. */
  admitRun(): void {
    this.hooks.admitText();
    this.#admit(true);
  }

  /** Runs a call of this session to its end. Closing the session ends it, too. `first`: figures from its beginning on. */
  async run(
    start: StartRun,
    events: RunEvents,
    first: Partial<CoreStats>,
    signal: AbortSignal | undefined,
  ): Promise<Ending> {
    this.admitRun();
    const stop = new AbortController();
    const releases = [signal, this.#closing.signal].map((one) =>
      onAbort(one, (reason) => stop.abort(reason)),
    );
    const figures = this.begin(true, first);
    try {
      return await runToEnd(start, events, figures, stop.signal);
    } finally {
      for (const release of releases) release();
    }
  }

  #take(prompt: Prompt, options: GenerateOptions): Taken {
    const taken = takePrompt(prompt);
    const { json, seed, signal, onPromptProgress } = takeGenerateOptions(options, true);
    const args = {
      session: this.session,
      prompt: taken,
      options: json,
      progress: onPromptProgress !== undefined,
    };
    return {
      start: (options) => this.hooks.ask('generate', args, options),
      signal,
      figures: { seed: seed as number },
      progress: onPromptProgress,
    };
  }

  /** Writes a text to its end, and adds it to `text`. `out` gets its tokens: see RunEvents. */
  async #write(
    { start, figures, progress }: Taken,
    text: Written,
    out: (tokens: Token[]) => Promise<void> | null,
    signal: AbortSignal | undefined,
  ): Promise<Completion> {
    const tokens = (some: Token[]): Promise<void> | null => {
      for (const token of some) {
        text.tokens.push(token.id);
        text.text += token.text;
      }
      return out(some);
    };
    const stats = (now: CoreStats): void => {
      text.stats = now;
    };
    const { finish } = await this.run(start, { tokens, stats, progress }, figures, signal);
    return this.#completion(text, finish);
  }

  #completion({ text, tokens, stats }: Written, finish: Finish): Completion {
    return { text, tokens, finish, stats: this.hooks.complete(stats, finish) };
  }

  #nothing(): Written {
    return { text: '', tokens: [], stats: { ...this.core, ...NO_RUN } };
  }

  /** The tokens of a run that begins with the first next(). Errors of `take` are thrown there, too. */
  #tokens(take: () => Taken): EndingReader<Token, Completion> {
    let taken: Taken;
    try {
      taken = take();
    } catch (error) {
      return failedReader(error);
    }
    const text = this.#nothing();
    return lazyReader(
      (out, signal) => {
        const push = (tokens: Token[]): Promise<void> | null => {
          for (const token of tokens) out.push(token);
          return out.room();
        };
        return this.#write(taken, text, push, signal);
      },
      () => this.#completion(text, 'aborted'),
      taken.signal,
    );
  }

  generate(prompt: Prompt, options: GenerateOptions = {}): EndingReader<Token, Completion> {
    return this.#tokens(() => this.#take(prompt, options));
  }

  answer(request: AnswerRequest): EndingReader<AnswerPart, Answer> {
    return this.hooks.answer(request, this);
  }

  resume(options: GenerateOptions = {}): EndingReader<Token, Completion> {
    return this.#tokens(() => {
      const { json, signal } = takeGenerateOptions(options, false);
      const args = { session: this.session, options: json };
      const start: StartRun = (more) => this.hooks.ask('resume', args, more);
      return { start, signal, figures: {}, progress: undefined };
    });
  }

  async complete(prompt: Prompt, options: GenerateOptions = {}): Promise<Completion> {
    const taken = this.#take(prompt, options);
    if (taken.signal?.aborted) throw abortReason(taken.signal);
    return this.#write(taken, this.#nothing(), () => null, taken.signal);
  }

  async logits(ids: readonly number[], options: LogitsOptions = {}): Promise<Logits> {
    const taken = takeIds(ids, 'ids');
    const { top = 10, batch = 0, signal } = takeLogitsOptions(options);
    if (signal?.aborted) throw abortReason(signal);
    this.#admit(true);
    const finish = this.#finish;
    const figures = this.begin(true);
    this.#finish = finish; // logits have none of their own
    const release = onAbort(signal, () => figures.ended(null));
    const args = { session: this.session, ids: taken, top, batch };
    try {
      return await this.hooks.ask('logits', args, { signal, onStats: figures.stats });
    } finally {
      release();
      figures.ended(null);
    }
  }

  clone(): Session {
    this.#admit(true);
    return this.hooks.openSession(this);
  }

  async truncate(length: number): Promise<void> {
    const taken = takeLength(length, 'length');
    this.#admit(true);
    await this.hooks.ask('truncate', { session: this.session, length: taken });
  }

  async tokens(): Promise<number[]> {
    this.#admit(false);
    return this.hooks.ask('tokensOf', { session: this.session });
  }

  async save(options: SaveOptions = {}): Promise<Blob> {
    const { signal } = takeSaveOptions(options);
    if (signal?.aborted) throw abortReason(signal);
    this.#admit(true);
    return this.hooks.ask('save', { session: this.session }, { signal });
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(new SluiceError('aborted', 'the session was closed'));
    this.hooks.closeSession(this);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
