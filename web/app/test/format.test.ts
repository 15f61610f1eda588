import { expect, it } from 'vitest';
import { bytes, daysAgo, digits, milliseconds, parameters, seconds, tokens } from '../src/format';

it('writes sizes as browsers show downloads', () => {
  expect(
    [0, 999, 1000, 45_600, 999_499, 999_999, 2_578_944, 3.98e8, 1.93e9, 5e15].map(bytes),
  ).toEqual([
    '0 B',
    '999 B',
    '1.00 KB',
    '45.6 KB',
    '999 KB',
    '1.00 MB',
    '2.58 MB',
    '398 MB',
    '1.93 GB',
    '5000 TB',
  ]);
});

it('writes figures with three digits at most, never with an exponent', () => {
  expect([0, 0.934, 4.24, 37.44, 99.96, 187.3, 1204.4, 1e7].map(digits)).toEqual([
    '0',
    '0.93',
    '4.2',
    '37.4',
    '100',
    '187',
    '1,204',
    '10,000,000',
  ]);
  expect(digits(Number.NaN)).toBe('–');
  expect(digits(Number.POSITIVE_INFINITY)).toBe('–');
});

it('writes times', () => {
  expect([3.21, 37.4, 999.4].map(milliseconds)).toEqual(['3.2 ms', '37.4 ms', '999 ms']);
  expect(milliseconds(1234)).toBe('1.2 s');
  expect([35.4, 240, 9000].map(seconds)).toEqual(['35 s', '4 min', '2.5 h']);
});

it('writes parameters', () => {
  expect([512, 260_032, 2_361_408, 494_032_768, 1_235_814_400].map(parameters)).toEqual([
    '512',
    '260 thousand',
    '2.36 million',
    '494 million',
    '1.24 billion',
  ]);
});

it('one of something is no plural', () => {
  expect(tokens(0)).toBe('0 tokens');
  expect(tokens(1)).toBe('1 token');
  expect(tokens(1204)).toBe('1,204 tokens');
});

it('says when something was, by the calendar’s days', () => {
  const now = new Date(2026, 10, 22, 0, 30).getTime();
  const at = (day: number, hour: number): string =>
    daysAgo(new Date(2026, 10, day, hour).getTime(), now);
  expect([at(22, 0), at(21, 23), at(21, 1), at(20, 23), at(-40, 12)]).toEqual([
    'today',
    'yesterday',
    'yesterday',
    '2 days ago',
    'on 21 September 2026',
  ]);
  // A clock that was set back
  expect(at(30, 1)).toBe('today');
});
