// Tests the line that connections share, with a clock of the tests' own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Link } from '../../e2e/hub/link.mjs';

/** Sends bodies over a line until all are sent; each waits for its piece, and then for `late(now)` ms more. Returns each one's end. */
function send(link, bodies, { from = 0, late = () => 0 } = {}) {
  const ends = bodies.map(() => 0);
  const lanes = bodies.map((left, i) => ({ i, left, at: from }));
  lanes.forEach(() => link.enter(from));
  while (lanes.length > 0) {
    lanes.sort((a, b) => a.at - b.at);
    const [lane] = lanes;
    if (lane.left === 0) {
      ends[lane.i] = lane.at;
      link.leave();
      lanes.shift();
      continue;
    }
    const { length, ms } = link.take(lane.left, lane.at);
    lane.left -= length;
    lane.at += Math.max(0, ms);
    lane.at += late(lane.at);
  }
  return ends;
}

const near = (value, expected) =>
  assert.ok(Math.abs(value - expected) < 1, `${value} ms instead of ${expected}`);

test('one body takes the time that the rate says', () => {
  near(send(new Link(1e6), [500_000])[0], 500);
  near(send(new Link(2e9), [500_000])[0], 0.25);
  near(send(new Link(Infinity), [500_000])[0], 0);
});

test('bodies share the rate evenly', () => {
  const [a, b] = send(new Link(1e6), [200_000, 500_000]);
  near(b, 700);
  // Its pieces alternate with the other's.
  assert.ok(a > 370 && a < 430, `${a}`);
});

test('a rate that jumps', () => {
  const link = new Link([
    [0, 1e6],
    [100, 4e6],
    [200, 5e5],
  ]);
  // 100 kB, 400 kB, then 250 kB at half the rate; a piece keeps the rate with which it began.
  const [end] = send(link, [750_000]);
  assert.ok(end > 660 && end < 720, `${end}`);
});

test('a sender that comes late catches up', () => {
  near(send(new Link(1e6), [500_000], { late: (now) => (now < 400 ? 7 : 0) })[0], 500);
});

test('a pause of more than a quarter of a second is lost', () => {
  let paused = false;
  const late = (now) => {
    if (paused || now < 100) return 0;
    paused = true;
    return 450;
  };
  near(send(new Link(1e6), [500_000], { late })[0], 700);
});

test('a line on which nothing is sent saves nothing up', () => {
  const link = new Link(1e6);
  near(send(link, [100_000])[0], 100);
  near(send(link, [100_000], { from: 1000 })[0], 1100);
});
