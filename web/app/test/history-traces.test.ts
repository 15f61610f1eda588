// Traces in the page's database: they go with what they are of, and the oldest of them when there are too many bytes.
import { afterEach, expect, it, vi } from 'vitest';
import { NAME, TRACE_STORES } from '../src/history/database';
import { recordOf } from '../src/history/records';
import { HistoryError, openStore } from '../src/history/store';
import { Traces, type TraceOwner } from '../src/history/traces';
import { remove, type Conversation } from '../src/history/tree';
import { pack, unpack } from '../src/inside/kept-trace';
import { connect, databases, talk, watchWrites } from './history-setup';
import { traceOf } from './traces';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const code = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'nothing',
    (error: unknown) => (error instanceof HistoryError ? error.code : error),
  );
const ownerOf = (c: Conversation): TraceOwner => ({ conversation: c.id, id: c.leaf ?? '' });
const text = (id: string): TraceOwner => ({ conversation: null, id });

/** The traces of a conversation, '' for texts: what their messages are called, and what is known of each. */
async function listed(factory: IDBFactory, conversation: string) {
  const db = await connect(factory);
  const store = db.transaction('traceFacts').objectStore('traceFacts');
  const [keys, values] = [store.getAllKeys(), store.getAll()];
  await new Promise((resolve) => (values.onsuccess = resolve));
  db.close();
  return (keys.result as [string, string][])
    .map(([of, id], i) => ({ of, id, ...(values.result[i] as { bytes: number; kept: number }) }))
    .filter(({ of }) => of === conversation)
    .map(({ id, bytes, kept }) => ({ id, bytes, kept }));
}

/** How many records there are of traces. */
async function records(factory: IDBFactory): Promise<number[]> {
  const db = await connect(factory);
  const tx = db.transaction([...TRACE_STORES]);
  const counts = TRACE_STORES.map((name) => tx.objectStore(name).count());
  await new Promise((resolve) => (tx.oncomplete = resolve));
  db.close();
  return counts.map(({ result }) => result);
}

it('keeps a trace with its message, and gives it to other tabs', async () => {
  const factory = databases();
  const c = talk('one', 'two');
  await (await openStore(factory)).put(c);
  const [one, two] = [new Traces(factory, undefined, () => 7), new Traces(factory)];
  expect(await one.get(ownerOf(c))).toBeNull();
  const trace = traceOf(5);
  expect(await one.put(ownerOf(c), pack(trace), 100)).toBe('kept');
  expect(unpack(await two.get(ownerOf(c)))).toEqual(trace);
  expect(await listed(factory, c.id)).toEqual([{ id: c.leaf, bytes: 100, kept: 7 }]);
  // Another one takes its place.
  await two.put(ownerOf(c), pack(traceOf(6)), 110);
  expect(unpack(await one.get(ownerOf(c)))?.tokens).toHaveLength(6);
});

it('keeps none of a message that is not there, or not any more', async () => {
  const factory = databases();
  const store = await openStore(factory);
  const traces = new Traces(factory);
  const c = talk('one', 'two');
  expect(await traces.put(ownerOf(c), 'trace', 1)).toBe('gone');
  await store.put(c);
  expect(await traces.put({ conversation: c.id, id: 'none' }, 'trace', 1)).toBe('gone');
  // Another tab deletes it.
  await (await openStore(factory)).delete(c.id);
  expect(await traces.put(ownerOf(c), 'trace', 1)).toBe('gone');
  expect(await records(factory)).toEqual([0, 0]);
});

it('goes with its message, its conversation, or all conversations; those of texts stay', async () => {
  const factory = databases();
  const store = await openStore(factory);
  const traces = new Traces(factory);
  const [a, b, c] = [talk('a', 'b'), talk('c', 'd'), talk('e', 'f')];
  for (const one of [a, b, c]) {
    await store.put(one);
    await traces.put(ownerOf(one), one.id, 1);
  }
  await traces.put(text('t'), 'text', 1);
  await store.put(remove(a, a.leaf ?? ''), a);
  expect(await traces.get(ownerOf(a))).toBeNull();
  expect(await records(factory)).toEqual([3, 3]);
  await store.delete(b.id);
  expect(await traces.get(ownerOf(b))).toBeNull();
  expect(await traces.get(ownerOf(c))).toBe(c.id);
  await store.deleteAll();
  expect(await traces.get(ownerOf(c))).toBeNull();
  expect(await traces.get(text('t'))).toBe('text');
  expect(await listed(factory, '')).toMatchObject([{ id: 't' }]);
  expect(await records(factory)).toEqual([1, 1]);
});

it('removes the oldest when there are too many bytes, and keeps none that is too large', async () => {
  const factory = databases();
  let now = 0;
  const traces = new Traces(factory, 100, () => ++now);
  for (const id of ['a', 'b', 'c']) await traces.put(text(id), id, 30);
  // Kept anew, a is the newest.
  await traces.put(text('a'), 'a', 30);
  await traces.put(text('d'), 'd', 35);
  expect((await listed(factory, '')).map(({ id }) => id)).toEqual(['a', 'c', 'd']);
  await traces.put(text('e'), 'e', 100);
  expect((await listed(factory, '')).map(({ id }) => id)).toEqual(['e']);
  expect(await traces.put(text('f'), 'f', 101)).toBe('large');
  expect((await listed(factory, '')).map(({ id }) => id)).toEqual(['e']);
  // What was kept of it before would be of another text.
  expect(await traces.put(text('e'), 'e', 101)).toBe('large');
  expect(await records(factory)).toEqual([0, 0]);
});

it('removes those of texts after a day', async () => {
  const factory = databases();
  const c = talk('one', 'two');
  await (await openStore(factory)).put(c);
  let now = 1000;
  const traces = new Traces(factory, undefined, () => now);
  await traces.put(text('old'), 'old', 1);
  await traces.put(ownerOf(c), 'answer', 1);
  now += 25 * 60 * 60 * 1000;
  await traces.put(text('new'), 'new', 1);
  expect((await listed(factory, '')).map(({ id }) => id)).toEqual(['new']);
  expect(await traces.get(ownerOf(c))).toBe('answer');
});

it('makes room where the device is full: for another trace, and for a conversation', async () => {
  const factory = databases();
  const store = await openStore(factory);
  const traces = new Traces(factory);
  const c = talk('one', 'two');
  await store.put(c);
  await traces.put(text('a'), 'a', 1);
  const watch = watchWrites();
  watch.full = true;
  expect(await code(traces.put(text('b'), 'b', 1))).toBe('full');
  // The first attempt has removed all others: one more has nothing to remove.
  expect(await records(factory)).toEqual([0, 0]);
  expect(await code(traces.put(text('b'), 'b', 1))).toBe('full');
  watch.full = false;
  await traces.put(text('b'), 'b', 1);
  await traces.put(ownerOf(c), 'c', 1);
  // There is room for as long as there are traces to remove.
  const { clear } = IDBObjectStore.prototype;
  vi.spyOn(IDBObjectStore.prototype, 'clear').mockImplementation(function (this: IDBObjectStore) {
    watch.full = false;
    return clear.call(this);
  });
  watch.full = true;
  const next = talk('three');
  await store.put(next);
  expect(await store.get(next.id)).toEqual(next);
  expect(await records(factory)).toEqual([0, 0]);
  watch.restore();
});

it('keeps what there was in a database of before', async () => {
  const factory = databases();
  const old = await new Promise<IDBDatabase>((resolve) => {
    const request = factory.open(NAME, 2);
    request.onupgradeneeded = () => {
      for (const name of ['summaries', 'conversations', 'messages'])
        request.result.createObjectStore(name);
    };
    request.onsuccess = () => resolve(request.result);
  });
  const c = talk('one', 'two');
  const tx = old.transaction(['conversations', 'messages'], 'readwrite');
  const { messages, ...head } = c;
  tx.objectStore('conversations').put(head, c.id);
  for (const one of Object.values(messages))
    tx.objectStore('messages').put(recordOf(one), [c.id, one.id]);
  await new Promise((resolve) => (tx.oncomplete = resolve));
  old.close();
  const traces = new Traces(factory);
  expect(await traces.put(ownerOf(c), 'trace', 1)).toBe('kept');
  expect(await (await openStore(factory)).get(c.id)).toEqual(c);
});

it('says that the browser keeps nothing', async () => {
  vi.stubGlobal('indexedDB', undefined);
  expect(() => new Traces()).toThrow(HistoryError);
  const refuses = databases();
  refuses.open = () => {
    throw new DOMException('no', 'SecurityError');
  };
  expect(await code(new Traces(refuses).get(text('a')))).toBe('none');
});
