import { expect, test } from 'vitest';
import type { MemoryPlan } from '@sluice/engine';
import { bothFit } from '../src/model/memory';
import { planInWords } from '../src/model/memory-words';

const MB = 1e6;

test('two small models fit at once, two large ones do not', () => {
  expect(bothFit(10 * MB, 20 * MB, 8)).toBe(true);
  expect(bothFit(1900 * MB, 500 * MB, 8)).toBe(false);
  expect(bothFit(1900 * MB, 100 * MB, 8)).toBe(true);
});

test('a device with less memory keeps less; one that names none counts as 4 GiB', () => {
  expect(bothFit(300 * MB, 300 * MB, 2)).toBe(false);
  expect(bothFit(300 * MB, 300 * MB, 4)).toBe(true);
  expect(bothFit(300 * MB, 300 * MB, undefined)).toBe(true);
  expect(bothFit(800 * MB, 300 * MB, undefined)).toBe(false);
});

const plan: MemoryPlan = {
  contextSize: 4096,
  kvType: 'f16',
  weights: 700 * MB,
  kv: 60 * MB,
  activations: 30 * MB,
  kvChunk: 3.75 * MB,
  leftOutBytes: 0,
  session: 80 * MB,
  plannedTokens: 4096,
  constant: 10 * MB,
  start: 710 * MB,
  total: 800 * MB,
  all: 800 * MB,
  least: 120 * MB,
  budget: 0,
  rereadBytes: 0,
  bytesPerToken: 90 * MB,
};

test('an offer says what the model would take, and what would be read again', () => {
  expect(planInWords(null)).toBe('');
  expect(planInWords(plan)).toBe('It takes up to 800 MB of memory.');
  const tight = { ...plan, total: 299 * MB, budget: 300 * MB, rereadBytes: 510 * MB };
  expect(planInWords(tight)).toMatch(
    /up to 800 MB of memory, which is more.*below 299 MB.*510 MB are read again .*for each word.*slower/,
  );
});
