import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { dropLast, keepLast, writeLast } from '../src/history/last-words';
import { partsOf } from '../src/history/parts';
import { openStore, type Store } from '../src/history/store';
import { append, message, update, type Conversation } from '../src/history/tree';
import { databases, talk } from './history-setup';

/** As in browsers: what is kept are properties, and it may have no room. */
class FakeStorage {
  [key: string]: unknown;
  getItem(key: string): string | null {
    return Object.hasOwn(this, key) ? String(this[key]) : null;
  }
  setItem(key: string, value: string): void {
    if (value.length > 5000) throw new Error('QuotaExceededError');
    this[key] = value;
  }
  removeItem(key: string): void {
    delete this[key];
  }
}

let storage: FakeStorage;
let store: Store;
beforeEach(async () => {
  storage = new FakeStorage();
  vi.stubGlobal('localStorage', storage);
  store = await openStore(databases());
});
afterEach(() => {
  vi.unstubAllGlobals();
  store.close();
});

/** `c` with an answer that has ended. */
function answered(c: Conversation, text: string): Conversation {
  const mine = message(c, 'assistant', '');
  return update(append(c, mine), mine.id, { parts: partsOf(text), finish: 'stop' });
}

const kept = (): string[] => Object.keys(storage);

it('brings what was not written, once', async () => {
  const before = talk('a');
  await store.put(before);
  const after = answered(before, 'An answer');
  keepLast(after, before);
  expect(kept()).toHaveLength(1);
  // Only what differs.
  expect(storage.getItem(kept()[0] ?? '')).not.toContain('"text":"a"');
  await writeLast(store);
  expect(await store.get(before.id)).toEqual(after);
  expect(kept()).toEqual([]);
});

it('brings a conversation of which nothing was written, and one without a message that was removed', async () => {
  const fresh = answered(talk('a'), 'b');
  keepLast(fresh, null);
  await writeLast(store);
  expect(await store.get(fresh.id)).toEqual(fresh);

  const { [fresh.leaf ?? '']: gone, ...messages } = fresh.messages;
  const shorter = { ...fresh, messages, leaf: gone?.parent ?? null, changed: fresh.changed + 1 };
  keepLast(shorter, fresh);
  await writeLast(store);
  expect(await store.get(fresh.id)).toEqual(shorter);
});

it('leaves what was written later, or deleted, as it is', async () => {
  const before = talk('a');
  const after = answered(before, 'late');
  keepLast(after, before);
  const later = { ...before, title: 'later', changed: after.changed + 1 };
  await store.put(later);
  await writeLast(store);
  expect(await store.get(before.id)).toEqual(later);
  expect(kept()).toEqual([]);

  keepLast(after, before);
  await store.delete(before.id);
  await writeLast(store);
  expect(await store.get(before.id)).toBeNull();
  expect(kept()).toEqual([]);
});

it('tries again what the store could not take', async () => {
  const c = talk('a');
  keepLast(c, null);
  const full: Store = { ...store, get: async () => null, put: () => Promise.reject(new Error()) };
  await writeLast(full);
  expect(kept()).toHaveLength(1);
  await writeLast(store);
  expect(await store.get(c.id)).toEqual(c);
});

it('forgets one, or all', () => {
  const [a, b] = [talk('a'), talk('b')];
  storage.setItem('another', 'stays');
  for (const c of [a, b]) keepLast(c, null);
  dropLast(a.id);
  expect(kept()).toHaveLength(2);
  dropLast(null);
  expect(kept()).toEqual(['another']);
});

it.each([
  ['no JSON', '{'],
  ['another value', '[1]'],
  ['no head', '{"messages":[],"isWhole":true}'],
  ['the head of another', '{"head":{"id":"x"},"messages":[],"isWhole":true}'],
  ['no messages', '{"head":{"id":"ID"},"isWhole":true}'],
])('takes nothing from %s', async (_, json) => {
  const c = talk('a');
  storage.setItem(`sluice.last.${c.id}`, json.replace('ID', c.id));
  await writeLast(store);
  expect(await store.list()).toEqual([]);
  expect(kept()).toEqual([]);
});

it('does without a storage, and without room in it', async () => {
  keepLast(talk('x'.repeat(10_000)), null);
  expect(kept()).toEqual([]);
  vi.stubGlobal('localStorage', undefined);
  keepLast(talk('a'), null);
  dropLast(null);
  await writeLast(store);
  expect(await store.list()).toEqual([]);
});
