import { expect, it } from 'vitest';
import { budgetOf, nearestSetting } from '../src/settings';

it('takes the nearest number that is allowed', () => {
  expect(nearestSetting('length', '99999')).toBe(4096);
  expect(nearestSetting('length', '0')).toBe(1);
  expect(nearestSetting('topK', '-3')).toBe(0);
  expect(nearestSetting('topK', '2.6')).toBe(3);
  expect(nearestSetting('temperature', '0.75')).toBe(0.75);
  expect(nearestSetting('seed', '1e999')).toBe(Number.MAX_SAFE_INTEGER);
});

it('takes no number from what is none', () => {
  for (const text of ['', ' ', '-', 'abc', 'NaN']) {
    expect(nearestSetting('length', text)).toBeUndefined();
  }
});

it('gives the library the memory in bytes, or leaves it out', () => {
  expect(budgetOf({ memory: 300 })).toBe(300_000_000);
  expect(budgetOf({ memory: null })).toBeUndefined();
});
