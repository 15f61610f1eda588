// @ts-check
// Whether a run ended as it may.

/**
 * How a load ended: with the hash of its logits, with an error, or not at all.
 * @typedef {object} Outcome
 * @property {string} [hash]
 * @property {string} [code]
 * @property {string} [message]
 * @property {boolean} [hangs]
 */

/**
 * A run's result.
 * @typedef {object} Verdict
 * @property {'right hash' | 'right error' | 'wrong text' | 'wrong error' | 'hanging' | 'wrong state'} kind
 * @property {string} why what it ended with; '' for a right hash
 */

/** @param {Verdict} verdict */
export function is_good({ kind }) {
  return kind === 'right hash' || kind === 'right error';
}

/**
 * @param {Outcome} outcome
 * @param {{codes: readonly string[], hashes: readonly string[]}} right
 * @returns {Verdict}
 */
export function judge({ hash, code, message = '', hangs = false }, { codes, hashes }) {
  if (hangs) return { kind: 'hanging', why: message || 'it did not end' };
  // A text that was wrong stays wrong, whatever came after it.
  if (hash !== undefined && !hashes.includes(hash)) return { kind: 'wrong text', why: hash };
  if (code !== undefined) {
    const why = `${code}: ${message}`;
    if (codes.includes(code)) return { kind: 'right error', why };
    return {
      kind: 'wrong error',
      why: `${why} (expected: ${['the right hash', ...codes].join(', ')})`,
    };
  }
  if (hash === undefined) return { kind: 'hanging', why: 'neither a hash nor an error' };
  return { kind: 'right hash', why: '' };
}

/** The size of a block in the cache, for a file of so many bytes. @param {number} size */
export function block_bytes(size) {
  let block = 256 << 10;
  while (block < size / 64 && block < 4 << 20) block *= 2;
  return block;
}

/** Counts verdicts, for the lines at the end. */
export class Tally {
  runs = 0;
  good = 0;
  /** @type {Record<string, number>} */
  kinds = {};
  /** Runs whose server recovered, and those of them that got through. */
  recovering = 0;
  recovered = 0;
  /** Bytes that a killed or cut load fetched twice, in all and at most. */
  again = 0;
  most_again = 0;

  /** @param {Verdict} verdict @param {boolean} recovers */
  add(verdict, recovers) {
    ++this.runs;
    if (is_good(verdict)) ++this.good;
    this.kinds[verdict.kind] = (this.kinds[verdict.kind] ?? 0) + 1;
    if (!recovers) return;
    ++this.recovering;
    if (verdict.kind === 'right hash') ++this.recovered;
  }

  /** @param {number} bytes */
  fetched_again(bytes) {
    this.again += bytes;
    this.most_again = Math.max(this.most_again, bytes);
  }

  /**
   * At least 95% of the loads whose server recovers get through; of few, all but two (of fewer than ten, all but one): a share of
   * 20 says little. Where 99% get through, one round of 20 in a thousand fails so, and not one in sixty.
   */
  get enough_recovered() {
    const most = Math.max(0.05 * this.recovering, this.recovering < 10 ? 1 : 2);
    return this.recovering - this.recovered <= most;
  }

  /** @param {string} kind */
  of(kind) {
    return this.kinds[kind] ?? 0;
  }
}
