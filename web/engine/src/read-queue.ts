// A queue of tokens, or of an answer's chunks, for one reader. The writer waits for room(), so that a slow reader bounds the
// queue. If the reader is gone, the queue ends.
import { bindMembers } from './bound.js';
import { deferred } from './promises.js';

/** The queue is full from MOST items on, until the reader has taken all but FEW. */
const MOST = 256;
const FEW = 64;

interface Waiter<Item> {
  resolve(result: IteratorResult<Item, undefined>): void;
  reject(error: unknown): void;
  /** Referenced, so that a waiting reader isn't garbage-collected. */
  reader: Reader<Item>;
}

/** Ends the queue of a reader that was garbage-collected. For this, a queue references its reader only while that waits. */
const forgotten = new FinalizationRegistry<() => void>((leave) => leave());

export class ReadQueue<Item> {
  readonly #items: Item[] = [];
  readonly #waiters: Waiter<Item>[] = [];
  #over = false;
  /** The error that take() has still to throw; null: none. */
  #failure: { error: unknown } | null = null;
  /** Resolved when there is room; null: there is. */
  #room: ReturnType<typeof deferred<void>> | null = null;

  /** `onLeave`: called when the reader has left, or was garbage-collected. It may be called more than once. */
  constructor(readonly onLeave: () => void) {}

  /** The only reader. Its first next() calls `begin`, and throws what `begin` throws. */
  reader(begin: () => void = () => {}): Reader<Item> {
    const reader = new Reader(this, begin);
    forgotten.register(reader, () => this.leave());
    return reader;
  }

  push(item: Item): void {
    if (this.#over) return;
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) return waiter.resolve({ done: false, value: item });
    this.#items.push(item);
    if (this.#items.length >= MOST) this.#room ??= deferred();
  }

  /** Null: there is room. Otherwise resolves when there is, or when the queue has ended. */
  room(): Promise<void> | null {
    return this.#room?.promise ?? null;
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = null;
  }

  /** Ends the queue: normally, or with an error, which is thrown once, after the queued items. `now`: drops these. */
  end(failure: { error: unknown } | null = null, now = false): void {
    if (this.#over) return;
    this.#over = true;
    this.#failure = failure;
    if (now) this.#items.length = 0;
    this.#makeRoom();
    for (const waiter of this.#waiters.splice(0)) {
      if (this.#failure === null) waiter.resolve({ done: true, value: undefined });
      else waiter.reject(this.#failure.error);
      this.#failure = null;
    }
  }

  /** For the reader: the next item. */
  async take(reader: Reader<Item>): Promise<IteratorResult<Item, undefined>> {
    if (this.#items.length > 0) {
      const [item] = this.#items.splice(0, 1) as [Item];
      if (this.#items.length <= FEW) this.#makeRoom();
      return { done: false, value: item };
    }
    if (this.#failure !== null) {
      const { error } = this.#failure;
      this.#failure = null;
      throw error;
    }
    if (this.#over) return { done: true, value: undefined };
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject, reader }));
  }

  /** For the reader: leaves, and drops the queued items. */
  leave(): void {
    this.end(null, true);
    this.#items.length = 0;
    this.#failure = null;
    this.onLeave();
  }
}

export class Reader<Item> implements AsyncIterableIterator<Item, undefined> {
  readonly #queue: ReadQueue<Item>;
  #begin: (() => void) | null;

  constructor(queue: ReadQueue<Item>, begin: () => void) {
    this.#queue = queue;
    this.#begin = begin;
    bindMembers(this);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Item, undefined>> {
    const begin = this.#begin;
    this.#begin = null;
    begin?.();
    return this.#queue.take(this);
  }

  async return(): Promise<IteratorResult<Item, undefined>> {
    this.#begin = null;
    this.#queue.leave();
    return { done: true, value: undefined };
  }
}
