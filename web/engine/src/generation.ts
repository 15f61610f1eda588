// The page's side of a generation: an async iterator over the tokens that come from the engine worker.
import { abortReason } from './errors.js';
import type { Completion, Token } from './types.js';

/** What a generation asks of its engine. */
export interface GenerationHooks {
  /** Sends the request; throws if it can't (busy, bad options, a closed engine). */
  start(generation: Generation): void;
  /** Cancels a running generation: tells the worker, and ignores later messages about it. */
  cancel(generation: Generation): void;
}

interface Waiter {
  resolve(result: IteratorResult<Token, undefined>): void;
  reject(error: unknown): void;
}

/** Begins with the first next(). Ends when the loop is left or the signal fires. */
export class Generation implements AsyncIterableIterator<Token, undefined> {
  #state: 'new' | 'running' | 'ended' = 'new';
  #tokens: Token[] = [];
  #waiters: Waiter[] = [];
  /** How it ended; null if it hasn't, or failed. */
  ending: Pick<Completion, 'finish' | 'stats'> | null = null;
  /** The error that next() has still to throw; undefined: none. */
  #error: unknown;
  readonly #onAbort = (): void => this.#leave(abortReason(this.signal as AbortSignal));

  constructor(
    readonly hooks: GenerationHooks,
    readonly signal: AbortSignal | undefined,
  ) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Token, undefined>> {
    if (this.#state === 'new') {
      if (this.signal?.aborted) {
        this.#state = 'ended';
        throw abortReason(this.signal);
      }
      this.#state = 'ended';
      this.hooks.start(this);
      this.#state = 'running';
      this.signal?.addEventListener('abort', this.#onAbort, { once: true });
    }
    const token = this.#tokens.shift();
    if (token !== undefined) return { done: false, value: token };
    if (this.#error !== undefined) {
      const error = this.#error;
      this.#error = undefined;
      throw error;
    }
    if (this.#state === 'ended') return { done: true, value: undefined };
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  async return(): Promise<IteratorResult<Token, undefined>> {
    this.#tokens = [];
    this.#leave();
    this.#error = undefined;
    return { done: true, value: undefined };
  }

  push(tokens: Token[]): void {
    for (const token of tokens) {
      const waiter = this.#waiters.shift();
      if (waiter === undefined) this.#tokens.push(token);
      else waiter.resolve({ done: false, value: token });
    }
  }

  /** Ends the iteration: normally, or with an error, which is thrown after the tokens that have come. */
  end(error?: unknown): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.signal?.removeEventListener('abort', this.#onAbort);
    const waiters = this.#waiters.splice(0);
    this.#error = error;
    for (const waiter of waiters) {
      if (this.#error !== undefined) {
        waiter.reject(this.#error);
        this.#error = undefined;
      } else {
        waiter.resolve({ done: true, value: undefined });
      }
    }
  }

  /** The caller wants no more. */
  #leave(error?: unknown): void {
    if (this.#state === 'running') this.hooks.cancel(this);
    if (error !== undefined) this.#tokens = [];
    if (this.#state === 'new') this.#state = 'ended';
    this.end(error);
  }
}
