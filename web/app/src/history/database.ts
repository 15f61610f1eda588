// The connection to the browser's database: its versions, and transactions as promises.
import { HistoryError, explained } from './errors';

export const NAME = 'sluice-conversations';
/** Raised with whatever an older version of the page would damage: that one can't open the database then, and says so. */
export const VERSION = 3;

/** `conversations` has what is not a message, `messages` one record for each, under [conversation, message]. */
export const STORES = ['summaries', 'conversations', 'messages'] as const;
/** How answers and texts were chosen, and how large each of these is (traces.ts). Keys: [conversation, message]. */
export const TRACE_STORES = ['traces', 'traceFacts'] as const;
export const ALL_STORES = [...STORES, ...TRACE_STORES] as const;

/** Brings a database of version `from` to the present one, in its transaction; 0: it is new. */
function upgrade(db: IDBDatabase, from: number): void {
  if (from < 1) for (const name of STORES) db.createObjectStore(name);
  // 2: messages are parts (tree.ts). Records of before are read as they are, and written anew when they change.
  // 3: traces are kept beside them.
  if (from < 3) for (const name of TRACE_STORES) db.createObjectStore(name);
  // A later version adds its step here: if (from < 4) ...
}

export class Database {
  readonly #factory: IDBFactory;
  #open: Promise<IDBDatabase> | null = null;
  /** Set once a newer version of the page has taken the database. */
  #newer = false;
  #closed = false;

  /** `factory`: the browser's; undefined in browsers without one. */
  constructor(factory: IDBFactory | undefined) {
    if (factory === undefined) throw new HistoryError('none');
    this.#factory = factory;
  }

  /** Opens the connection, or gives the open one. */
  open(): Promise<IDBDatabase> {
    if (this.#closed) return Promise.reject(new HistoryError('failed'));
    if (this.#newer) return Promise.reject(new HistoryError('newer'));
    this.#open ??= this.#connect().catch((error: unknown) => {
      // The next call tries again.
      this.#open = null;
      throw explained(error, true);
    });
    return this.#open;
  }

  #connect(): Promise<IDBDatabase> {
    return new Promise((resolve, reject) => {
      const request = this.#factory.open(NAME, VERSION);
      request.onupgradeneeded = ({ oldVersion }) => {
        try {
          upgrade(request.result, oldVersion);
        } catch (error) {
          request.transaction?.abort();
          reject(explained(error, true));
        }
      };
      request.onerror = () => reject(explained(request.error, true));
      request.onsuccess = () => {
        const db = request.result;
        // Another tab has a newer version, or the database is being deleted: this tab must not be in the way.
        db.onversionchange = ({ newVersion }) => {
          this.#newer ||= newVersion !== null && newVersion > VERSION;
          this.#open = null;
          db.close();
        };
        // The browser has cleared the page's data.
        db.onclose = () => (this.#open = null);
        if (this.#closed) db.close();
        resolve(db);
      };
    });
  }

  /**
   * Does `work` in one transaction: all of it is kept, or nothing. `work` makes its requests before it returns or in
   * their events. Resolves to what `work` returned, called when the transaction is complete. Throws a HistoryError. `now`:
   * does not wait for the requests' events. `stores`: those that `work` uses.
   */
  async run<T>(
    mode: 'readonly' | 'readwrite',
    work: (tx: IDBTransaction) => () => T,
    now = false,
    stores: readonly string[] = STORES,
  ): Promise<T> {
    try {
      return await this.#once(await this.open(), mode, work, now, stores);
    } catch (error) {
      // A connection that the browser has closed without an event. Nothing of the transaction was done.
      const lost = error instanceof Error && error.name === 'InvalidStateError';
      if (!lost || this.#closed) throw explained(error);
      this.#open = null;
      try {
        return await this.#once(await this.open(), mode, work, now, stores);
      } catch (again) {
        throw explained(again);
      }
    }
  }

  #once<T>(
    db: IDBDatabase,
    mode: 'readonly' | 'readwrite',
    work: (tx: IDBTransaction) => () => T,
    now: boolean,
    stores: readonly string[],
  ): Promise<T> {
    const tx = db.transaction(stores, mode);
    return new Promise((resolve, reject) => {
      let result: (() => T) | undefined;
      tx.oncomplete = () => {
        try {
          if (result !== undefined) resolve(result());
        } catch (error) {
          reject(explained(error));
        }
      };
      // Also when a single request fails, since that aborts the transaction.
      tx.onabort = () => reject(explained(tx.error));
      try {
        result = work(tx);
        // Without waiting for the events of requests: the page may be gone by then.
        if (now) tx.commit();
      } catch (error) {
        reject(explained(error));
        tx.abort();
      }
    });
  }

  close(): void {
    this.#closed = true;
    void this.#open?.then(
      (db) => db.close(),
      () => {},
    );
    this.#open = null;
  }
}
