import { beforeEach, expect, it } from 'vitest';
import type { ModelInfo } from '@sluice/engine';
import {
  NOTHING,
  estimate,
  readSeen,
  readsOfFile,
  speedShort,
  type Seen,
} from '../src/model/speed';
import { speedInWords } from '../src/model/facts';
import { readsOf, withText, type Ran } from '../src/model/reads';
import { chosenLanguage } from '../src/texts';

const GB = 1e9;
const at = Date.UTC(2026, 10, 23);
const measured = { bytesPerSecond: 20 * GB, bytesPerSecond8: 25 * GB, at };
const whole = (decodeBytes: number | null, eightBits = false) => ({
  decodeBytes,
  rereadBytes: 0,
  eightBits,
});
const shown = (decodeBytes: number, bytesPerSecond: number) => ({
  decodeBytes,
  bytesPerSecond,
  eightBits: false,
  at,
});

beforeEach(() => {
  chosenLanguage.value = 'en';
});

it('is what was measured, for the bytes that a token reads', () => {
  const seen: Seen = { ...NOTHING, measured };
  expect(estimate(whole(GB), seen)).toMatchObject({ learned: false, rereads: false });
  expect(estimate(whole(GB, true), seen)?.tokensPerSecond).toBeCloseTo(25, 0);
  expect(estimate(whole(GB), seen)?.tokensPerSecond).toBeCloseTo(20, 0);
  expect(estimate(whole(4 * GB), seen)?.tokensPerSecond).toBeCloseTo(5, 1);
  // Of a tiny model reading is the smaller part.
  expect(estimate(whole(2e6), seen)?.tokensPerSecond).toBeCloseTo(2000);
});

it('says nothing where nothing is known', () => {
  expect(estimate(whole(GB), NOTHING)).toBeNull();
  expect(estimate(whole(null), { ...NOTHING, measured })).toBeNull();
  expect(speedInWords(null)).toBe('');
  expect(speedShort(null)).toBe('');
});

it('is what a text of the model has shown, and else is corrected by the text of the model that is most alike', () => {
  const texts = [shown(0.4 * GB, 9 * GB), shown(2 * GB, 12 * GB), shown(2.6e6, 1.3 * GB)];
  const seen: Seen = { ...NOTHING, measured, texts };
  expect(estimate(whole(2 * GB), seen)).toEqual({
    tokensPerSecond: 6,
    learned: true,
    rereads: false,
  });
  // As much slower than measured as the one of 0.4 GB was.
  const guess = estimate(whole(0.5 * GB), seen);
  expect(guess?.learned).toBe(false);
  expect(guess?.tokensPerSecond).toBeCloseTo(18, 0);
  // With eight bits: so much faster as was measured.
  expect(estimate(whole(0.5 * GB, true), seen)?.tokensPerSecond).toBeCloseTo(18 * 1.25, 0);
  expect(estimate(whole(0.5 * GB), { ...seen, measured: null })?.tokensPerSecond).toBe(18);
  // A tiny model stays in the processor's caches, and says nothing of large ones; nor does one of 2 GB of one of 30.
  expect(estimate(whole(40e6), seen)?.tokensPerSecond).toBeCloseTo(1 / 0.0024);
  expect(estimate(whole(30 * GB), seen)?.tokensPerSecond).toBeCloseTo(2 / 3, 2);
});

it('knows of a model whether its weights have eight bits, and of a file only its type', () => {
  const info = (types: ModelInfo['types']) =>
    ({ memory: { bytesPerToken: GB, rereadBytes: 5 }, types }) as ModelInfo;
  const of = (n: number) => ({ tensors: 1, bytes: n });
  expect(readsOf(info({ Q4_0: of(90), Q8_0: of(20) }))).toEqual({
    decodeBytes: GB,
    rereadBytes: 5,
    eightBits: false,
  });
  expect(readsOf(info({ F16: of(90), Q4_0: of(20) })).eightBits).toBe(true);
  expect(readsOfFile('Q8_0', GB, 0)).toEqual(whole(GB, true));
  expect(readsOfFile('Q4_K_M', GB, 0)).toEqual(whole(GB));
});

it('counts what is read again at the rate of the device', () => {
  const reads = { decodeBytes: 4 * GB, rereadBytes: 2 * GB, eightBits: false };
  const slow = estimate(reads, { ...NOTHING, measured });
  expect(slow).toEqual({ tokensPerSecond: null, learned: false, rereads: true });
  expect(speedInWords(slow)).toBe('slow: is read from this device for each word');
  expect(speedShort(slow)).toBe('slow');
  const seen: Seen = { ...NOTHING, measured, disk: { bytesPerSecond: GB, at } };
  const known = estimate(reads, seen);
  expect(known?.tokensPerSecond).toBeCloseTo(1 / 2.2);
  expect(speedInWords(known)).toBe('0.3 to 0.6 tokens/s, read from this device for each word');
});

it('is said as a range until it is learned, with no more digits than it is worth, in both languages', () => {
  const said = (learned: boolean) => (tokensPerSecond: number) =>
    speedInWords({ tokensPerSecond, learned, rereads: false });
  expect([4.218, 23.4, 187.3, 1234].map(said(true))).toEqual([
    'about 4.2 tokens/s',
    'about 23 tokens/s',
    'about 190 tokens/s',
    'about 1,200 tokens/s',
  ]);
  expect([0.8, 4.218, 23.4, 1234].map(said(false))).toEqual([
    '0.6 to 1 tokens/s',
    '3 to 5 tokens/s',
    '16 to 30 tokens/s',
    '860 to 1,600 tokens/s',
  ]);
  chosenLanguage.value = 'de';
  expect([4.218, 1234].map(said(true))).toEqual(['etwa 4,2 Token/s', 'etwa 1.200 Token/s']);
  expect(said(false)(23.4)).toBe('16 bis 30 Token/s');
});

const ran = (change: Partial<Ran>): Ran => ({
  tokens: 100,
  tokensPerSecond: 10,
  bytesPerToken: GB,
  eightBits: false,
  ...change,
});

it('learns from texts: the newest of each model, and none that is too short', () => {
  const first = withText([], ran({}), at);
  expect(first).toEqual([{ ...shown(GB, 10 * GB) }]);
  for (const nothing of [{ tokens: 3 }, { tokensPerSecond: 0 }, { bytesPerToken: 0 }])
    expect(withText(first, ran(nothing), at)).toBe(first);
  const later = withText(first, ran({ tokensPerSecond: 12 }), at + 1);
  expect(later).toEqual([{ ...shown(GB, 12 * GB), at: at + 1 }]);
  let many = later;
  for (let i = 2; i < 40; ++i) many = withText(many, ran({ bytesPerToken: i * GB }), at + i);
  expect(many.length).toBeLessThan(20);
  expect(many.at(-1)?.decodeBytes).toBe(39 * GB);
});

it('takes from the storage only what can be true', () => {
  const good: Seen = {
    measured,
    texts: [shown(GB, 9 * GB)],
    disk: { bytesPerSecond: GB, at },
  };
  expect(readSeen(JSON.stringify(good))).toEqual(good);
  for (const text of [null, '', '{', '7', 'null', '[]', '{"texts":7,"disk":[],"measured":"x"}'])
    expect(readSeen(text)).toEqual(NOTHING);
  const bad = {
    // As an earlier page kept it.
    measured: { bytesPerSecond: GB, at },
    texts: [null, 1, { bytesPerSecond: 1, at }, { ...shown(0, GB) }, shown(GB, GB)],
    disk: { bytesPerSecond: 1e999, at },
  };
  expect(readSeen(JSON.stringify(bad))).toEqual({ ...NOTHING, texts: [shown(GB, GB)] });
});
