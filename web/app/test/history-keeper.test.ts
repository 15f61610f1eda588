import { signal } from '@preact/signals';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { keep, type Keeper, type KeeperOptions } from '../src/history/keeper';
import { memoryStore } from '../src/history/memory';
import { partsOf } from '../src/history/parts';
import { HistoryError, openStore, type Store } from '../src/history/store';
import { append, create, message, rename, update, type Conversation } from '../src/history/tree';
import { databases, talk, texts } from './history-setup';

interface Write {
  conversation: Conversation;
  previous: Conversation | null;
  now: boolean;
  end: (error?: Error) => Promise<void>;
}

/** A store whose writes end when the test says so. */
function slowStore(): { store: Store; writes: Write[] } {
  const writes: Write[] = [];
  const put: Store['put'] = (conversation, previous = null, now = false) =>
    new Promise<void>((resolve, reject) => {
      const end = async (error?: Error): Promise<void> => {
        if (error === undefined) resolve();
        else reject(error);
        await rest();
      };
      writes.push({ conversation, previous, now, end });
    });
  return { store: { ...memoryStore(), put }, writes };
}

/** Lets all that is due happen. */
async function rest(): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
}

class FakeDocument extends EventTarget {
  visibilityState: DocumentVisibilityState = 'visible';
}

const page = { document: new FakeDocument(), window: new EventTarget() };
const shown = signal<Conversation | null>(null);
const keepers: Keeper[] = [];
function keeping(store: Store, options: KeeperOptions = {}): Keeper {
  const keeper = keep(shown, store, { page, ...options });
  keepers.push(keeper);
  return keeper;
}

function answering(): Conversation {
  const c = talk('a');
  return append(c, message(c, 'assistant', ''));
}
function stream(text: string): void {
  const c = shown.value;
  if (c !== null) shown.value = update(c, c.leaf ?? '', { parts: partsOf(text) });
}

beforeEach(() => {
  vi.useFakeTimers();
  page.document.visibilityState = 'visible';
  shown.value = null;
});
afterEach(() => {
  for (const keeper of keepers.splice(0)) void keeper.stop();
  vi.useRealTimers();
});

it('writes at once what the reader has done, and nothing before there is something', async () => {
  const { store, writes } = slowStore();
  keeping(store);
  shown.value = create();
  await rest();
  expect(writes).toHaveLength(0);
  const c = append(shown.value, message(shown.value, 'user', 'a'));
  shown.value = c;
  await rest();
  expect(writes).toMatchObject([{ conversation: c, previous: null, now: false }]);
});

it('writes an answer that is being written twice a second, and its end at once', async () => {
  const { store, writes } = slowStore();
  let said = '';
  const keeper = keeping(store, { collect: () => stream(said) });
  const c = answering();
  keeper.saved(c);
  shown.value = c;
  for (let i = 0; i < 40; ++i) {
    said = `word ${i}`;
    keeper.grows();
    await vi.advanceTimersByTimeAsync(24);
    for (const { end } of writes) await end();
  }
  expect(writes).toHaveLength(1);
  expect(writes[0]?.previous).toBe(c);
  await vi.advanceTimersByTimeAsync(100);
  expect(writes).toHaveLength(2);
  expect(writes[1]?.previous).toBe(writes[0]?.conversation);
  expect(texts(writes[1]?.conversation ?? null).at(-1)).toBe('word 39');
  await writes[1]?.end();
  // Nothing has grown: nothing is written.
  await vi.advanceTimersByTimeAsync(2000);
  expect(writes).toHaveLength(2);
  said = 'The end';
  shown.value = update(shown.value, c.leaf ?? '', { parts: partsOf('The end'), finish: 'stop' });
  await rest();
  expect(writes).toHaveLength(3);
  expect(writes[2]?.conversation).toBe(shown.value);
});

it('writes one state at a time, and the newest last', async () => {
  const { store, writes } = slowStore();
  const keeper = keeping(store);
  shown.value = talk('a');
  await rest();
  for (const title of ['b', 'c', 'd']) {
    shown.value = rename(shown.value, title);
    await rest();
  }
  expect(writes).toHaveLength(1);
  await writes[0]?.end();
  expect(writes.map(({ conversation }) => conversation.title)).toEqual(['a', 'd']);
  const flushed = vi.fn();
  void keeper.flush().then(flushed);
  await rest();
  expect(flushed).not.toHaveBeenCalled();
  await writes[1]?.end();
  expect(flushed).toHaveBeenCalled();
  expect(writes).toHaveLength(2);
});

it('does not write what came from the store, and writes what is left of the conversation before', async () => {
  const { store, writes } = slowStore();
  const keeper = keeping(store);
  const [first, second] = [answering(), talk('x')];
  keeper.saved(first);
  shown.value = first;
  stream('half');
  const half = shown.value;
  keeper.saved(second);
  shown.value = second;
  await vi.advanceTimersByTimeAsync(500);
  expect(writes.map(({ conversation }) => conversation)).toEqual([half]);
});

it('writes at once when the page is hidden, and asks for all at once when it ends', async () => {
  const { store, writes } = slowStore();
  let said = '';
  const keeper = keeping(store, { collect: () => stream(said) });
  const c = answering();
  keeper.saved(c);
  shown.value = c;
  said = 'a';
  keeper.grows();
  page.document.dispatchEvent(new Event('visibilitychange'));
  await rest();
  expect(writes).toHaveLength(0);
  page.document.visibilityState = 'hidden';
  page.document.dispatchEvent(new Event('visibilitychange'));
  await rest();
  expect(writes).toMatchObject([{ previous: c, now: false }]);
  said = 'ab';
  keeper.grows();
  // Without a task in between, though a write is under way: compared with what is surely there.
  page.window.dispatchEvent(new Event('pagehide'));
  expect(writes).toHaveLength(2);
  expect(writes[1]).toMatchObject({ previous: c, now: true, conversation: shown.value });
  await writes[0]?.end();
  await writes[1]?.end();
  // The page has come back.
  said = 'abc';
  keeper.grows();
  await vi.advanceTimersByTimeAsync(500);
  expect(writes[2]).toMatchObject({ previous: writes[0]?.conversation, now: false });
});

it('asks for what is not in the conversation yet before the page ends', async () => {
  const { store, writes } = slowStore();
  const keeper = keeping(store, { collect: () => stream('all of it') });
  const c = answering();
  keeper.saved(c);
  shown.value = c;
  page.window.dispatchEvent(new Event('pagehide'));
  expect(writes).toMatchObject([{ previous: c, now: true, conversation: shown.value }]);
  expect(shown.value).not.toBe(c);
});

it('says why a write failed, and tries again with the next change', async () => {
  const { store, writes } = slowStore();
  const written: Conversation[] = [];
  const keeper = keeping(store, { onWritten: (c) => written.push(c) });
  shown.value = talk('a');
  await rest();
  await writes[0]?.end(new HistoryError('full'));
  expect(keeper.problem.value?.code).toBe('full');
  await vi.advanceTimersByTimeAsync(5000);
  expect(writes).toHaveLength(1);
  shown.value = append(shown.value, message(shown.value, 'assistant', 'b'));
  await rest();
  expect(writes[1]).toMatchObject({ previous: null, conversation: shown.value });
  await writes[1]?.end();
  expect(keeper.problem.value).toBeNull();
  expect(written).toEqual([shown.value]);
});

it('writes nothing while this tab only reads', async () => {
  const { store, writes } = slowStore();
  const writer = signal(false);
  const keeper = keeping(store, { writer });
  shown.value = talk('a');
  page.window.dispatchEvent(new Event('pagehide'));
  await keeper.flush();
  expect(writes).toHaveLength(0);
  writer.value = true;
  await rest();
  expect(writes.map(({ conversation }) => conversation)).toEqual([shown.value]);
});

it('writes nothing more of a deleted conversation until it changes, and then all of it', async () => {
  const { store, writes } = slowStore();
  const keeper = keeping(store);
  const c = answering();
  keeper.saved(c);
  shown.value = c;
  stream('half');
  keeper.forget(c.id);
  await vi.advanceTimersByTimeAsync(5000);
  expect(writes).toHaveLength(0);
  shown.value = update(c, c.leaf ?? '', { finish: 'stop' });
  await rest();
  expect(writes).toMatchObject([{ previous: null }]);
});

it('writes no more once it has stopped', async () => {
  const { store, writes } = slowStore();
  const keeper = keeping(store);
  shown.value = talk('a');
  const stopped = keeper.stop();
  await rest();
  expect(writes).toHaveLength(1);
  await writes[0]?.end();
  await stopped;
  shown.value = talk('b');
  page.window.dispatchEvent(new Event('pagehide'));
  await vi.advanceTimersByTimeAsync(5000);
  expect(writes).toHaveLength(1);
});

it('loses nothing by a reload in the middle of an answer', async () => {
  vi.useRealTimers();
  const factory = databases();
  const store = await openStore(factory);
  const keeper = keeping(store);
  shown.value = answering();
  await keeper.flush();
  stream('Once upon');
  page.window.dispatchEvent(new Event('pagehide'));
  // Nothing of the old page runs on but what the browser was asked for: the other connection waits for that.
  const other = await openStore(factory);
  expect(await other.get(shown.value.id)).toEqual(shown.value);
});

it('keeps what may not be written in time when the page ends, until it is', async () => {
  const words = new Map<string, string>();
  vi.stubGlobal('localStorage', {
    setItem: (key: string, value: string) => words.set(key, value),
    removeItem: (key: string) => words.delete(key),
  });
  const { store, writes } = slowStore();
  const keeper = keeping(store);
  const c = answering();
  keeper.saved(c);
  shown.value = c;
  stream('all of it');
  page.window.dispatchEvent(new Event('pagehide'));
  expect([...words.values()].join('')).toContain('all of it');
  // The page lives on.
  await rest();
  for (const { end } of writes) await end();
  expect(words.size).toBe(0);
  vi.unstubAllGlobals();
});
