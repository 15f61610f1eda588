import { expect, it } from 'vitest';
import { Rate } from '../src/shared/rate.js';

it('counts the last seconds, and begins anew when the count does', () => {
  let time = 0;
  const rate = new Rate(() => time);
  // 500 bytes were kept, and are there at once.
  time = 10;
  expect(rate.perSecond(500)).toBe(50_000);
  // Then the network brings 100 bytes a second.
  const seen: number[] = [];
  for (let bytes = 100; bytes <= 1000; bytes += 100) {
    time += 1000;
    seen.push(rate.perSecond(bytes));
  }
  expect(seen[0]).toBe(0);
  for (const one of seen.slice(1)) expect(one).toBeCloseTo(100);
  // It stops.
  time += 10_000;
  expect(rate.perSecond(1000)).toBe(0);
});
