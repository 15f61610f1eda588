import { beforeEach, expect, it } from 'vitest';
import type { EngineStats } from '@sluice/engine';
import {
  NOTHING,
  estimate,
  readSeen,
  speedInWords,
  speedShort,
  withText,
  type Seen,
} from '../src/model/speed';
import { chosenLanguage } from '../src/texts';

const GB = 1e9;
const at = Date.UTC(2026, 10, 23);
const measured = { bytesPerSecond: 20 * GB, at };
const whole = (decodeBytes: number | null) => ({ decodeBytes, rereadBytes: 0 });
const shown = (decodeBytes: number, bytesPerSecond: number) => ({
  decodeBytes,
  bytesPerSecond,
  at,
});

beforeEach(() => {
  chosenLanguage.value = 'en';
});

it('is what memory gives, for the bytes that a token reads', () => {
  const seen: Seen = { ...NOTHING, measured };
  expect(estimate(whole(GB), seen)).toMatchObject({ rereads: false });
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

it('prefers what texts have shown, of the model that is most alike', () => {
  const texts = [shown(0.4 * GB, 9 * GB), shown(2 * GB, 12 * GB), shown(2.6e6, 1.3 * GB)];
  const seen: Seen = { ...NOTHING, measured, texts };
  expect(estimate(whole(2 * GB), seen)?.tokensPerSecond).toBe(6);
  expect(estimate(whole(0.5 * GB), seen)?.tokensPerSecond).toBe(18);
  // A tiny model stays in the processor's caches, and says nothing of large ones; nor does one of 2 GB of one of 30.
  expect(estimate(whole(40e6), seen)?.tokensPerSecond).toBeCloseTo(1 / 0.0024);
  expect(estimate(whole(30 * GB), seen)?.tokensPerSecond).toBeCloseTo(2 / 3);
});

it('counts what is read again at the rate of the device', () => {
  const reads = { decodeBytes: 4 * GB, rereadBytes: 2 * GB };
  const slow = estimate(reads, { ...NOTHING, measured });
  expect(slow).toEqual({ tokensPerSecond: null, rereads: true });
  expect(speedInWords(slow)).toBe('slow: is read from this device for each token');
  expect(speedShort(slow)).toBe('slow');
  const seen: Seen = { ...NOTHING, measured, disk: { bytesPerSecond: GB, at } };
  const known = estimate(reads, seen);
  expect(known?.tokensPerSecond).toBeCloseTo(1 / 2.2);
  expect(speedInWords(known)).toBe('about 0.45 tokens/s, read from this device for each token');
});

it('is said with "about" and no more digits than it is worth, in both languages', () => {
  const of = (tokensPerSecond: number) => speedInWords({ tokensPerSecond, rereads: false });
  expect([4.218, 23.4, 187.3, 1234].map(of)).toEqual([
    'about 4.2 tokens/s',
    'about 23 tokens/s',
    'about 190 tokens/s',
    'about 1,200 tokens/s',
  ]);
  chosenLanguage.value = 'de';
  expect([4.218, 1234].map(of)).toEqual(['etwa 4,2 Token/s', 'etwa 1.200 Token/s']);
});

const stats = (change: Partial<EngineStats>): EngineStats =>
  ({ tokens: 100, tokensPerSecond: 10, bytesPerToken: GB, ...change }) as EngineStats;

it('learns from texts: the newest of each model, and none that is too short', () => {
  const first = withText([], stats({}), at);
  expect(first).toEqual([{ bytesPerSecond: 10 * GB, decodeBytes: GB, at }]);
  for (const nothing of [{ tokens: 3 }, { tokensPerSecond: 0 }, { bytesPerToken: 0 }])
    expect(withText(first, stats(nothing), at)).toBe(first);
  const later = withText(first, stats({ tokensPerSecond: 12 }), at + 1);
  expect(later).toEqual([{ bytesPerSecond: 12 * GB, decodeBytes: GB, at: at + 1 }]);
  let many = later;
  for (let i = 2; i < 40; ++i) many = withText(many, stats({ bytesPerToken: i * GB }), at + i);
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
    measured: { bytesPerSecond: -1, at },
    texts: [null, 1, { bytesPerSecond: 1, at }, { ...shown(0, GB) }, shown(GB, GB)],
    disk: { bytesPerSecond: 1e999, at },
  };
  expect(readSeen(JSON.stringify(bad))).toEqual({ ...NOTHING, texts: [shown(GB, GB)] });
});
