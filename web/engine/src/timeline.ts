// The page's side of a session: its number in the engine worker, and its current run.
import { bindMembers } from './bound.js';
import { callBack } from './promises.js';
import { SluiceError, abortReason } from './errors.js';
import { Generation } from './generation.js';
import {
  takeGenerateOptions,
  takeIds,
  takeLength,
  takeLogitsOptions,
  takePrompt,
  takeSaveOptions,
} from './options.js';
import type { CoreStats, FromEngine, ToEngine } from './protocol.js';
import type {
  Completion,
  EngineStats,
  Finish,
  GenerateOptions,
  Logits,
  LogitsOptions,
  Prompt,
  PromptProgress,
  SaveOptions,
  Session,
  Token,
} from './types.js';
import type { FilledMask } from './vectors/types.js';

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

export type Value = string | number | number[] | Blob | Logits | FilledMask[];

/** What a timeline uses of its engine. */
export interface TimelineHooks {
  /** Throws if the engine has ended. */
  admit(): void;
  /** Throws also if the model makes no text. */
  admitText(): void;
  /** Returns an id for a run of this timeline, which gets the messages with that id from now on. */
  beginRun(of: Timeline): number;
  post(message: ToEngine): void;
  /** Posts a request and returns its result. With `of`, the request is a run of that timeline. */
  request(
    message: (id: number) => ToEngine,
    signal: AbortSignal | undefined,
    of?: Timeline,
  ): Promise<Value>;
  /** Opens a timeline in the worker, with the tokens of `from`. */
  openTimeline(from: Timeline): Timeline;
  /** The timeline is closed: messages about it are ignored from now on. */
  forget(timeline: Timeline): void;
  complete(stats: CoreStats, finish: Finish | null): EngineStats;
}

export class Timeline implements Session {
  #finish: Finish | null = null;
  #running: {
    id: number;
    generation: Generation | null;
    onPromptProgress: ((progress: PromptProgress) => void) | undefined;
  } | null = null;
  #closed = false;

  /** `session`: its number in the worker. */
  constructor(
    readonly session: number,
    readonly hooks: TimelineHooks,
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

  /** Takes the figures and the finish of a chat. Ignored while this timeline runs: then those of its own run count. */
  chatted(figures: Partial<CoreStats>, finish: Finish | null): void {
    if (this.running) return;
    this.core = { ...this.core, ...figures };
    this.#finish = finish;
  }

  // --- messages from the worker --------------------------------------------------------------------

  /** Takes a message about a run of this timeline. That run may be cancelled already. */
  receive(message: FromEngine & { id: number }): void {
    const mine = this.#running?.id === message.id;
    // The figures of a cancelled run must not replace those of the run after it.
    if ('stats' in message && message.stats !== null && (mine || !this.running))
      this.core = message.stats;
    if (!mine) return;
    if (message.type === 'tokens') this.#running?.generation?.push(message.tokens);
    else if (message.type === 'prompt')
      callBack(this.#running?.onPromptProgress ?? (() => {}), message.progress);
    else if (message.type === 'done') this.end(message.finish);
    else if (message.type === 'result') this.#running = null;
  }

  /** Ends the run: normally, or with an error (which may be anything but undefined). */
  end(finish: Finish | null, error?: unknown): void {
    const generation = this.#running?.generation;
    this.#running = null;
    if (finish !== null) {
      this.#finish = finish;
      if (generation) generation.ending = { finish, stats: this.stats };
    }
    generation?.end(error);
  }

  /** Ends run `id` with an error, if it is the current one. */
  fail(id: number, error: SluiceError): void {
    if (this.#running?.id === id) this.end(null, error);
  }

  /** Ignores run `id` from now on. */
  letGo(id: number): void {
    if (this.#running?.id === id) this.#running = null;
  }

  /** Run `id` has begun, with these figures. */
  began(
    id: number,
    generation: Generation | null,
    figures: Partial<CoreStats> = {},
    onPromptProgress?: (progress: PromptProgress) => void,
  ): void {
    this.#running = { id, generation, onPromptProgress };
    this.core = { ...this.core, ...NO_RUN, ...figures };
  }

  // --- what users call -----------------------------------------------------------------------------

  #admit(idle: boolean): void {
    this.hooks.admit();
    if (this.#closed) throw new SluiceError('closed', 'this session is closed; take a new one');
    if (idle && this.#running !== null) {
      const what = this.session === 0 ? 'this engine is' : 'this session is';
      throw new SluiceError('busy', `${what} generating; wait for its end, or stop it first`);
    }
  }

  generate(prompt: Prompt, options: GenerateOptions = {}): AsyncIterableIterator<Token, undefined> {
    return this.#generate(prompt, options).reader();
  }

  #generate(prompt: Prompt, options: GenerateOptions): Generation {
    const { session } = this;
    return this.#generation(() => {
      const taken = takePrompt(prompt);
      const { json, seed, signal, onPromptProgress } = takeGenerateOptions(options, true);
      const message = (id: number): ToEngine => ({
        type: 'generate',
        session,
        id,
        prompt: taken,
        options: json,
        progress: onPromptProgress !== undefined,
      });
      return { message, signal, figures: { seed: seed as number }, onPromptProgress };
    });
  }

  resume(options: GenerateOptions = {}): AsyncIterableIterator<Token, undefined> {
    const { session } = this;
    const generation = this.#generation(() => {
      const { json, signal } = takeGenerateOptions(options, false);
      const message = (id: number): ToEngine => ({ type: 'resume', session, id, options: json });
      return { message, signal, figures: {}, onPromptProgress: undefined };
    });
    return generation.reader();
  }

  /** `take` checks the arguments; its errors are thrown when the first token is asked for. */
  #generation(
    take: () => {
      message: (id: number) => ToEngine;
      signal: AbortSignal | undefined;
      figures: Partial<CoreStats>;
      onPromptProgress: GenerateOptions['onPromptProgress'];
    },
  ): Generation {
    let taken: ReturnType<typeof take>;
    try {
      taken = take();
    } catch (error) {
      const refuse = (): never => {
        throw error;
      };
      return new Generation({ start: refuse, hold: () => {}, cancel: () => {} }, undefined);
    }
    return new Generation(
      {
        start: (generation) => {
          this.hooks.admitText();
          this.#admit(true);
          const id = this.hooks.beginRun(this);
          this.began(id, generation, taken.figures, taken.onPromptProgress);
          this.#finish = null;
          this.hooks.post(taken.message(id));
        },
        hold: (generation, on) => {
          if (this.#running?.generation !== generation) return;
          this.hooks.post({ type: 'hold', id: this.#running.id, on });
        },
        cancel: (generation) => {
          if (this.#running?.generation !== generation) return;
          const { id } = this.#running;
          this.#running = null;
          this.#finish = 'aborted';
          this.hooks.post({ type: 'cancel', id });
        },
      },
      taken.signal,
    );
  }

  async complete(prompt: Prompt, options: GenerateOptions = {}): Promise<Completion> {
    const generation = this.#generate(prompt, options);
    const tokens: number[] = [];
    let text = '';
    for await (const token of generation.reader()) {
      tokens.push(token.id);
      text += token.text;
    }
    // It has not failed, so its ending is set.
    const ending = generation.ending as Pick<Completion, 'finish' | 'stats'>;
    return { text, tokens, ...ending };
  }

  async logits(ids: readonly number[], options: LogitsOptions = {}): Promise<Logits> {
    const taken = takeIds(ids, 'ids');
    const { top = 10, batch = 0, signal } = takeLogitsOptions(options);
    if (signal?.aborted) throw abortReason(signal);
    this.#admit(true);
    const { session } = this;
    return (await this.hooks.request(
      (id) => ({ type: 'logits', session, id, ids: taken, top, batch }),
      signal,
      this,
    )) as Logits;
  }

  clone(): Session {
    this.#admit(true);
    return this.hooks.openTimeline(this);
  }

  async truncate(length: number): Promise<void> {
    const taken = takeLength(length, 'length');
    this.#admit(true);
    const { session } = this;
    await this.hooks.request((id) => ({ type: 'truncate', session, id, length: taken }), undefined);
  }

  async tokens(): Promise<number[]> {
    this.#admit(false);
    const { session } = this;
    return (await this.hooks.request(
      (id) => ({ type: 'tokensOf', session, id }),
      undefined,
    )) as number[];
  }

  async save(options: SaveOptions = {}): Promise<Blob> {
    const { signal } = takeSaveOptions(options);
    if (signal?.aborted) throw abortReason(signal);
    this.#admit(true);
    const { session } = this;
    return (await this.hooks.request((id) => ({ type: 'save', session, id }), signal)) as Blob;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.end(null, new SluiceError('aborted', 'the session was closed'));
    this.hooks.forget(this);
    this.hooks.post({ type: 'closeSession', session: this.session });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
