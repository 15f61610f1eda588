// @ts-check
// A line of a given rate that all connections share, as a home's line does.
//   const link = new Link(20e6); hub.add('a.gguf', path, { plan: () => ({ link }) });

/**
 * Bytes per second; a list: from so many ms after the first byte on this rate. The first entry holds before it, too.
 * @typedef {number | [number, number][]} Rate
 */

/** The rate after so many ms, bytes per second. @param {Rate} rate @param {number} ms */
function rate_at(rate, ms) {
  if (typeof rate === 'number') return rate;
  return rate.reduce(
    (found, [from, next]) => (ms >= from ? next : found),
    rate[0]?.[1] ?? Infinity,
  );
}

/** The most that is sent at once, bytes. */
const CHUNK = 1 << 17;

/** Some 50 pieces a second, so that a slow answer is not one that comes in jumps. @param {number} speed bytes per second */
function piece_of(speed) {
  return Math.min(CHUNK, Math.max(1024, Math.ceil(speed / 50)));
}

/**
 * A sender that comes late, because the machine was busy, catches up with what it missed in so many ms. Without this the
 * rate would be less than was asked for. A line on which nothing is sent saves nothing up.
 */
const SLACK = 250;

export class Link {
  /** When the line is free, as performance.now(). */
  #free = 0;
  #started = 0;
  /** Bodies that are being sent. */
  #bodies = 0;

  /** @param {Rate} rate */
  constructor(rate) {
    this.rate = rate;
  }

  /** A body begins. @param {number} [now] */
  enter(now = performance.now()) {
    this.#started ||= now;
    if (this.#bodies++ === 0) this.#free = Math.max(this.#free, now);
  }

  /** A body has ended. */
  leave() {
    --this.#bodies;
  }

  /**
   * Takes the line for the next piece of a body that has `left` bytes left. Pieces follow in the order of the calls, so
   * that connections share the rate evenly. `ms`: until the piece has passed.
   * @param {number} left
   * @param {number} [now]
   * @returns {{length: number, ms: number}}
   */
  take(left, now = performance.now()) {
    this.#free = Math.max(this.#free, now - SLACK);
    const speed = rate_at(this.rate, this.#free - this.#started);
    const length = Math.min(left, piece_of(speed));
    this.#free += (length / speed) * 1000;
    return { length, ms: this.#free - now };
  }
}
