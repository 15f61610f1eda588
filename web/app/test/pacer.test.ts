import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Pacer } from '../src/ui/pacer';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A number that grows each millisecond, and what a pacer took of it. */
function growing(pace: number, wanted = (): boolean => true, delay = 0) {
  const taken: number[] = [];
  let value = 0;
  const pacer = new Pacer(
    () => taken.push(value),
    () => pace,
    wanted,
    delay,
  );
  const grow = (ms: number): void => {
    for (let i = 0; i < ms; ++i) {
      value += 1;
      pacer.changed();
      vi.advanceTimersByTime(1);
    }
  };
  return { pacer, taken, grow };
}

it('takes what is newest, with time in between, and the last change always', () => {
  const { taken, grow } = growing(200);
  grow(1001);
  expect(taken).toEqual([1, 200, 400, 600, 800, 1000]);
  grow(7);
  vi.advanceTimersByTime(1000);
  expect(taken.at(-1)).toBe(1008);
  expect(taken).toHaveLength(7);
});

it('does nothing while nothing is wanted, and goes on with the newest', () => {
  let seen = true;
  const { pacer, taken, grow } = growing(100, () => seen);
  grow(50);
  seen = false;
  grow(1000);
  vi.advanceTimersByTime(1000);
  expect(taken).toEqual([1]);
  expect(vi.getTimerCount()).toBe(0);
  seen = true;
  pacer.changed();
  vi.advanceTimersByTime(1);
  expect(taken).toEqual([1, 1050]);
});

it('waits after the first change, if it shall', () => {
  const { taken, grow } = growing(5000, () => true, 1000);
  grow(999);
  expect(taken).toEqual([]);
  grow(5);
  expect(taken).toEqual([1000]);
});

it('takes nothing after it was stopped', () => {
  const { pacer, taken, grow } = growing(100);
  grow(10);
  pacer.stop();
  vi.advanceTimersByTime(1000);
  expect(taken).toEqual([1]);
});

it('calls sooner if the pace becomes faster, also after a change', () => {
  let pace = 1000;
  const taken: number[] = [];
  const pacer = new Pacer(
    () => taken.push(performance.now()),
    () => pace,
  );
  const start = performance.now();
  pacer.changed();
  vi.advanceTimersByTime(10);
  pacer.changed();
  vi.advanceTimersByTime(10);
  pace = 0;
  pacer.changed();
  vi.advanceTimersByTime(2000);
  expect(taken.map((at) => at - start)).toEqual([0, 20]);
});
