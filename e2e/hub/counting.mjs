// @ts-check
// What a server counts for a file: requests, connections, and which bytes were sent how often.

/** A set of bytes of a file: ranges that don't touch each other, in their order. */
export class ByteSet {
  /** @type {[number, number][]} first byte, and the one after the last */
  #ranges = [];

  /** Adds the bytes from `first` up to `end`. Returns how many of them were there before. @param {number} first @param {number} end */
  add(first, end) {
    let before = 0;
    let [low, high] = [first, end];
    /** @type {[number, number][]} */
    const others = [];
    for (const [a, b] of this.#ranges) {
      if (b < first || a > end) {
        others.push([a, b]);
        continue;
      }
      before += Math.max(0, Math.min(b, end) - Math.max(a, first));
      low = Math.min(low, a);
      high = Math.max(high, b);
    }
    others.push([low, high]);
    this.#ranges = others.sort((a, b) => a[0] - b[0]);
    return before;
  }

  get size() {
    return this.#ranges.reduce((sum, [a, b]) => sum + b - a, 0);
  }

  /** [first, end] of each range. */
  get ranges() {
    return this.#ranges.map(([a, b]) => /** @type {[number, number]} */ ([a, b]));
  }
}

/** The counts of a file, or of all that a hub serves. Preflights are not requests. */
export class Counts {
  requests = 0;
  preflights = 0;
  /** Preflights that were refused. */
  refused = 0;
  /** Of the bodies of files, as far as the connection took them. */
  bytes = 0;
  /** Bytes that had been sent before: 2 if one byte was sent three times. */
  again = 0;
  /** Answers that have not ended, now and at most. */
  underway = 0;
  most = 0;
  /** Requests that brought Authorization to an address that must not see it. */
  leaked = 0;
  /** When the last byte so far was sent, ms since 1970; 0: none was. */
  lastByte = 0;
  /** How many answers had each status; 0: none, the connection was closed. @type {Record<number, number>} */
  statuses = {};
  /** The bytes of the file that were sent at least once. */
  sent = new ByteSet();

  begin() {
    ++this.requests;
    this.most = Math.max(this.most, ++this.underway);
  }

  end() {
    --this.underway;
  }

  /** @param {number} status */
  answered(status) {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
  }

  /** Counts bytes of the file. @param {number} first @param {number} length */
  file(first, length) {
    this.bytes += length;
    this.lastByte = Date.now();
    this.again += this.sent.add(first, first + length);
  }
}
