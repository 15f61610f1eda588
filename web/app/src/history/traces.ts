// How answers and texts were chosen, kept beside them: a trace is removed with its conversation, with its message, or when
// there are too many bytes of them, the oldest first. What is in one, only the room that shows it knows (inside/).
import { ALL_STORES, Database, TRACE_STORES } from './database';
import { HistoryError } from './errors';
import { isObject } from './records';
import { browsers } from './store';

/** Bytes of all that are kept. */
export const MOST_TRACES = 64 * 2 ** 20;
/** Milliseconds for which the trace of a text stays: the tab that shows the text may be closed without a word. */
const TEXT_MS = 24 * 60 * 60 * 1000;
/** The conversation of what is of none: of texts of the writing view. */
const TEXT = '';

/** Whose trace it is. */
export interface TraceOwner {
  /** The id of its conversation; null: it is of a text of the writing view. */
  conversation: string | null;
  /** The id of the message, or of the text. */
  id: string;
}

/**
 * 'kept': it is. 'gone': there is no such message, or not any more. 'large': it is larger than all that may be kept; what
 * was kept of the same message is removed.
 */
export type TraceKept = 'kept' | 'gone' | 'large';

function keyOf({ conversation, id }: TraceOwner): [string, string] {
  return [conversation ?? TEXT, id];
}

function isSame(key: IDBValidKey, [conversation, id]: readonly [string, string]): boolean {
  return Array.isArray(key) && key[0] === conversation && key[1] === id;
}

function remove(tx: IDBTransaction, key: IDBValidKey): void {
  for (const name of TRACE_STORES) tx.objectStore(name).delete(key);
}

/** What a record says of a trace. A damaged one is the oldest. */
function factsOf(value: unknown): { bytes: number; kept: number } {
  const { bytes, kept } = isObject(value) ? value : {};
  const isAmount = (n: unknown): n is number => typeof n === 'number' && n >= 0;
  return { bytes: isAmount(bytes) ? bytes : 0, kept: isAmount(kept) ? kept : 0 };
}

/** All functions throw a HistoryError; then nothing has changed. Tabs may use it at the same time. */
export class Traces {
  readonly #db: Database;
  readonly #most: number;
  readonly #now: () => number;

  /** `most`: bytes of all traces. Throws a HistoryError 'none' where the browser keeps nothing. */
  constructor(factory = browsers(), most = MOST_TRACES, now: () => number = Date.now) {
    this.#db = new Database(factory);
    this.#most = most;
    this.#now = now;
  }

  /**
   * Keeps a trace, in the place of the one before. `value`: what structuredClone() can copy; `bytes`: about its size. The
   * oldest ones of others go until there is room, also where the device is full.
   */
  async put(owner: TraceOwner, value: unknown, bytes: number): Promise<TraceKept> {
    try {
      return await this.#put(owner, value, bytes);
    } catch (error) {
      if (!(error instanceof HistoryError) || error.code !== 'full') throw error;
      if (!(await this.#removeAll(owner))) throw error;
      return this.#put(owner, value, bytes);
    }
  }

  #put(owner: TraceOwner, value: unknown, bytes: number): Promise<TraceKept> {
    const key = keyOf(owner);
    const work = (tx: IDBTransaction): (() => TraceKept) => {
      let result: TraceKept = 'kept';
      const write = (): void => {
        if (bytes > this.#most) {
          result = 'large';
          remove(tx, key);
          return;
        }
        tx.objectStore('traces').put(value, key);
        tx.objectStore('traceFacts').put({ bytes, kept: this.#now() }, key);
        this.#bound(tx, key, this.#most - bytes);
      };
      if (owner.conversation === null) write();
      else {
        const message = tx.objectStore('messages').getKey(key);
        message.onsuccess = () => {
          if (message.result === undefined) result = 'gone';
          else write();
        };
      }
      return () => result;
    };
    return this.#db.run('readwrite', work, false, ALL_STORES);
  }

  /** Removes the oldest others until they have at most so many bytes, and those of texts that are too old. */
  #bound(tx: IDBTransaction, own: readonly [string, string], most: number): void {
    const store = tx.objectStore('traceFacts');
    const keys = store.getAllKeys();
    const values = store.getAll();
    values.onsuccess = () => {
      const all = keys.result.map((key, i) => ({ key, ...factsOf(values.result[i]) }));
      const others = all.filter(({ key }) => !isSame(key, own));
      let sum = others.reduce((n, { bytes }) => n + bytes, 0);
      for (const { key, bytes, kept } of others.sort((a, b) => a.kept - b.kept)) {
        const isText = Array.isArray(key) && key[0] === TEXT;
        if (sum <= most && !(isText && kept < this.#now() - TEXT_MS)) continue;
        remove(tx, key);
        sum -= bytes;
      }
    };
  }

  /** Removes all but this one. False: there were none. */
  #removeAll(but: TraceOwner): Promise<boolean> {
    const work = (tx: IDBTransaction): (() => boolean) => {
      let removed = false;
      const keys = tx.objectStore('traceFacts').getAllKeys();
      keys.onsuccess = () => {
        for (const key of keys.result) {
          if (isSame(key, keyOf(but))) continue;
          remove(tx, key);
          removed = true;
        }
      };
      return () => removed;
    };
    return this.#db.run('readwrite', work, false, TRACE_STORES);
  }

  /** A trace as it was given; null: there is none. It may be damaged, or of a newer version of the page. */
  get(owner: TraceOwner): Promise<unknown> {
    const work = (tx: IDBTransaction): (() => unknown) => {
      const found = tx.objectStore('traces').get(keyOf(owner));
      return () => (found.result as unknown) ?? null;
    };
    return this.#db.run('readonly', work, false, TRACE_STORES);
  }
}
