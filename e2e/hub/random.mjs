// @ts-check
// Random numbers from a seed: the same ones in every run.

/** A hash of integers, 32 bits. @param {...number} parts */
function mix(...parts) {
  let hash = 0x811c9dc5;
  for (const part of parts) {
    hash = Math.imul(hash ^ (part >>> 0), 0x85ebca6b) >>> 0;
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35) >>> 0;
    hash = (hash ^ (hash >>> 16)) >>> 0;
  }
  return hash;
}

/** Draws numbers, which depend only on the numbers that it was made from. */
export class Random {
  #state;

  /** @param {...number} seeds */
  constructor(...seeds) {
    this.#state = mix(...seeds);
  }

  /** At least 0 and less than 1. */
  next() {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    return mix(this.#state) / 2 ** 32;
  }

  /** A whole number, `least` and `most` included. @param {number} least @param {number} most */
  whole(least, most) {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  /** @param {number} probability */
  chance(probability) {
    return this.next() < probability;
  }

  /**
   * One of a list.
   * @template T
   * @param {readonly T[]} list not empty
   * @returns {T}
   */
  pick(list) {
    return /** @type {T} */ (list[this.whole(0, list.length - 1)]);
  }
}
