// Keeps the open conversation written: at once what the reader or an answer's end has changed, and an answer that is being
// written every half second. This is the only place that paces that. One write at a time, the newest state last.
import { effect, signal, type ReadonlySignal } from '@preact/signals';
import { explained, type HistoryError } from './errors';
import { dropLast, keepLast } from './last-words';
import type { Store } from './store';
import type { Conversation } from './tree';

/** Milliseconds between two writes of an answer that is being written. */
const GROWTH_MS = 500;

export interface Keeper {
  /** Why the last write failed; null once one has succeeded. What could not be written is tried again with the next change. */
  problem: ReadonlySignal<HistoryError | null>;
  /** Says that the store has this conversation just as it is: what was read from it, or came from another tab. */
  saved(conversation: Conversation): void;
  /** Says that what `collect` gives has grown. It is collected and written when the time for that has come. */
  grows(): void;
  /** To call before a conversation is deleted: what is not written yet of it never is, until it changes again. */
  forget(id: string): void;
  /** Writes what is not written yet. Resolves when that has been done or has failed; `problem` says which. */
  flush(): Promise<void>;
  /** Writes what is not written yet, and ends. */
  stop(): Promise<void>;
}

/** Where the page's end is heard, and whether the page is seen. */
export interface Page {
  document: Pick<Document, 'visibilityState'> & EventTarget;
  window: EventTarget;
}

export interface KeeperOptions {
  /** False: this tab only reads. Nothing is written then. */
  writer?: ReadonlySignal<boolean>;
  /** Called before each write: puts what isn't in the signal yet there. */
  collect?: () => void;
  /** After each write. */
  onWritten?: (conversation: Conversation) => void;
  page?: Page;
}

/**
 * Keeps what `conversation` holds written to `store`. A new conversation is written from its first message on. Another one
 * may take its place in the signal; what is left of the first is still written.
 */
export function keep(
  conversation: ReadonlySignal<Conversation | null>,
  store: Store,
  options: KeeperOptions = {},
): Keeper {
  return new Keeping(conversation, store, options);
}

class Keeping implements Keeper {
  readonly problem = signal<HistoryError | null>(null);
  readonly #store: Store;
  readonly #options: KeeperOptions;
  /** By id: as the store has them. */
  readonly #saved = new Map<string, Conversation>();
  /** By id: states to be written. */
  readonly #pending = new Map<string, Conversation>();
  /** The conversation in the signal. */
  #shown: Conversation | null = null;
  /** Until what has grown is written. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** A write at the end of this task is planned. */
  #planned = false;
  #running: Promise<void> | null = null;
  /** Those of which last words are kept (last-words.ts). */
  readonly #last = new Set<string>();
  /** What is pending is to be written once the write that is under way has ended. */
  #again = false;
  /** What changes in the signal comes from `collect`: whoever has called that, writes it. */
  #collecting = false;
  readonly #ends: (() => void)[] = [];

  constructor(
    conversation: ReadonlySignal<Conversation | null>,
    store: Store,
    options: KeeperOptions,
  ) {
    this.#store = store;
    this.#options = options;
    this.#ends.push(
      effect(() => this.#see(conversation.value)),
      effect(() => {
        if (options.writer?.value === true && this.#pending.size > 0) this.#soon();
      }),
    );
    const { document, window } = options.page ?? globalThis;
    // The last event that a phone is sure to send. Usually the page lives on.
    const hidden = (): void => {
      if (document.visibilityState === 'hidden') void this.flush();
    };
    const gone = (): void => this.#writeNow();
    document.addEventListener('visibilitychange', hidden);
    window.addEventListener('pagehide', gone);
    this.#ends.push(() => {
      document.removeEventListener('visibilitychange', hidden);
      window.removeEventListener('pagehide', gone);
    });
  }

  saved(conversation: Conversation): void {
    this.#saved.set(conversation.id, conversation);
    this.#pending.delete(conversation.id);
  }

  grows(): void {
    this.#timer ??= setTimeout(() => this.#due(), GROWTH_MS);
  }

  forget(id: string): void {
    this.#saved.delete(id);
    this.#pending.delete(id);
    this.#dropLast(id);
    if (this.#pending.size === 0) this.problem.value = null;
  }

  async flush(): Promise<void> {
    this.#collect();
    // A write that is under way has the older state.
    await this.#running;
    if (this.#mayWrite()) await this.#write();
  }

  async stop(): Promise<void> {
    for (const end of this.#ends.splice(0)) end();
    await this.flush();
  }

  #mayWrite(): boolean {
    return this.#options.writer?.peek() !== false;
  }

  #see(now: Conversation | null): void {
    const before = this.#shown;
    this.#shown = now;
    if (before !== null && before.id !== now?.id && !this.#pending.has(before.id))
      this.#saved.delete(before.id);
    if (now === null || now === this.#saved.get(now.id)) return;
    // Nothing has been said yet.
    if (!this.#saved.has(now.id) && Object.keys(now.messages).length === 0) return;
    this.#pending.set(now.id, now);
    if (!this.#collecting) this.#soon();
  }

  /** Puts what isn't in the signal yet there, to be written now. */
  #collect(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#collecting = true;
    try {
      this.#options.collect?.();
    } finally {
      this.#collecting = false;
    }
  }

  /** Writes at the end of this task: all changes of one are one write. */
  #soon(): void {
    if (this.#planned) return;
    this.#planned = true;
    queueMicrotask(() => this.#due());
  }

  #due(): void {
    this.#planned = false;
    this.#collect();
    if (this.#running === null) void this.#write();
    else this.#again = true;
  }

  /** Writes all that is pending, one after another. */
  #write(): Promise<void> {
    this.#running ??= this.#writeAll().finally(() => (this.#running = null));
    return this.#running;
  }

  async #writeAll(): Promise<void> {
    do {
      this.#again = false;
      for (const id of [...this.#pending.keys()]) {
        const next = this.#pending.get(id);
        if (next !== undefined && this.#mayWrite()) await this.#put(next, false);
      }
    } while (this.#again);
  }

  async #put(next: Conversation, now: boolean): Promise<void> {
    const { id } = next;
    const previous = this.#saved.get(id) ?? null;
    try {
      await this.#store.put(next, previous, now);
    } catch (error) {
      // What failed stays pending, and is tried again with the next change. (It may be forgotten by now.)
      if (this.#pending.has(id)) this.problem.value = explained(error);
      return;
    }
    this.problem.value = null;
    // If it has changed meanwhile (forgotten, or written by another call), the older state is the safe one to compare with.
    if ((this.#saved.get(id) ?? null) === previous) this.#saved.set(id, next);
    if (this.#pending.get(id) === next) this.#pending.delete(id);
    if (!this.#pending.has(id)) this.#dropLast(id);
    if (this.#shown?.id !== id && !this.#pending.has(id)) this.#saved.delete(id);
    this.#options.onWritten?.(next);
  }

  #dropLast(id: string): void {
    if (this.#last.delete(id)) dropLast(id);
  }

  /**
   * The page may end now: asks for the writes at once, also while another is under way, which comes first anyway. Browsers
   * may drop them.
   */
  #writeNow(): void {
    this.#collect();
    if (!this.#mayWrite()) return;
    for (const one of this.#pending.values()) {
      this.#last.add(one.id);
      keepLast(one, this.#saved.get(one.id) ?? null);
      void this.#put(one, true);
    }
  }
}
