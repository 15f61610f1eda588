import { afterEach, expect, it, vi } from 'vitest';
import { NAME, VERSION } from '../src/history/database';
import { memoryStore } from '../src/history/memory';
import { partsOf } from '../src/history/parts';
import { mended } from '../src/history/records';
import { HistoryError, openStore, type Store } from '../src/history/store';
import {
  append,
  create,
  edit,
  message,
  newId,
  path,
  remove,
  rename,
  update,
} from '../src/history/tree';
import { type Conversation } from '../src/history/tree';
import { connect, damage, databases, talk, texts, watchWrites } from './history-setup';

/** Only against a test that never ends: much is done here. */
const LONG = 600_000;

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const code = (error: unknown): unknown => (error instanceof HistoryError ? error.code : error);
const failure = (work: Promise<unknown>): Promise<unknown> => work.then(() => 'nothing', code);
const at = (c: Conversation, changed: number): Conversation => ({ ...c, changed });

const stores: [string, () => Promise<Store>][] = [
  ['on the device', () => openStore(databases())],
  ['in memory', async () => memoryStore()],
];

it.each(stores)('keeps conversations %s', async (_, open) => {
  const store = await open();
  expect(await store.list()).toEqual([]);
  const a = at(talk('one', 'two'), 100);
  const b = at({ ...talk('three'), model: null }, 200);
  await store.put(a);
  await store.put(b);
  expect(await store.get(a.id)).toEqual(a);
  const { id, title, changed, created, model } = a;
  expect(await store.list()).toEqual([
    { id: b.id, title: 'three', changed: 200, created: b.created, model: null },
    { id, title, changed, created, model },
  ]);
  expect(await store.rename(a.id, 'A\nname')).toBe(true);
  expect((await store.list()).map((one) => one.title)).toEqual(['A name', 'three']);
  expect(await store.get(a.id)).toMatchObject({ title: 'A name', named: true });
  expect(await store.rename(a.id, ' \u200e')).toBe(false);
  expect(await store.rename('none', 'x')).toBe(false);
  await store.delete(a.id);
  expect(await store.get(a.id)).toBeNull();
  expect(texts(await store.get(b.id))).toEqual(['three']);
  await store.deleteAll();
  expect(await store.list()).toEqual([]);
  expect(await store.get(b.id)).toBeNull();
});

it.each(stores)('adds conversations %s and overwrites none', async (_, open) => {
  const store = await open();
  const a = talk('mine');
  await store.put(a);
  const other = { ...talk('theirs', 'too'), id: a.id };
  const ids = await store.add([other, other, talk('new')]);
  expect(new Set([a.id, ...ids]).size).toBe(4);
  expect(texts(await store.get(a.id))).toEqual(['mine']);
  expect(texts(await store.get(ids[1] ?? ''))).toEqual(['theirs', 'too']);
  expect((await store.get(ids[1] ?? ''))?.id).toBe(ids[1]);
});

it('adds many in slices, all or none', async () => {
  let time = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => (time += 7));
  const store = await openStore(databases());
  const many = Array.from({ length: 30 }, (_, i) => talk(`word ${i}`));
  expect(await store.add(many)).toEqual(many.map(({ id }) => id));
  expect(await store.list()).toHaveLength(30);
  const watch = watchWrites();
  // The last slices find no room.
  Object.defineProperty(watch, 'full', { get: () => watch.keys.length > 60 });
  expect(await failure(store.add(many))).toBe('full');
  expect(watch.keys.length).toBeLessThan(90);
  watch.restore();
  expect(await store.list()).toHaveLength(30);
});

it('writes one message and the head while an answer streams, however long the conversation is', async () => {
  const store = await openStore(databases());
  let c = talk(...Array.from({ length: 200 }, (_, i) => `message ${i}`));
  c = append(c, message(c, 'assistant', ''));
  await store.put(c);
  const watch = watchWrites();
  const before = c;
  c = update(c, c.leaf ?? '', { parts: partsOf('Once') });
  await store.put(c, before);
  expect(watch.keys).toEqual([[c.id, c.leaf], c.id, c.id]);
  watch.restore();
  expect(texts(await store.get(c.id)).at(-1)).toBe('Once');
});

it('writes and removes what differs, in both ways of writing', async () => {
  const store = await openStore(databases());
  for (const now of [false, true]) {
    const first = talk('a', 'b', 'c');
    await store.put(first);
    const gone = remove(first, first.leaf ?? '');
    const after = edit(gone, path(gone)[0]?.id ?? '', 'A', []);
    await store.put(after, first, now);
    expect(await store.get(first.id)).toEqual(after);
  }
});

it('keeps a name that another tab has given while an answer streams', async () => {
  const factory = databases();
  const [one, two] = [await openStore(factory), await openStore(factory)];
  let c = talk('a');
  await one.put(c);
  await two.rename(c.id, 'Named');
  const before = c;
  c = append(c, message(c, 'assistant', 'b'));
  await one.put(c, before);
  expect(await two.get(c.id)).toMatchObject({ title: 'Named', named: true, leaf: c.leaf });
  await one.put(rename(c, 'Mine'), c);
  expect((await two.list())[0]?.title).toBe('Mine');
});

it('never keeps a part of a conversation that another tab has deleted', async () => {
  const factory = databases();
  const [one, two] = [await openStore(factory), await openStore(factory)];
  const before = talk('a', 'b');
  await one.put(before);
  await two.delete(before.id);
  await one.put(append(before, message(before, 'user', 'c')), before);
  expect(texts(await two.get(before.id))).toEqual(['a', 'b', 'c']);
});

it('says that the device is full, loses nothing, and goes on once there is room', async () => {
  const store = await openStore(databases());
  const before = talk('a');
  await store.put(before);
  const after = append(before, message(before, 'assistant', 'b'));
  const watch = watchWrites();
  watch.full = true;
  expect(await failure(store.put(after, before))).toBe('full');
  expect(await failure(store.put(after))).toBe('full');
  expect(await failure(store.put(after, before, true))).toBe('full');
  expect(await failure(store.add([talk('x'), talk('y')]))).toBe('full');
  expect(await failure(store.rename(before.id, 'x'))).toBe('full');
  watch.full = false;
  expect(await store.get(before.id)).toEqual(before);
  expect(await store.list()).toHaveLength(1);
  await store.put(after, before);
  expect(await store.get(before.id)).toEqual(after);
  watch.restore();
});

it('refuses what no database can hold, and changes nothing', async () => {
  const store = await openStore(databases());
  const bad = talk('bad');
  Object.assign(bad, { model: () => {} });
  expect(await failure(store.put(bad))).toBe('failed');
  expect(await store.list()).toEqual([]);
});

it('says that the browser keeps nothing', async () => {
  vi.stubGlobal('indexedDB', undefined);
  expect(await failure(openStore())).toBe('none');
  for (const name of ['SecurityError', 'InvalidStateError']) {
    const refuses = databases();
    refuses.open = () => {
      throw new DOMException('no', name);
    };
    expect(await failure(openStore(refuses))).toBe('none');
  }
  const broken = databases();
  broken.open = () => {
    throw new DOMException('disk', 'UnknownError');
  };
  expect(await failure(openStore(broken))).toBe('failed');
});

it('lets a newer version of the page take the database, and then says so', async () => {
  const factory = databases();
  const store = await openStore(factory);
  const c = talk('a');
  await store.put(c);
  // Resolves, since the older connection closes.
  const newer = await connect(factory, VERSION + 1);
  expect(await failure(store.put(c))).toBe('newer');
  expect(await failure(store.list())).toBe('newer');
  expect(await failure(openStore(factory))).toBe('newer');
  newer.close();
});

it('opens once a tab that is in the way is gone', async () => {
  const factory = databases();
  // A connection that doesn't let go by itself keeps another from a database of a later version.
  const blocker = await connect(factory, 1);
  const { open } = factory;
  factory.open = (name) => open.call(factory, name, 2);
  const opened = vi.fn();
  const opening = openStore(factory).finally(opened);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(opened).not.toHaveBeenCalled();
  blocker.close();
  (await opening).close();
});

it('opens the database again after it was deleted or its connection was lost', async () => {
  const factory = databases();
  const store = await openStore(factory);
  const c = talk('a');
  await store.put(c);
  await new Promise((resolve) => (factory.deleteDatabase(NAME).onsuccess = resolve));
  expect(await store.list()).toEqual([]);
  await store.put(c);
  vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementationOnce(() => {
    throw new DOMException('closing', 'InvalidStateError');
  });
  expect(await store.get(c.id)).toEqual(c);
  store.close();
  expect(await failure(store.list())).toBe('failed');
});

it('reads a conversation although some of its records are damaged', async () => {
  const factory = databases();
  const store = await openStore(factory);
  const c = talk('a', 'b', 'c', 'd', 'e');
  await store.put(c);
  const [, b, , d] = path(c).map(({ id }) => id);
  const is = (id: string | undefined) => (key: unknown) => Array.isArray(key) && key[1] === id;
  await damage(factory, 'messages', is(b), () => 'not a message');
  await damage(factory, 'messages', is(d), (value) => ({
    ...value,
    parts: [null, 7, { part: 'what', text: 'x' }, { part: 'reasoning', text: 7 }, ...partsOf('d')],
    attachments: [{ name: 'n', text: 't' }, null],
    figures: { tokens: 'x' },
    dropped: -1,
    finish: 'what',
    created: 'now',
  }));
  const read = await store.get(c.id);
  expect(texts(read)).toEqual(['a', 'c', 'd', 'e']);
  expect(read?.messages[d ?? '']).toMatchObject({
    parts: partsOf('d'),
    attachments: [{ name: 'n', text: 't' }],
    figures: null,
    dropped: 0,
    finish: null,
    created: 0,
  });
});

it('cuts what no page writes when it reads a conversation', async () => {
  const factory = databases();
  const store = await openStore(factory);
  const c = talk('one', 'two');
  await store.put(c);
  const long = 'n'.repeat(5000);
  const names = { model: long, title: `\u202e${long}` };
  await damage(factory, 'conversations', Boolean, (head) => ({ ...head, ...names, from: long }));
  await damage(factory, 'summaries', Boolean, (summary) => ({ ...summary, ...names }));
  const figures = { promptTokens: 1, reusedTokens: 0, tokens: 1, tokensPerSecond: 1, ttftMs: 1 };
  await damage(factory, 'messages', Boolean, (value) => ({
    ...value,
    attachments: Array.from({ length: 200 }, () => ({ name: `\u202e${long}`, text: 'x' })),
    figures: { ...figures, seed: value['role'] === 'user' ? NaN : null, model: long },
  }));
  const read = await store.get(c.id);
  expect(read).toMatchObject({ title: 'n'.repeat(999), model: 'n'.repeat(1000), from: null });
  const [one, two] = read === null ? [] : path(read);
  expect(one?.attachments).toHaveLength(100);
  expect(one?.attachments[0]?.name).toHaveLength(999);
  expect(one?.figures).toBeNull();
  expect(two?.figures?.model).toHaveLength(1000);
  expect(await store.list()).toMatchObject([{ title: 'n'.repeat(999), model: 'n'.repeat(1000) }]);
});

it('reads a conversation whose tree is damaged', async () => {
  const factory = databases();
  const store = await openStore(factory);
  const c = talk('a', 'b', 'c', 'd');
  await store.put(c);
  const ids = path(c).map(({ id }) => id);
  const place = (key: unknown): number => ids.indexOf(Array.isArray(key) ? String(key[1]) : '');
  // b and c become each other's parents; a has no parent that can be read.
  const parents = [{ wrong: 1 }, ids[2], ids[1], ids[2]];
  for (const [i, parent] of parents.entries())
    await damage(
      factory,
      'messages',
      (key) => place(key) === i,
      (value) => ({ ...value, parent, created: i }),
    );
  const read = await store.get(c.id);
  expect(texts(read)).toEqual(['a', 'b', 'c', 'd']);
});

it(
  'mends 100,000 messages in a chain whose first one is lost, and in a circle',
  () => {
    const ids = Array.from({ length: 100_000 }, newId);
    const one = message(create(), 'user', '');
    const chain = ids.map((id, i) => ({ ...one, id, parent: ids[i - 1] ?? newId(), created: i }));
    const [first = one] = chain;
    for (const parent of [first.parent, ids.at(-1) ?? null]) {
      const messages = mended([{ ...first, parent }, ...chain.slice(1)].reverse());
      expect(path({ ...create(), messages, leaf: ids.at(-1) ?? null })).toHaveLength(100_000);
    }
  },
  LONG,
);

it('lists and reads conversations without a usable head or summary', async () => {
  const factory = databases();
  const store = await openStore(factory);
  const c = talk('first words', 'b');
  await store.put(c);
  const every = (): boolean => true;
  await damage(factory, 'summaries', every, () => ({ id: c.id, title: null }));
  expect(await store.list()).toMatchObject([{ id: c.id, title: 'first words' }]);
  await damage(factory, 'summaries', every, () => undefined);
  expect(await store.list()).toMatchObject([{ id: c.id, title: 'first words' }]);
  await damage(factory, 'conversations', every, () => 'nonsense');
  expect(await store.list()).toMatchObject([{ id: c.id, title: '' }]);
  const read = await store.get(c.id);
  expect(texts(read)).toEqual(['first words', 'b']);
  expect(read).toMatchObject({ version: 2, title: 'first words', system: '', chosen: {} });
  // The next write makes it whole again.
  await store.put({ ...c, title: 'whole' }, c);
  expect(await store.get(c.id)).toEqual({ ...c, title: 'whole' });
  await damage(factory, 'conversations', every, () => undefined);
  expect(texts(await store.get(c.id))).toEqual(['first words', 'b']);
});

it('keeps the place of an answer that is made anew from the very first', async () => {
  const store = await openStore(databases());
  const c = { ...talk('a'), leaf: null };
  await store.put(c);
  expect(await store.get(c.id)).toEqual(c);
  const empty = create();
  await store.put(empty);
  expect(await store.get(empty.id)).toEqual(empty);
});
