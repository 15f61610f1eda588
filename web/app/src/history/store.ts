// The conversations that are kept on this device. A message is a record of its own, so that a streaming answer rewrites
// one message and not all of them.
import { ALL_STORES, Database, STORES, TRACE_STORES } from './database';
import { HistoryError, explained } from './errors';
import { SLICE_MS } from './pace';
import { headOf, isNewer, isObject, readConversation, readHead, readSummary } from './records';
import { recordOf, summaryOf, type Head, type Summary } from './records';
import { newId, titleOf, type Conversation, type Message } from './tree';

export { HistoryError, type HistoryCode } from './errors';
export type { Summary } from './records';

/**
 * Where conversations are kept. All functions throw a HistoryError; then nothing has changed. A conversation that a newer
 * version of the page has written is listed and can be deleted; to read or write it is a HistoryError 'newer'.
 */
export interface Store {
  /** All conversations, the last changed one first. */
  list(): Promise<Summary[]>;
  /** A conversation; null if there is none with this id. */
  get(id: string): Promise<Conversation | null>;
  /**
   * Keeps a conversation. `previous`: what is known to be kept of it; only what differs from that is written, and a field
   * that another tab has changed since stays as it is there. `now`: everything is asked of the browser at once, since
   * the page may be about to end; then no other tab is considered.
   */
  put(conversation: Conversation, previous?: Conversation | null, now?: boolean): Promise<void>;
  /** Keeps new conversations, all or none. Gives their ids: one that is taken is replaced by a new one. */
  add(conversations: readonly Conversation[]): Promise<string[]>;
  /** Gives a conversation a name. False if there is no such conversation, or no visible character in the title. */
  rename(id: string, title: string): Promise<boolean>;
  delete(id: string): Promise<void>;
  deleteAll(): Promise<void>;
  /** Ends the use of the store. */
  close(): void;
}

/**
 * Opens the conversations of this device, when no tab has an older version of them open any more. Throws a HistoryError:
 * 'none', 'newer', 'full' or 'failed'.
 */
export async function openStore(factory: IDBFactory | undefined = browsers()): Promise<Store> {
  const db = new Database(factory);
  await db.open();
  return new KeptStore(db);
}

/** A conversation, for work with many; null if there is none with this id, or it is of a newer version of the page. */
export async function getReadable(
  store: Pick<Store, 'get'>,
  id: string,
): Promise<Conversation | null> {
  try {
    return await store.get(id);
  } catch (error) {
    if (error instanceof HistoryError && error.code === 'newer') return null;
    throw error;
  }
}

/** The browser's databases. Some browsers throw at the mere look at them. */
export function browsers(): IDBFactory | undefined {
  try {
    return globalThis.indexedDB as IDBFactory | undefined;
  } catch (error) {
    throw explained(error, true);
  }
}

/** The keys of a conversation's messages, and of their traces: an array is above every text. */
function keysOf(id: string): IDBKeyRange {
  return IDBKeyRange.bound([id], [id, []]);
}

/** The keys of what is of conversations, and not of texts, which are of none: ''. */
function ofConversations(): IDBKeyRange {
  return IDBKeyRange.lowerBound(['', []]);
}

/** Removes all traces. False: there were none. */
function dropTraces(db: Database): Promise<boolean> {
  const clear = (tx: IDBTransaction): (() => boolean) => {
    const count = tx.objectStore('traceFacts').count();
    for (const name of TRACE_STORES) tx.objectStore(name).clear();
    return () => count.result > 0;
  };
  return db.run('readwrite', clear, false, TRACE_STORES);
}

/** Orders summaries, the last changed one first. */
export function byChange(a: Summary, b: Summary): number {
  return b.changed - a.changed || (a.id < b.id ? -1 : 1);
}

/** The messages of `after` that differ from those of `before`, and the ids of those that it has no more. */
export function differences(after: Conversation, before: Conversation): [Message[], string[]] {
  const written = Object.values(after.messages).filter((one) => before.messages[one.id] !== one);
  const gone = Object.keys(before.messages).filter((id) => !Object.hasOwn(after.messages, id));
  return [written, gone];
}

/** `after`, but a field that is as in `before` stays as it is kept. */
function merged(kept: Head, after: Head, before: Head): Head {
  const own = Object.entries(after).filter(([name, value]) => {
    return value !== before[name as keyof Head];
  });
  return { ...kept, ...Object.fromEntries(own), changed: Math.max(kept.changed, after.changed) };
}

/** Gives the last request, as putWhole() does. */
function putHead(tx: IDBTransaction, head: Head): IDBRequest {
  tx.objectStore('conversations').put(head, head.id);
  return tx.objectStore('summaries').put(summaryOf(head), head.id);
}

function putMessages(tx: IDBTransaction, id: string, messages: Iterable<Message>): void {
  const store = tx.objectStore('messages');
  for (const one of messages) store.put(recordOf(one), [id, one.id]);
}

function putWhole(tx: IDBTransaction, c: Conversation): IDBRequest {
  tx.objectStore('messages').delete(keysOf(c.id));
  putMessages(tx, c.id, Object.values(c.messages));
  return putHead(tx, headOf(c));
}

const nothing = (): void => {};

class KeptStore implements Store {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  list(): Promise<Summary[]> {
    return this.#db.run('readonly', (tx) => {
      const keys = tx.objectStore('conversations').getAllKeys();
      const names = tx.objectStore('summaries').getAllKeys();
      const values = tx.objectStore('summaries').getAll();
      const found: Summary[] = [];
      values.onsuccess = () => {
        const at = new Map(names.result.map((name, i) => [name, i]));
        for (const id of keys.result) {
          if (typeof id !== 'string') continue;
          const summary = readSummary(id, values.result[at.get(id) ?? -1]);
          if (summary !== null) {
            found.push(summary);
            continue;
          }
          // A damaged summary is made anew.
          const head = tx.objectStore('conversations').get(id);
          head.onsuccess = () => found.push(summaryOf(readHead(id, head.result)));
        }
      };
      return () => found.sort(byChange);
    });
  }

  get(id: string): Promise<Conversation | null> {
    return this.#db.run('readonly', (tx) => {
      const head = tx.objectStore('conversations').get(id);
      const keys = tx.objectStore('messages').getAllKeys(keysOf(id));
      const values = tx.objectStore('messages').getAll(keysOf(id));
      return () => {
        if ([head.result, ...values.result].some(isNewer)) throw new HistoryError('newer');
        const ids = keys.result.map((key) => (Array.isArray(key) ? key[1] : undefined));
        return readConversation(id, head.result, ids, values.result);
      };
    });
  }

  put(c: Conversation, previous: Conversation | null = null, now = false): Promise<void> {
    const [written, gone] = previous === null ? [[], []] : differences(c, previous);
    const write = (tx: IDBTransaction): (() => void) => {
      if (previous === null) {
        putWhole(tx, c);
        return nothing;
      }
      const putRest = (head: Head): void => {
        putMessages(tx, c.id, written);
        for (const id of gone)
          for (const name of ['messages', ...TRACE_STORES]) tx.objectStore(name).delete([c.id, id]);
        putHead(tx, head);
      };
      if (now) {
        putRest(headOf(c));
        return nothing;
      }
      const kept = tx.objectStore('conversations').get(c.id);
      kept.onsuccess = () => {
        if (isNewer(kept.result)) return;
        // Deleted by another tab meanwhile, or damaged: never a part of a conversation alone.
        if (!isObject(kept.result)) putWhole(tx, c);
        else putRest(merged(readHead(c.id, kept.result), headOf(c), headOf(previous)));
      };
      return () => {
        if (isNewer(kept.result)) throw new HistoryError('newer');
      };
    };
    return this.#write(write, gone.length > 0 ? ALL_STORES : STORES, now);
  }

  /** Writes. Where the device is full, traces make room: they can be computed again. */
  async #write<T>(
    work: (tx: IDBTransaction) => () => T,
    stores: readonly string[] = STORES,
    now = false,
  ): Promise<T> {
    try {
      return await this.#db.run('readwrite', work, now, stores);
    } catch (error) {
      const full = error instanceof HistoryError && error.code === 'full';
      if (!full || now || !(await dropTraces(this.#db))) throw error;
      return this.#db.run('readwrite', work, now, stores);
    }
  }

  add(conversations: readonly Conversation[]): Promise<string[]> {
    return this.#write((tx) => {
      const keys = tx.objectStore('conversations').getAllKeys();
      const ids: string[] = [];
      keys.onsuccess = () => {
        const taken = new Set<unknown>(keys.result);
        // Many take long: the page goes on between slices of them, and the transaction does not end.
        const addSome = (): void => {
          const begun = performance.now();
          for (const c of conversations.slice(ids.length)) {
            const id = taken.has(c.id) ? newId() : c.id;
            taken.add(id);
            ids.push(id);
            const last = putWhole(tx, { ...c, id });
            if (performance.now() - begun < SLICE_MS) continue;
            last.onsuccess = addSome;
            return;
          }
        };
        addSome();
      };
      return () => ids;
    });
  }

  rename(id: string, title: string): Promise<boolean> {
    const clean = titleOf(title);
    return this.#db.run('readwrite', (tx) => {
      let done = false;
      const kept = tx.objectStore('conversations').get(id);
      kept.onsuccess = () => {
        if (kept.result === undefined || clean === '' || isNewer(kept.result)) return;
        done = true;
        const changed = Date.now();
        putHead(tx, { ...readHead(id, kept.result), title: clean, named: true, changed });
      };
      return () => {
        if (isNewer(kept.result)) throw new HistoryError('newer');
        return done;
      };
    });
  }

  delete(id: string): Promise<void> {
    return this.#write((tx) => {
      for (const name of ['messages', ...TRACE_STORES]) tx.objectStore(name).delete(keysOf(id));
      tx.objectStore('conversations').delete(id);
      tx.objectStore('summaries').delete(id);
      return nothing;
    }, ALL_STORES);
  }

  deleteAll(): Promise<void> {
    return this.#write((tx) => {
      for (const name of STORES) tx.objectStore(name).clear();
      for (const name of TRACE_STORES) tx.objectStore(name).delete(ofConversations());
      return nothing;
    }, ALL_STORES);
  }

  close(): void {
    this.#db.close();
  }
}
