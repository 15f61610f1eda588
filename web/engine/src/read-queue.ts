// A queue for one reader: tokens, or the chunks of an answer. Who fills it asks for room, so that a reader who stalls bounds it;
// a reader who is gone ends it.
import { bindMembers } from './bound.js';
import { deferred } from './promises.js';

/** With so many items that wait there is no room, until the reader has left so few. */
const MOST = 256;
const FEW = 64;

interface Waiter<Item> {
  resolve(result: IteratorResult<Item, undefined>): void;
  reject(error: unknown): void;
  /** Held, so that a reader who waits isn't gone. */
  reader: Reader<Item>;
}

/** What a reader without a name ends: nobody can go on with it. The queues themselves don't know their readers. */
const forgotten = new FinalizationRegistry<() => void>((leave) => leave());

export class ReadQueue<Item> {
  readonly #items: Item[] = [];
  readonly #waiters: Waiter<Item>[] = [];
  #over = false;
  /** What take() has still to throw; null: nothing. */
  #failure: { error: unknown } | null = null;
  /** Resolved when there is room; null: there is. */
  #room: ReturnType<typeof deferred<void>> | null = null;

  /** `onLeave`: the reader wants no more, or nobody has it any more. It may be called again. */
  constructor(readonly onLeave: () => void) {}

  /** The one reader. `begin` is called before it waits for the first time; what it throws is thrown there. */
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

  /** Null: there is room. Otherwise resolves when there is, or when nothing more is wanted. */
  room(): Promise<void> | null {
    return this.#room?.promise ?? null;
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = null;
  }

  /** Ends it: normally, or with an error, which is thrown once, after what has come. `now`: in place of that. */
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

  /** For the reader: it wants no more, not even what has come. */
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
