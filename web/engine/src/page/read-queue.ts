// A queue of tokens, or of an answer's chunks, for one reader. The writer waits for room(), so that a slow reader bounds the
// queue. If the reader is gone, the queue ends. streamOf() is the stream of some work: all that the library gives to
// read goes through it.
import { bindMembers } from './bound.js';
import { deferred, onAbort } from '../shared/promises.js';
import { abortReason } from '../shared/errors.js';

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
  /** The platform's own: see below. */
  declare [Symbol.asyncIterator]: () => this;
  readonly #queue: ReadQueue<Item>;
  #begin: (() => void) | null;

  constructor(queue: ReadQueue<Item>, begin: () => void) {
    this.#queue = queue;
    this.#begin = begin;
    bindMembers(this);
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

// A reader has what the platform gives its own async iterators: that it can be looped over, and [Symbol.asyncDispose] where
// there is one.
Object.setPrototypeOf(
  Reader.prototype,
  Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}.prototype)) as object,
);

/** What fills a stream. The signal fires when the reader has left, or when what the caller gave ends the stream. */
export type Work<Item, End = void> = (
  out: Pick<ReadQueue<Item>, 'push' | 'room'>,
  signal: AbortSignal,
) => Promise<End>;

/** A stream, and what starts the work that fills it. `start` settles as the work does. */
export interface WorkStream<Item, End> {
  queue: ReadQueue<Item>;
  start(): Promise<End>;
}

/**
 * A stream of what `work` pushes. It ends when the work does: an error is thrown after the items in the queue. If the reader
 * leaves, or is forgotten, the work's signal fires, then `onLeave` is called. `watch`: called at the start, with what ends the
 * stream and the work at once with an error; returns what ends the watching.
 */
export function streamOf<Item, End = void>(
  work: Work<Item, End>,
  watch: (end: (error: unknown) => void) => () => void,
  onLeave: () => void = () => {},
): WorkStream<Item, End> {
  const stop = new AbortController();
  const queue = new ReadQueue<Item>(() => {
    stop.abort();
    onLeave();
  });
  const start = async (): Promise<End> => {
    const release = watch((error) => {
      stop.abort(error);
      queue.end({ error }, true);
    });
    try {
      const end = await work(queue, stop.signal);
      queue.end();
      return end;
    } catch (error) {
      queue.end({ error });
      throw error;
    } finally {
      release();
    }
  };
  return { queue, start };
}

/** A reader, and how the work ends that fills its stream. */
export type EndingReader<Item, End> = Reader<Item> & { readonly ending: Promise<End> };

/**
 * The reader of such a stream, whose work begins with the first next(). `signal` ends it. `left`: how it has ended if the reader
 * has left.
 */
export function lazyReader<Item, End>(
  work: Work<Item, End>,
  left: () => End,
  signal: AbortSignal | undefined,
): EndingReader<Item, End> {
  const ending = deferred<End>();
  let over = false;
  const finish = (end: End): void => {
    over = true;
    ending.resolve(end);
  };
  const fail = (error: unknown): void => {
    over = true;
    ending.reject(error); // the reader gets it, too
  };
  const { queue, start } = streamOf(
    work,
    (end) =>
      onAbort(signal, (reason) => {
        fail(reason);
        end(reason);
      }),
    () => {
      if (!over) finish(left());
    },
  );
  const reader = queue.reader(() => {
    if (signal?.aborted) {
      const reason = abortReason(signal);
      queue.end();
      fail(reason);
      throw reason;
    }
    start().then(finish, fail);
  });
  return Object.assign(reader, { ending: ending.promise });
}

/** A reader whose first next() throws this error. */
export function failedReader<Item, End>(error: unknown): EndingReader<Item, End> {
  const { promise, reject } = deferred<End>();
  const queue = new ReadQueue<Item>(() => reject(error));
  const reader = queue.reader(() => {
    queue.end();
    reject(error);
    throw error;
  });
  return Object.assign(reader, { ending: promise });
}
