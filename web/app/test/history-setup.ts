// What the tests of the kept conversations share.
import 'fake-indexeddb/auto';
import { IDBFactory as FakeFactory } from 'fake-indexeddb';
import { NAME } from '../src/history/database';
import { textOf } from '../src/history/parts';
import { append, create, message, path, type Conversation } from '../src/history/tree';

/** Databases of their own, for one test. */
export function databases(): IDBFactory {
  return new FakeFactory();
}

/** A conversation of these messages, the user's first. */
export function talk(...said: string[]): Conversation {
  return said.reduce(
    (c, text, i) => {
      const role = i % 2 === 0 ? 'user' : 'assistant';
      return append(c, message(c, role, text, { finish: 'stop' }));
    },
    create('Be brief.', 'stories'),
  );
}

/** What the messages of the branch that is shown say. */
export function texts(c: Conversation | null): string[] {
  return c === null ? [] : path(c).map(textOf);
}

/** A connection of its own to the database of `factory`, to look at records and to damage them. */
export function connect(factory: IDBFactory, version?: number): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = factory.open(NAME, version);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error('not opened'));
  });
}

/** Changes the records of `store` that `which` names, past the code that keeps them; undefined removes one. */
export async function damage(
  factory: IDBFactory,
  store: string,
  which: (key: unknown) => boolean,
  change: (value: Record<string, unknown>) => unknown,
): Promise<void> {
  const db = await connect(factory);
  await new Promise<void>((resolve, reject) => {
    const tx = db.transaction(store, 'readwrite');
    tx.oncomplete = () => resolve();
    tx.onabort = () => reject(tx.error ?? new Error('aborted'));
    tx.objectStore(store).openCursor().onsuccess = (event) => {
      const cursor = (event.target as IDBRequest<IDBCursorWithValue | null>).result;
      if (cursor === null) return;
      if (which(cursor.key)) {
        const value = change(cursor.value as Record<string, unknown>);
        if (value === undefined) cursor.delete();
        else cursor.update(value);
      }
      cursor.continue();
    };
  });
  db.close();
}

interface Inside {
  _state: string;
  _abort(name: string): void;
}

/** What is written to the database while this is in use, and whether the device is full. */
export function watchWrites(): { keys: unknown[]; full: boolean; restore: () => void } {
  const { put } = IDBObjectStore.prototype;
  const watch = {
    keys: [] as unknown[],
    full: false,
    restore: () => void (IDBObjectStore.prototype.put = put),
  };
  IDBObjectStore.prototype.put = function (
    this: IDBObjectStore,
    value: unknown,
    key?: IDBValidKey,
  ) {
    watch.keys.push(key);
    const request = put.call(this, value, key);
    // As browsers do it: the request is taken, and the transaction fails later.
    const inside = this.transaction as unknown as Inside;
    const fail = (): void => {
      if (inside._state !== 'finished') inside._abort('QuotaExceededError');
    };
    if (watch.full) setImmediate(fail);
    return request;
  };
  return watch;
}
