// The chunks of an answer, for one reader.

interface Waiter<Chunk> {
  resolve(result: IteratorResult<Chunk, undefined>): void;
  reject(error: unknown): void;
}

export class Chunks<Chunk> implements AsyncIterableIterator<Chunk, undefined> {
  readonly #items: Chunk[] = [];
  readonly #waiters: Waiter<Chunk>[] = [];
  #over = false;
  /** What next() has still to throw; null: nothing. */
  #failure: { error: unknown } | null = null;

  /** `onLeave`: the reader wants no more. */
  constructor(readonly onLeave: () => void) {}

  [Symbol.asyncIterator](): this {
    return this;
  }

  push(chunk: Chunk): void {
    if (this.#over) return;
    const waiter = this.#waiters.shift();
    if (waiter === undefined) this.#items.push(chunk);
    else waiter.resolve({ done: false, value: chunk });
  }

  /** Ends them: normally, or with an error, which is thrown once, after what has come. `now`: in place of that. */
  end(failure: { error: unknown } | null = null, now = false): void {
    if (this.#over) return;
    this.#over = true;
    this.#failure = failure;
    if (now) this.#items.length = 0;
    for (const waiter of this.#waiters.splice(0)) {
      if (this.#failure === null) waiter.resolve({ done: true, value: undefined });
      else waiter.reject(this.#failure.error);
      this.#failure = null;
    }
  }

  async next(): Promise<IteratorResult<Chunk, undefined>> {
    const [chunk] = this.#items.splice(0, 1);
    if (chunk !== undefined) return { done: false, value: chunk };
    if (this.#failure !== null) {
      const { error } = this.#failure;
      this.#failure = null;
      throw error;
    }
    if (this.#over) return { done: true, value: undefined };
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  async return(): Promise<IteratorResult<Chunk, undefined>> {
    this.end(null, true);
    this.#items.length = 0;
    this.#failure = null;
    this.onLeave();
    return { done: true, value: undefined };
  }
}
