import { expect, test } from 'vitest';
import { bothFit } from '../src/memory';

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
