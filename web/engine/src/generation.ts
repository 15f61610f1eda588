// The page's side of a generation: takes tokens from the engine worker, and queues them for the reader.
import { abortReason } from './errors.js';
import { ReadQueue, type Reader } from './read-queue.js';
import type { Completion, Token } from './types.js';

/** What a generation uses of its engine. */
export interface GenerationHooks {
  /** Sends the request; throws if it can't (busy, bad options, a closed engine). */
  start(generation: Generation): void;
  /** Pauses a running generation while its reader's queue is full, and resumes it. */
  hold(generation: Generation, on: boolean): void;
  /** Cancels a running generation: tells the worker, and ignores later messages about it. */
  cancel(generation: Generation): void;
}

/** Begins with the reader's first next(). Ends when its loop is left or the signal fires. */
export class Generation {
  #state: 'new' | 'running' | 'ended' = 'new';
  #held = false;
  readonly #queue = new ReadQueue<Token>(() => this.#leave());
  /** How it ended; null if it hasn't, or failed. */
  ending: Pick<Completion, 'finish' | 'stats'> | null = null;
  readonly #onAbort = (): void => this.#leave(abortReason(this.signal as AbortSignal));

  constructor(
    readonly hooks: GenerationHooks,
    readonly signal: AbortSignal | undefined,
  ) {}

  /** The reader of its tokens. To be called once. */
  reader(): Reader<Token> {
    return this.#queue.reader(() => this.#begin());
  }

  #begin(): void {
    try {
      if (this.signal?.aborted) throw abortReason(this.signal);
      this.hooks.start(this);
    } catch (error) {
      this.end();
      throw error;
    }
    this.#state = 'running';
    this.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  push(tokens: Token[]): void {
    for (const token of tokens) this.#queue.push(token);
    const room = this.#queue.room();
    if (room === null || this.#held) return;
    this.#hold(true);
    void room.then(() => this.#hold(false));
  }

  #hold(on: boolean): void {
    this.#held = on;
    if (this.#state === 'running') this.hooks.hold(this, on);
  }

  /** Ends the iteration: normally, or with an error, which is thrown after the tokens in the queue. */
  end(error?: unknown): void {
    this.#end(error, false);
  }

  #end(error: unknown, now: boolean): void {
    this.#state = 'ended';
    this.signal?.removeEventListener('abort', this.#onAbort);
    this.#queue.end(error === undefined ? null : { error }, now);
  }

  /** The caller left the loop, or the signal fired. */
  #leave(error?: unknown): void {
    if (this.#state === 'running') this.hooks.cancel(this);
    this.#end(error, true);
  }
}
