// The queue for one reader.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, vi } from 'vitest';
import { ReadQueue } from '../src/page/read-queue.js';

function filled(count: number, onLeave = (): void => {}): ReadQueue<number> {
  const queue = new ReadQueue<number>(onLeave);
  for (let i = 0; i < count; ++i) queue.push(i);
  return queue;
}

it('gives its items in order, to readers that wait as to those that come later, and then ends', async () => {
  const queue = filled(0);
  const reader = queue.reader();
  const early = [reader.next(), reader.next()];
  for (let i = 0; i < 4; ++i) queue.push(i);
  queue.end();
  queue.push(9);
  const all = [...(await Promise.all(early)), await reader.next(), await reader.next()];
  expect(all.map(({ value }) => value)).toEqual([0, 1, 2, 3]);
  expect(await reader.next()).toEqual({ done: true, value: undefined });
});

it('throws its error once: after what has come, or now', async () => {
  for (const now of [false, true]) {
    const queue = filled(1);
    const reader = queue.reader();
    queue.end({ error: new Error('over') }, now);
    queue.end({ error: new Error('later') });
    if (!now) expect(await reader.next()).toEqual({ done: false, value: 0 });
    await expect(reader.next()).rejects.toThrow('over');
    expect(await reader.next()).toEqual({ done: true, value: undefined });
  }
  const queue = filled(0);
  const reader = queue.reader();
  const waiting = [reader.next(), reader.next()];
  queue.end({ error: new Error('over') });
  await expect(waiting[0]).rejects.toThrow('over');
  expect(await waiting[1]).toEqual({ done: true, value: undefined });
});

it('begins with the first wait, and passes on why it could not', async () => {
  const queue = filled(0);
  const begin = vi.fn(() => {
    queue.end();
    throw new Error('busy');
  });
  const reader = queue.reader(begin);
  expect(begin).not.toHaveBeenCalled();
  await expect(reader.next()).rejects.toThrow('busy');
  expect(await reader.next()).toEqual({ done: true, value: undefined });
  expect(begin).toHaveBeenCalledOnce();
});

it('has no room with 256 items, until 64 are left', async () => {
  const queue = filled(255);
  const reader = queue.reader();
  expect(queue.room()).toBeNull();
  queue.push(255);
  const room = vi.fn();
  void queue.room()?.then(room);
  for (let i = 0; i < 191; ++i) await reader.next();
  expect(room).not.toHaveBeenCalled();
  expect(queue.room()).not.toBeNull();
  await reader.next();
  await queue.room();
  expect(queue.room()).toBeNull();
  expect(room).toHaveBeenCalledOnce();
});

it.each(['end', 'leave'])('waits for no room after its %s', async (how) => {
  const left = vi.fn();
  const queue = filled(300, left);
  const reader = queue.reader();
  const room = queue.room();
  expect(room).not.toBeNull();
  if (how === 'end') queue.end();
  else await reader.return();
  await room;
  expect(queue.room()).toBeNull();
  expect(left).toHaveBeenCalledTimes(how === 'end' ? 0 : 1);
  expect((await reader.next()).done).toBe(how === 'leave');
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Collects garbage until `is` holds. Finalizers run in tasks of their own. */
async function collected(is: () => boolean): Promise<void> {
  await vi.waitFor(
    () => {
      collectGarbage();
      expect(is()).toBe(true);
    },
    { timeout: 20_000, interval: 5 },
  );
}

it('is left by a reader that nobody has any more, not by one that waits', async () => {
  const left: string[] = [];
  const dropped = filled(1, () => left.push('dropped'));
  const awaited = filled(0, () => left.push('awaited'));
  const read = (queue: ReadQueue<number>): Promise<unknown> => queue.reader().next();
  await read(dropped);
  const waiting = read(awaited);
  await collected(() => left.length > 0);
  expect(left).toEqual(['dropped']);
  awaited.push(7);
  expect(await waiting).toEqual({ done: false, value: 7 });
  await collected(() => left.length > 1);
});

it('is an async iterator like those of the platform', async () => {
  const generator = (async function* () {})();
  const platform = Object.getPrototypeOf(
    Object.getPrototypeOf(Object.getPrototypeOf(generator)),
  ) as object;
  const queue = filled(2);
  queue.end();
  const reader = queue.reader();
  expect(platform.isPrototypeOf(reader)).toBe(true);
  expect(reader[Symbol.asyncIterator]()).toBe(reader);
  const seen: number[] = [];
  for await (const item of reader) seen.push(item);
  expect(seen).toEqual([0, 1]);
});
