import { afterEach, expect, it, vi } from 'vitest';
import { openTabs, readTabMessage, type Owned, type TabMessage } from '../src/history/tabs';
import { type Tabs, type TabsOptions } from '../src/history/tabs';
import { newId } from '../src/history/tree';
import { FakeLocks } from './fake-locks';

const opened: Tabs[] = [];
afterEach(() => {
  for (const tabs of opened.splice(0)) tabs.close();
});

/** A browser: its tabs share locks and messages. */
function browser(): { tab: (options?: TabsOptions) => Tabs; locks: FakeLocks } {
  const locks = new FakeLocks();
  const name = newId();
  const tab = (options: TabsOptions = {}): Tabs => {
    const channel = new BroadcastChannel(name);
    const tabs = openTabs({ locks: locks as unknown as LockManager, channel, ...options });
    opened.push(tabs);
    return tabs;
  };
  return { tab, locks };
}

const writers = (...all: Owned[]): boolean[] => all.map(({ writer }) => writer.value);
const until = (owned: Owned, writer: boolean): Promise<void> =>
  vi.waitFor(() => expect(owned.writer.value).toBe(writer), 50_000);

it('has one writer for each conversation', async () => {
  const { tab } = browser();
  const [id, other] = [newId(), newId()];
  const a = tab().own(id);
  expect(a.writer.value).toBe(false);
  await a.known;
  const b = tab().own(id);
  const c = tab().own(other);
  await Promise.all([b.known, c.known]);
  expect(writers(a, b, c)).toEqual([true, false, true]);
});

it('lets a reader take over, after the writer has written its last state', async () => {
  const { tab } = browser();
  const id = newId();
  const steps: string[] = [];
  const a: Owned = tab().own(id, {
    onYield: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      steps.push(`last state, writer ${String(a.writer.value)}`);
    },
    onGain: () => void steps.push('a reads'),
  });
  await a.known;
  const b: Owned = tab().own(id, {
    onGain: () => void steps.push(`b reads, writers ${writers(a, b).join()}`),
  });
  await b.takeOver();
  expect(writers(a, b)).toEqual([false, true]);
  expect(steps).toEqual(['last state, writer true', 'b reads, writers false,false']);
  await a.takeOver();
  expect(writers(a, b)).toEqual([true, false]);
  expect(steps.at(-1)).toBe('a reads');
});

it('gives the conversation to the tab that asked, not to one that waits longer', async () => {
  const { tab } = browser();
  const id = newId();
  const [a, b, c] = [tab().own(id), tab().own(id), tab().own(id)];
  await Promise.all([a.known, b.known, c.known]);
  await c.takeOver();
  expect(writers(a, b, c)).toEqual([false, false, true]);
  await Promise.all([b.takeOver(), b.takeOver()]);
  expect(writers(a, b, c)).toEqual([false, true, false]);
});

it('takes over from a tab that does not answer, which is a reader once it wakes', async () => {
  const { tab } = browser();
  const id = newId();
  let wake = (): void => {};
  const a = tab().own(id, { onYield: () => new Promise((resolve) => (wake = resolve)) });
  await a.known;
  const b = tab({ yieldMs: 1 }).own(id);
  await b.takeOver();
  expect(b.writer.value).toBe(true);
  wake();
  await until(a, false);
  b.release();
  await until(a, true);
});

it('takes over without messages too', async () => {
  const { tab } = browser();
  const id = newId();
  const wrote = vi.fn();
  const a = tab({ channel: undefined }).own(id, { onYield: wrote });
  await a.known;
  const b = tab({ channel: undefined }).own(id);
  await b.takeOver();
  await until(a, false);
  expect(b.writer.value).toBe(true);
  expect(wrote).toHaveBeenCalledOnce();
});

it('makes a reader the writer once the other tab is closed or has closed the conversation', async () => {
  const { tab, locks } = browser();
  const id = newId();
  const read = vi.fn();
  const a = tab().own(id);
  await a.known;
  const b = tab().own(id, { onGain: read });
  await b.known;
  expect(read).not.toHaveBeenCalled();
  a.release();
  expect(a.writer.value).toBe(false);
  await until(b, true);
  expect(read).toHaveBeenCalledOnce();
  const c = tab().own(id);
  await c.known;
  locks.close(`sluice-conversations:${id}`);
  await until(c, true);
});

it('goes on when the last write or the read fails', async () => {
  const { tab } = browser();
  const id = newId();
  const fails = (): Promise<void> => Promise.reject(new Error('no'));
  const a = tab().own(id, { onYield: fails });
  await a.known;
  const b = tab().own(id, { onGain: fails });
  await b.takeOver();
  expect(writers(a, b)).toEqual([false, true]);
});

it('lets every tab write in browsers without locks, or that refuse them', async () => {
  const { tab } = browser();
  const id = newId();
  const refuses = { request: () => Promise.reject(new DOMException('no', 'SecurityError')) };
  const [a, b, c] = [
    tab({ locks: undefined }).own(id),
    tab({ locks: undefined }).own(id),
    tab({ locks: refuses as unknown as LockManager }).own(id),
  ];
  await Promise.all([a.known, b.known, c.known]);
  expect(writers(a, b, c)).toEqual([true, true, true]);
  await a.takeOver();
  expect(writers(a, b)).toEqual([true, true]);
});

it('is no writer after its release, whenever that comes', async () => {
  const { tab } = browser();
  const id = newId();
  const a = tab().own(id);
  a.release();
  a.release();
  await a.known;
  await a.takeOver();
  const b = tab().own(id);
  await b.known;
  expect(writers(a, b)).toEqual([false, true]);
});

it('tells other tabs what has changed, and believes only what can be', async () => {
  const { tab } = browser();
  const heard: TabMessage[] = [];
  tab({ onMessage: (message) => heard.push(message) });
  const id = newId();
  const other = tab();
  other.changed(id, 7);
  other.changed(null, 8);
  other.removed(id);
  other.removed(null);
  await vi.waitFor(() => expect(heard).toHaveLength(4), 50_000);
  expect(heard).toEqual([
    { kind: 'changed', id, changed: 7 },
    { kind: 'changed', id: null, changed: 8 },
    { kind: 'removed', id },
    { kind: 'removed', id: null },
  ]);
  for (const message of [
    ...[null, undefined, 7, 'changed', [], {}, { kind: 'changed' }, { kind: 'removed' }],
    ...[
      { kind: 'changed', id, changed: '7' },
      { kind: 'changed', id, changed: NaN },
    ],
    ...[
      { kind: 'changed', id, changed: -1 },
      { kind: 'changed', id: '__proto__', changed: 1 },
    ],
    ...[
      { kind: 'yield', id: null },
      { kind: 'yield', id: 'x' },
      { kind: 'other', id },
    ],
    ...[{ kind: 'removed', id: { toString: () => id } }],
  ])
    expect(readTabMessage(message)).toBeNull();
  expect(readTabMessage({ kind: 'removed', id, more: 'x' })).toEqual({ kind: 'removed', id });
});
