// What pages of other versions have kept and exported: of older ones it is read, of newer ones it is left alone.
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { NAME } from '../src/history/database';
import { writeLast } from '../src/history/last-words';
import { partsOf } from '../src/history/parts';
import { search } from '../src/history/search';
import { HistoryError, openStore, type Store } from '../src/history/store';
import { allToJson, fromJson } from '../src/history/transfer';
import { append, message, path, rename, type Conversation } from '../src/history/tree';
import { connect, damage, databases, talk, texts } from './history-setup';
import recorded from './records-of-version-1.json';

const ID = recorded.database.conversations[0]?.[0] as string;

/** Of the conversation that was recorded, what the branch that was shown says. */
const SAID = ['Hello', 'Hi', 'More', 'x < y', '42'];

/** A database as a page of the first version has left it. */
async function oldDatabase(): Promise<IDBFactory> {
  const factory = databases();
  const db = await new Promise<IDBDatabase>((resolve) => {
    const request = factory.open(NAME, 1);
    request.onupgradeneeded = () => {
      for (const store of Object.keys(recorded.database)) request.result.createObjectStore(store);
    };
    request.onsuccess = () => resolve(request.result);
  });
  const tx = db.transaction(Object.keys(recorded.database), 'readwrite');
  for (const [store, entries] of Object.entries(recorded.database))
    for (const [key, value] of entries) tx.objectStore(store).put(value, key as IDBValidKey);
  await new Promise((resolve) => (tx.oncomplete = resolve));
  db.close();
  return factory;
}

/** All records of a store. */
async function records(factory: IDBFactory, store: string): Promise<Record<string, unknown>[]> {
  const db = await connect(factory);
  const all = db.transaction(store).objectStore(store).getAll();
  await new Promise((resolve) => (all.onsuccess = resolve));
  db.close();
  return all.result as Record<string, unknown>[];
}

const code = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'nothing',
    (error: unknown) => (error instanceof HistoryError ? error.code : error),
  );

let words: Map<string, string>;
beforeEach(() => {
  words = new Map();
  vi.stubGlobal(
    'localStorage',
    new Proxy(
      {
        getItem: (key: string) => words.get(key) ?? null,
        removeItem: (key: string) => words.delete(key),
      },
      {
        ownKeys: () => [...words.keys()],
        getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
      },
    ),
  );
});
afterEach(() => vi.unstubAllGlobals());

it('reads the records of the first version, and writes anew what changes', async () => {
  const factory = await oldDatabase();
  const store = await openStore(factory);
  expect(await store.list()).toMatchObject([{ id: ID, title: 'Hallo', model: 'stories' }]);
  const read = await store.get(ID);
  expect(texts(read)).toEqual(SAID);
  expect(read).toMatchObject({ version: 2, system: 'Be brief.' });
  const answer = path(read as Conversation)[3];
  expect(answer).toMatchObject({
    parts: [
      { part: 'reasoning', text: 'hm\n\nso' },
      { part: 'text', text: 'x < y' },
    ],
    finish: 'length',
    dropped: 2,
    figures: { tokens: 9, model: 'stories' },
  });
  expect(answer).not.toHaveProperty('content');

  const before = read as Conversation;
  const after = append(before, message(before, 'user', 'Next'));
  await store.put(after, before);
  expect(await store.get(ID)).toEqual(after);
  // The others are as they were.
  const versions = (await records(factory, 'messages')).map(({ version }) => version);
  expect(versions.filter((version) => version === 2)).toHaveLength(1);
  expect(versions.filter((version) => version === undefined)).toHaveLength(6);
  expect(await records(factory, 'conversations')).toMatchObject([{ version: 2 }]);
  store.close();
});

it('keeps a page of the first version from a database that it would damage', async () => {
  const factory = await oldDatabase();
  (await openStore(factory)).close();
  await expect(connect(factory, 1)).rejects.toMatchObject({ name: 'VersionError' });
});

it('reads a file of the first version as the database', async () => {
  const store = await openStore(await oldDatabase());
  expect(fromJson(recorded.file)).toEqual([await store.get(ID)]);
  store.close();
});

it('takes what a page of the first version has not written any more', async () => {
  const store = await openStore(await oldDatabase());
  for (const [key, value] of Object.entries(recorded.last)) words.set(key, value);
  await writeLast(store);
  expect(words.size).toBe(0);
  const read = await store.get(ID);
  expect(path(read as Conversation).at(-1)).toMatchObject({
    parts: partsOf('Half an ans', 'Well'),
    finish: null,
  });
  store.close();
});

const newer = (value: Record<string, unknown>): unknown => ({ ...value, version: 3, parts: 'new' });
const one = (id: string) => (key: unknown) => key === id || (Array.isArray(key) && key[0] === id);

it.each(['conversations', 'messages'])('leaves newer records alone: %s', async (kind) => {
  const factory = databases();
  const store: Store = await openStore(factory);
  const [theirs, mine] = [talk('theirs', 'new'), talk('mine')];
  for (const c of [theirs, mine]) await store.put(c);
  await damage(factory, kind, one(theirs.id), newer);
  if (kind === 'messages') await damage(factory, 'conversations', one(theirs.id), newer);
  const before = [await records(factory, 'conversations'), await records(factory, 'messages')];

  expect((await store.list()).map(({ title }) => title).sort()).toEqual(['mine', 'theirs']);
  expect(await code(store.get(theirs.id))).toBe('newer');
  expect(await code(store.put(rename(theirs, 'x'), theirs))).toBe('newer');
  expect(await code(store.rename(theirs.id, 'x'))).toBe('newer');
  const found = [];
  for await (const { summary } of search('theirs', store)) found.push(summary.id);
  expect(found).toEqual([]);
  const [file = new Blob()] = await allToJson(store);
  expect(fromJson(await file.text())).toEqual([mine]);
  expect([await records(factory, 'conversations'), await records(factory, 'messages')]).toEqual(
    before,
  );

  await store.delete(theirs.id);
  expect((await store.list()).map(({ id }) => id)).toEqual([mine.id]);
  store.close();
});

it('leaves what a newer page has not written yet for that one', async () => {
  const store = await openStore(databases());
  const c = talk('a');
  const head = { ...c, version: 3 };
  words.set(`sluice.last.${c.id}`, JSON.stringify({ head, messages: [], isWhole: true }));
  await writeLast(store);
  expect(await store.list()).toEqual([]);
  expect(words.size).toBe(1);
  store.close();
});
