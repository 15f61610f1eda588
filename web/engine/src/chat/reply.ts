// The page's side of one answer: a run in the engine worker.
import { abortReason, type SluiceError } from '../errors.js';
import type { Note } from '../notes.js';
import { callBack, deferred } from '../promises.js';
import type { ChatBegun, ChatToken, CoreStats, FromEngine, ToEngine } from '../protocol.js';
import { NO_RUN } from '../timeline.js';
import type { Finish, ModelInfo, PromptProgress } from '../types.js';

/** The owner of a run: receives the run's messages. */
export interface RunOwner {
  receive(message: FromEngine & { id: number }): void;
  /** Ends run `id` with an error, if it is the current one. */
  fail(id: number, error: SluiceError): void;
}

/** What a reply uses of its engine. */
export interface ChatHooks {
  /** Throws if the engine has ended. */
  admit(): void;
  /** Returns the id of a new run. Its messages go to the owner from now on. */
  beginRun(of: RunOwner): number;
  post(message: ToEngine): void;
  /** Figures of a run, for the engine's stats, and how it has ended. */
  figures(figures: Partial<CoreStats>, finish: Finish | null): void;
  note(notes: readonly Note[]): void;
  info(): ModelInfo;
}

export interface ReplyEvents {
  begun(begun: ChatBegun): void;
  tokens(tokens: ChatToken[]): void;
  progress: ((progress: PromptProgress) => void) | undefined;
  /** Null: the reader's queue has room for more tokens. Otherwise resolves when it has, or when the reader is gone. */
  room(): Promise<void> | null;
}

export interface Ending {
  finish: Finish;
  stats: CoreStats;
}

export class Reply implements RunOwner {
  readonly #done = deferred<Ending>();
  #over = false;
  /** The run is paused until the reader's queue has room. */
  #held = false;
  #id = 0;

  constructor(
    readonly hooks: ChatHooks,
    readonly events: ReplyEvents,
  ) {}

  /** Starts the run, and resolves when it ends. The signal cancels it. */
  async run(message: (id: number) => ToEngine, signal: AbortSignal): Promise<Ending> {
    if (signal.aborted) throw abortReason(signal);
    this.#id = this.hooks.beginRun(this);
    this.hooks.figures(NO_RUN, null);
    const cancel = (): void => {
      this.hooks.post({ type: 'cancel', id: this.#id });
      this.hooks.figures({}, 'aborted');
      this.end(abortReason(signal));
    };
    signal.addEventListener('abort', cancel, { once: true });
    try {
      this.hooks.post(message(this.#id));
      return await this.#done.promise;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  receive(message: FromEngine & { id: number }): void {
    if (this.#over) return;
    if ('stats' in message && message.stats !== null)
      this.hooks.figures(message.stats, message.type === 'done' ? message.finish : null);
    switch (message.type) {
      case 'chatBegun':
        this.hooks.note(message.warnings);
        return this.events.begun(message);
      case 'tokens':
        this.events.tokens(message.tokens);
        return this.#rest(this.events.room());
      case 'prompt':
        return callBack(this.events.progress ?? (() => {}), message.progress);
      case 'done':
        this.#over = true;
        return this.#done.resolve(message);
    }
  }

  #rest(room: Promise<void> | null): void {
    if (room === null || this.#held) return;
    this.#hold(true);
    void room.then(() => this.#hold(false));
  }

  #hold(on: boolean): void {
    this.#held = on;
    if (!this.#over) this.hooks.post({ type: 'hold', id: this.#id, on });
  }

  fail(_id: number, error: SluiceError): void {
    this.end(error);
  }

  /** Ends the reply with an error. Later messages are ignored. */
  end(error: unknown): void {
    this.#over = true;
    this.#done.reject(error);
  }
}
