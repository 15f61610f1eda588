import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { WeightsNews } from '../src/engine/weights-news.js';
import { slotViews, sumReread } from '../src/page/weights-view.js';

// kind, bytes, arrived, state, takes turns, fills
const SLOTS = [
  [0, 100, 100, 2, 0, 1],
  [1, 500, 500, 3, 0, 1],
  [1, 500, 200, 1, 1, 3],
  [1, 500, 0, 0, 1, 2],
  [2, 900, 90, 1, 0, 0],
  [3, 700, 0, 0, 0, 0],
];

describe('the parts of a model', () => {
  const slots = slotViews(Float64Array.from(SLOTS.flat()));

  it('are named', () => {
    expect(slots.map(({ kind, state }) => [kind, state])).toEqual([
      ['embedding', 'resident'],
      ['layer', 'computing'],
      ['layer', 'arriving'],
      ['layer', 'absent'],
      ['head', 'arriving'],
      ['table', 'absent'],
    ]);
    expect(slots[2]).toEqual({
      kind: 'layer',
      bytes: 500,
      arrived: 200,
      state: 'arriving',
      reread: true,
      streamed: true,
      fills: 3,
    });
  });

  it('tell how much was read again', () => {
    expect(sumReread(slots)).toBe(2 * 500 + 200 + 500);
  });
});

describe('the news of the weights', () => {
  beforeEach(
    () => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }),
  );
  afterEach(() => vi.useRealTimers());

  it('come at most ten times a second, the last change too, until the rate is 0', () => {
    const told: [number, number][] = [];
    let brought = 0;
    const news = new WeightsNews(
      () => Float64Array.of(brought),
      () => brought,
      (slots, rate) => told.push([slots[0] ?? -1, rate]),
    );
    vi.advanceTimersByTime(10_000);
    for (let i = 0; i < 100; ++i) {
      brought += 10;
      news.changed();
      vi.advanceTimersByTime(10);
    }
    expect(told.length).toBeGreaterThanOrEqual(9);
    expect(told.length).toBeLessThanOrEqual(11);
    // 10 bytes each 10 ms.
    const [, rate] = told.at(-1) ?? [];
    expect(rate).toBeGreaterThan(900);
    expect(rate).toBeLessThan(1100);
    vi.advanceTimersByTime(5000);
    expect(told.at(-1)).toEqual([1000, 0]);
    expect(told.length).toBeLessThan(25);
    const before = told.length;
    vi.advanceTimersByTime(60_000);
    expect(told.length).toBe(before);
  });

  it('end', () => {
    const told: number[] = [];
    const news = new WeightsNews(
      () => Float64Array.of(),
      () => 0,
      () => told.push(1),
    );
    news.changed();
    news.changed();
    news.end();
    vi.advanceTimersByTime(5000);
    expect(told.length).toBe(1);
  });
});
