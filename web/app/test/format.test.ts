import { afterEach, expect, it } from 'vitest';
import {
  bytes,
  daysAgo,
  digits,
  exact,
  milliseconds,
  parameters,
  readingFacts,
  seconds,
  steady,
  timeLeft,
  tokenRate,
  tokens,
} from '../src/texts/format';
import { LANGUAGES, chosenLanguage } from '../src/texts';

/** Which blank stands before a word depends on the version of Intl's data. */
const plain = (n: number): string => parameters(n).replace(/\s/g, ' ');

afterEach(() => {
  chosenLanguage.value = 'en';
});

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

it('writes how far a prompt is', () => {
  const facts = (secondsLeft: number | null, waiting: boolean) =>
    readingFacts({ computed: 512, total: 4000, reused: 0, cached: 0, secondsLeft, waiting });
  expect(facts(2.1, false)).toEqual(['512 of 4,000 tokens', '3 s left']);
  expect(facts(0.01, false)).toEqual(['512 of 4,000 tokens', '1 s left']);
  expect(facts(null, false)).toEqual(['512 of 4,000 tokens']);
  expect(facts(null, true)).toEqual(['512 of 4,000 tokens', 'waiting for layers']);
});

it('follows the page’s language', () => {
  chosenLanguage.value = 'de';
  expect([999, 2_578_944, 1.93e9].map(bytes)).toEqual(['999 B', '2,58 MB', '1,93 GB']);
  expect([0.934, 37.44, 1204.4, 1e7].map(digits)).toEqual(['0,93', '37,4', '1.204', '10.000.000']);
  expect([1, 1204].map(tokens)).toEqual(['1 Token', '1.204 Token']);
  expect([3.21, 1234].map(milliseconds)).toEqual(['3,2 ms', '1,2 s']);
  expect([260_032, 2_361_408, 1_235_814_400].map(plain)).toEqual([
    '260 Tausend',
    '2,36 Mio.',
    '1,24 Mrd.',
  ]);
  expect(timeLeft(4)).toBe('noch 4 s');
  expect(tokenRate(23.4)).toBe('23,4 Token/s');
  const now = new Date(2026, 10, 22, 12).getTime();
  const at = (day: number): string => daysAgo(new Date(2026, 10, day, 12).getTime(), now);
  expect([at(22), at(21), at(10), at(-40)]).toEqual([
    'heute',
    'gestern',
    'vor 12 Tagen',
    'am 21. September 2026',
  ]);
  const reading = {
    computed: 512,
    total: 4000,
    reused: 0,
    cached: 0,
    secondsLeft: 3,
    waiting: false,
  };
  expect(readingFacts(reading)).toEqual(['512 von 4.000 Token', 'noch 3 s']);
});

it('writes a live number with as many digits, and a setting with all of its own', () => {
  expect([0, 9, 23.04, 99.94, 100, 1204.4].map(steady)).toEqual([
    ...['0.0', '9.0', '23.0', '99.9', '100', '1,204'],
  ]);
  expect([0.05, 0.8, 40, 1].map(exact)).toEqual(['0.05', '0.8', '40', '1']);
  chosenLanguage.value = 'de';
  expect([23.04, 1204.4].map(steady)).toEqual(['23,0', '1.204']);
  expect(exact(0.05)).toBe('0,05');
});

it('writes numbers, plurals and dates as French does', () => {
  chosenLanguage.value = 'fr';
  expect([999, 45_600, 2_578_944, 1.93e9].map(bytes)).toEqual([
    '999 o',
    '45,6 Ko',
    '2,58 Mo',
    '1,93 Go',
  ]);
  expect([0.934, 1204.4, 1e7].map(digits)).toEqual(['0,93', '1\u202f204', '10\u202f000\u202f000']);
  expect([0, 1, 1204].map(tokens)).toEqual(['0 token', '1 token', '1\u202f204 tokens']);
  expect([260_032, 2_361_408, 1_235_814_400].map(plain)).toEqual([
    '260 mille',
    '2,36 millions',
    '1,24 milliard',
  ]);
  const now = new Date(2026, 10, 22, 12).getTime();
  const at = (day: number): string => daysAgo(new Date(2026, 10, day, 12).getTime(), now);
  expect([at(22), at(21), at(20), at(-40)]).toEqual([
    'aujourd’hui',
    'hier',
    'il y a 2 jours',
    'le 21 septembre 2026',
  ]);
});

it('writes all digits of a number, whatever the language', () => {
  for (const tag of LANGUAGES) {
    chosenLanguage.value = tag;
    for (const n of [0, 0.05, 0.999, 1.25, 40])
      expect(Number(exact(n).replace(',', '.')), tag).toBe(n);
  }
});
