// How long broken connections are retried, and how long to wait between tries.
import { SluiceError } from '../../shared/errors.js';
import type { WaitingFor } from '../../shared/progress-types.js';

/** HTTP statuses after which the same request may succeed later. */
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504]);
export function isPassing(status: number): boolean {
  return PASSING.has(status);
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8000;
/** The longest time that a server may ask to wait. */
const LONGEST_WAIT_MS = 300_000;

/**
 * Milliseconds that a server asks to wait: Retry-After (RFC 9110, 10.2.3), or the reset of RateLimit
 * (draft-ietf-httpapi-ratelimit-headers: `t=`, in older drafts `reset=` or a header of its own). Null if it doesn't say.
 */
export function askedWait(headers: Headers, now: number): number | null {
  const after = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(after)) return Number(after) * 1000;
  const date = Date.parse(after);
  if (!Number.isNaN(date)) return Math.max(0, date - now);
  const limit = headers.get('ratelimit') ?? '';
  const match = /(?:^|[;,\s])(?:t|reset)\s*=\s*(\d{1,9})/i.exec(limit);
  const seconds = match?.[1] ?? headers.get('ratelimit-reset')?.trim() ?? '';
  return /^\d{1,9}$/.test(seconds) ? Number(seconds) * 1000 : null;
}

/** A failure after which the same request may succeed. */
export class Passing extends Error {
  /** `problem`: what happened, as part of a sentence. `wait`: milliseconds that the server asks to wait, or null. */
  constructor(
    readonly problem: string,
    readonly error: SluiceError,
    readonly wait: number | null = null,
  ) {
    super(problem);
  }

  get waitsFor(): WaitingFor {
    return this.error.status === undefined ? 'network' : 'server';
  }
}

/** The most waits that a server may ask for in a row, without a byte in between. */
const MOST_WAITS = 5;

/** The tries of one connection since its last new byte. */
export interface Tries {
  failed: number;
  waited: number;
}

/** Decides when to try again. All connections of a download share one; a byte from any of them renews it. */
export class Patience {
  #since: number;
  /** No request begins before this time: a server has asked for it. */
  notBefore = -Infinity;

  /** `limit`: milliseconds without a new byte after which there is no more try. */
  constructor(
    readonly limit: number,
    readonly now: () => number = () => performance.now(),
    readonly random: () => number = Math.random,
  ) {
    this.#since = now();
  }

  /** New bytes have arrived. */
  renew(): void {
    this.#since = this.now();
  }

  /** A connection fails for the first time since its last byte. It began to wait at `time`: time before that doesn't count. */
  begin(time: number): void {
    this.#since = Math.max(this.#since, time);
  }

  /** Milliseconds to wait before the next try; null: no more. `asked`: by the server; this wait doesn't count. */
  pause(tries: Tries, asked: number | null): number | null {
    const left = this.limit - (this.now() - this.#since);
    if (left <= 0) return null;
    if (asked !== null) {
      if (asked > LONGEST_WAIT_MS || ++tries.waited > MOST_WAITS) return null;
      const wait = asked + this.random() * (0.1 * asked + 1000);
      this.notBefore = this.#since = Math.max(this.#since, this.now() + wait);
      return wait;
    }
    const usual = Math.min(FIRST_PAUSE_MS * 2 ** tries.failed++, LONGEST_PAUSE_MS);
    // The last try is made when the limit is reached.
    return Math.min(usual * (0.5 + this.random()), left);
  }
}
