// How long lost connections are tried again, with a clock of its own.
import { describe, expect, it } from 'vitest';
import { Patience, askedWait, isPassing } from '../src/loader/net/patience.js';

const NOW = Date.UTC(2026, 0, 1);
const asked = (headers: Record<string, string>): number | null =>
  askedWait(new Headers(headers), NOW);

function make(random: number, limit = 60_000): { patience: Patience; clock: { now: number } } {
  const clock = { now: 1000 };
  return {
    patience: new Patience(
      limit,
      () => clock.now,
      () => random,
    ),
    clock,
  };
}

const tries = (): { failed: number; waited: number } => ({ failed: 0, waited: 0 });

describe('what a server asks to wait', () => {
  it.each([
    [{}, null],
    [{ 'retry-after': '30' }, 30_000],
    [{ 'retry-after': ' 0 ' }, 0],
    [{ 'retry-after': new Date(NOW + 90_000).toUTCString() }, 90_000],
    [{ 'retry-after': new Date(NOW - 90_000).toUTCString() }, 0],
    [{ 'retry-after': 'soon' }, null],
    [{ ratelimit: '"api";r=0;t=55' }, 55_000],
    [{ ratelimit: 'limit=10, remaining=0, reset=7' }, 7000],
    [{ 'ratelimit-reset': '12' }, 12_000],
    [{ 'ratelimit-reset': 'x' }, null],
    [{ ratelimit: '"at=9";r=1' }, null],
    [{ 'retry-after': '5', ratelimit: '"api";r=0;t=55' }, 5000],
    [{ 'retry-after': '99999999999999' }, null],
  ])('is read: %j', (headers, wait) => {
    expect(asked(headers as Record<string, string>)).toBe(wait);
  });

  it('is for answers after which the same request may succeed', () => {
    const passing = [408, 425, 429, 500, 502, 503, 504];
    for (let status = 200; status < 600; ++status)
      expect(isPassing(status)).toBe(passing.includes(status));
  });
});

describe('the pauses', () => {
  it.each([
    [0, 0.5],
    [0.5, 1],
    [0.999999, 1.499999],
  ])('double up to 8 s, times a random factor (%f)', (random, factor) => {
    const { patience } = make(random);
    const one = tries();
    const pauses = Array.from({ length: 8 }, () => patience.pause(one, null));
    [250, 500, 1000, 2000, 4000, 8000, 8000, 8000].forEach((pause, i) =>
      expect(pauses[i]).toBeCloseTo(pause * factor, 6),
    );
  });

  it('end at the limit: the last try is there, and then there are no more', () => {
    const { patience, clock } = make(0.5, 10_000);
    const one = tries();
    const pauses: number[] = [];
    for (let pause = patience.pause(one, null); pause !== null; pause = patience.pause(one, null)) {
      pauses.push(pause);
      clock.now += pause;
    }
    expect(pauses).toEqual([250, 500, 1000, 2000, 4000, 2250]);
    expect(clock.now).toBe(11_000);
  });

  it('begin anew with a new byte', () => {
    const { patience, clock } = make(0.5, 10_000);
    clock.now += 9999;
    patience.renew();
    clock.now += 9999;
    expect(patience.pause(tries(), null)).toBe(1);
    clock.now += 1;
    expect(patience.pause(tries(), null)).toBeNull();
  });
});

describe('a wait that a server asks for', () => {
  it.each([
    [0, 30_000],
    [0.999999, 34_000],
  ])('is kept, with some more (%f), and holds back everybody', (random, most) => {
    const { patience, clock } = make(random);
    const wait = patience.pause(tries(), 30_000) ?? 0;
    expect(wait).toBeGreaterThanOrEqual(30_000);
    expect(wait).toBeCloseTo(most, 1);
    expect(patience.notBefore).toBe(clock.now + wait);
    // A shorter one that another connection is told doesn't end it.
    patience.pause(tries(), 1000);
    expect(patience.notBefore).toBeGreaterThanOrEqual(clock.now + wait);
  });

  it("doesn't count against the patience", () => {
    const { patience, clock } = make(0, 10_000);
    clock.now += (patience.pause(tries(), 100_000) ?? 0) + 9999;
    expect(patience.pause(tries(), null)).toBe(1);
  });

  it('may be 300 s long, and come five times in a row', () => {
    const { patience, clock } = make(0);
    expect(patience.pause(tries(), 300_001)).toBeNull();
    const one = tries();
    for (let i = 0; i < 5; ++i) {
      const wait = patience.pause(one, 300_000);
      expect(wait).toBe(300_000);
      clock.now += wait ?? 0;
    }
    expect(patience.pause(one, 0)).toBeNull();
  });

  it('is not granted after the patience is over', () => {
    const { patience, clock } = make(0, 10_000);
    clock.now += 10_000;
    expect(patience.pause(tries(), 1)).toBeNull();
  });
});
