import { expect, it, vi } from 'vitest';
import { PIECE, fold, pieces, placeOf, wordsOf } from '../src/history/fold';
import { memoryStore } from '../src/history/memory';
import { search, type Found, type SearchOptions } from '../src/history/search';
import { HistoryError, openStore, type Store } from '../src/history/store';
import { edit, path, rename, type Conversation } from '../src/history/tree';
import { databases, talk } from './history-setup';

/** Only against a test that never ends: much is done here. */
const LONG = 600_000;

async function storeOf(...conversations: Conversation[]): Promise<Store> {
  const store = memoryStore();
  for (const [i, c] of conversations.entries()) await store.put({ ...c, changed: i });
  return store;
}
async function all(query: string, store: Store, options?: SearchOptions): Promise<Found[]> {
  const found: Found[] = [];
  for await (const one of search(query, store, options)) found.push(one);
  return found;
}
const titles = async (query: string, store: Store): Promise<string[]> =>
  (await all(query, store)).map(({ summary }) => summary.title);

it('finds conversations that have all words, the newest first', async () => {
  const store = await storeOf(
    talk('The red boat', 'It sails.'),
    talk('The red house', 'No boat here.'),
    talk('A green boat'),
  );
  expect(await titles('boat', store)).toEqual(['A green boat', 'The red house', 'The red boat']);
  expect(await titles('boat RED', store)).toEqual(['The red house', 'The red boat']);
  expect(await titles('sails red', store)).toEqual(['The red boat']);
  expect(await titles('boat blue', store)).toEqual([]);
  for (const nothing of ['', '  \n', '\u0301']) expect(await titles(nothing, store)).toEqual([]);
});

it('takes no notice of case, accents and how letters are written', async () => {
  const store = await storeOf(talk('Die Straße nach Łódź, ein CAFÉ; ﬁne Ångström, ΣΊΣΥΦΟΣ'));
  for (const query of [
    'strasse',
    'STRAẞE',
    'lodz',
    'café',
    'cafe\u0301',
    'FINE',
    'angstrom',
    'σισυφος',
  ])
    expect(await titles(query, store), query).toHaveLength(1);
});

it('shows the text around the match as one line of plain text', async () => {
  const text = `Once\u202e upon a time there was **a lantern** that lit\nthe\t\u0000 Café Noir and ${'more '.repeat(60)}`;
  const store = await storeOf(talk('tale', text));
  const [found] = await all('cafe', store);
  expect(found?.excerpt?.match).toBe('Café');
  expect(found?.excerpt?.before).toBe('…there was **a lantern** that lit the ');
  expect(found?.excerpt?.after).toMatch(/^ Noir and (more )+more…$/);
  const [start] = await all('once', store);
  expect(start?.excerpt).toMatchObject({ before: '', match: 'Once' });
});

it('names the message that has most of the words, on any branch', async () => {
  const first = talk('alpha', 'alpha beta', 'alpha beta gamma');
  const c = edit(first, path(first)[0]?.id ?? '', 'other', []);
  const [found] = await all('beta gamma', await storeOf(c));
  expect(found?.message).toBe(path(first)[2]?.id);
  const named = rename(c, 'Zebra');
  const [byTitle] = await all('zebra', await storeOf(named));
  expect(byTitle).toMatchObject({ message: null, excerpt: null });
  expect(await all('zebra beta', await storeOf(named))).toMatchObject([
    { excerpt: { match: 'beta' } },
  ]);
});

it('finds words in very long messages, also where pieces of it meet', async () => {
  for (const at of [PIECE - 3, PIECE, 2 * PIECE - 40, 3 * PIECE]) {
    const text = `${'x'.repeat(at)}néedle${'y'.repeat(PIECE)}`;
    const [found] = await all('needle', await storeOf(talk('a', text)));
    expect(found?.excerpt?.match, String(at)).toBe('néedle');
  }
});

it('cuts texts into pieces that lose nothing and halve no character', () => {
  const text = '😀'.repeat(PIECE + 7);
  let end = 0;
  for (const [piece, from] of pieces(text, 33)) {
    expect(from).toBeLessThanOrEqual(end);
    expect(/\p{Surrogate}/u.test(piece)).toBe(false);
    end = from + piece.length;
  }
  expect(end).toBe(text.length);
  expect([...pieces('', 4)]).toEqual([['', 0]]);
});

it('finds the place of what was folded', () => {
  const text = 'Die Stra\u00adße e\u0301n ﬁn';
  const at = (word: string): string => {
    const from = fold(text).indexOf(fold(word));
    const { start, end } = placeOf(text, from, from + fold(word).length);
    return text.slice(start, end);
  };
  expect(at('straße')).toBe('Stra\u00adße');
  expect(at('ss')).toBe('ß');
  expect(at('en')).toBe('e\u0301n');
  expect(at('fin')).toBe('ﬁn');
  const long = `${'É😀'.repeat(3000)}fé\u0301é`;
  const { start, end } = placeOf(long, fold(long).length - 3, fold(long).length);
  expect(long.slice(start, end)).toBe('fé\u0301é');
  expect(wordsOf('A a  B\u00a0b')).toEqual(['a', 'b']);
  expect(wordsOf('x'.repeat(1e6))[0]).toHaveLength(500);
});

it('stops when it is aborted', async () => {
  const store = await storeOf(...Array.from({ length: 10 }, () => talk('word')));
  const abort = new AbortController();
  const get = vi.spyOn(store, 'get');
  let found = 0;
  for await (const one of search('word', store, { signal: abort.signal })) {
    expect(one.message).toBeTypeOf('string');
    if (++found === 3) abort.abort();
  }
  expect(found).toBe(3);
  expect(get).toHaveBeenCalledTimes(3);
  expect(await all('word', store, { signal: abort.signal })).toEqual([]);
});

it(
  'pauses after each slice of work: with 1,000 conversations, and within one long message',
  async () => {
    // A clock that each look moves on by a millisecond.
    let time = 0;
    let longest = 0;
    let since = 0;
    const options: SearchOptions = {
      now: () => ++time,
      pause: async () => {
        longest = Math.max(longest, time - since);
        since = time;
      },
    };
    const many = await storeOf(...Array.from({ length: 1000 }, () => talk('word', 'answer')));
    expect(await all('answer', many, options)).toHaveLength(1000);
    expect(longest).toBeLessThan(50);
    expect(time).toBeGreaterThan(2000);
    const pause = vi.fn(async () => {});
    const long = await storeOf(talk('a', 'x'.repeat(100 * PIECE)));
    expect(await all('needle', long, { ...options, pause })).toEqual([]);
    expect(pause.mock.calls.length).toBeGreaterThan(5);
  },
  LONG,
);

it('passes over what was deleted meanwhile, and tells what the store could not do', async () => {
  const store = await openStore(databases());
  const [a, b] = [talk('word a'), talk('word b')];
  await store.put(a);
  await store.put(b);
  const list = await store.list();
  vi.spyOn(store, 'list').mockResolvedValue(list);
  await store.delete(a.id);
  expect(await titles('word', store)).toEqual(['word b']);
  vi.spyOn(store, 'get').mockRejectedValue(new HistoryError('failed'));
  await expect(titles('word', store)).rejects.toThrow(HistoryError);
});
