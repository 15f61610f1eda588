// One file on a server: requests ranges of it, and checks that all answers are parts of the same file.
import { SluiceError } from '../../shared/errors.js';
import { failedAt } from '../../shared/facts.js';
import { Refusals } from '../../platform/here.js';
import type { RefusalsLike } from '../../platform/platform.js';
import type { Patiences } from '../../shared/protocol.js';
import { Passing, Patience, askedWait, isPassing } from './patience.js';
import type { WaitingFor } from '../../shared/progress-types.js';
import { sleep, within } from './time.js';
import { checkStatus, hostOf, lengthOf, networkError, offline, whyUnreadable } from './why.js';

/** The part of a Response that is used. */
export type RemoteAnswer = Pick<
  Response,
  'ok' | 'status' | 'statusText' | 'url' | 'redirected' | 'type' | 'headers' | 'body'
>;

export interface Asked {
  method?: 'HEAD';
  headers: [string, string][];
  signal: AbortSignal;
  cache: RequestCache;
}

/** fetch, in this worker or on the page. */
export type Fetcher = (url: string, asked: Asked) => Promise<RemoteAnswer>;

/** What the downloads of a model share. */
export interface Net {
  fetch: Fetcher;
  /** `fetch` is the caller's. */
  custom: boolean;
  /** Ends all downloads of the model, as fail() does. */
  signal: AbortSignal;
  fail(): void;
  patiences: Patiences;
  patience: Patience;
  /** Tells the user what a connection waits for. */
  onwaiting(text: string, on: WaitingFor): void;
  /** The connection waits no longer. */
  onwaited(): void;
}

/** What the server's headers say about a file. */
export interface RemoteFacts {
  /** Bytes; 0 if unknown. */
  total: number;
  /** `total` is certainly right. */
  exact: boolean;
  etag: string;
  lastModified: string;
}

/** The file has changed since the first answer. */
export class Changed extends Error {}
/** The file is shorter than the server had said. */
export class Shorter extends Changed {}

/** The bytes of an answer. */
export interface Part {
  /** The offsets in the file of its first byte and after its last one; Infinity if unknown. */
  at: number;
  end: number;
  contentType: string;
  /** Null at the end. With `again`, the buffer is reused: the bytes are valid until the next call. */
  read(again: boolean): Promise<Uint8Array<ArrayBuffer> | null>;
  cancel(): void;
}

type Span = Pick<Part, 'at' | 'end'> & { whole: boolean };

/** The most bytes of one read. */
export const PIECE_BYTES = 1 << 20;
/** How often in a row a redirect is resolved again without a new byte. */
const MOST_ANEW = 3;
/** HTTP statuses of a signed address that has expired. */
const GONE = [401, 403, 404, 410];
/** HEAD requests for the size of a file, until two answers in a row agree. */
const MOST_HEADS = 4;

/**
 * Reads a body. With `again` it reuses one buffer if the browser can, which takes a fifth less time: the bytes are valid until
 * the next call.
 */
export function readerOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  again: boolean,
): { read(again: boolean): Promise<Uint8Array<ArrayBuffer> | null>; cancel(): Promise<void> } {
  if (again) {
    try {
      const reader = body.getReader({ mode: 'byob' });
      let buffer = new ArrayBuffer(PIECE_BYTES);
      const read = async (again: boolean): Promise<Uint8Array<ArrayBuffer> | null> => {
        const { done, value } = await reader.read(new Uint8Array(buffer));
        if (value !== undefined) buffer = value.buffer;
        if (done || value === undefined) return null;
        return again ? value : value.slice();
      };
      return { read, cancel: () => reader.cancel() };
    } catch {
      // The stream, or the browser, can't read into a given buffer.
    }
  }
  const reader = body.getReader();
  return { read: async () => (await reader.read()).value ?? null, cancel: () => reader.cancel() };
}

/** `W/"abc"` becomes `"abc"`: servers that compress send a weak ETag for the same file. */
function strong(etag: string): string {
  return etag.replace(/^W\//, '');
}

function encodedOf({ headers }: RemoteAnswer): boolean {
  return (headers.get('content-encoding') ?? 'identity') !== 'identity';
}

/** 4 TiB, far more than any model: a limit for the work that is done for each block. */
const MOST_BYTES = 2 ** 42;

function checkedTotal(total: number, who: string, url: string): number {
  if (total <= MOST_BYTES) return total;
  throw new SluiceError(
    'download_failed',
    `${who} names ${total} bytes for the file, and no model is so large; check the address`,
    { facts: failedAt(url, 'answer') },
  );
}

export class Remote {
  facts: RemoteFacts | null = null;
  /** Whether the server supports ranges; null until it has answered. */
  ranges: boolean | null = null;
  /** Whether a byte was received. */
  begun = false;
  /** The address that a redirect led to. */
  #direct: string | null = null;
  #anew = 0;
  /** The last request failed without an answer, though the server answers others. */
  #doubted = false;
  readonly #refusals: RefusalsLike;
  readonly who: string;

  /** `cache`: the cache mode of the requests. Only http addresses support ranges. */
  constructor(
    readonly url: string,
    readonly headers: [string, string][],
    readonly cache: RequestCache,
    readonly net: Net,
  ) {
    this.who = hostOf(url);
    this.#refusals = new Refusals(net.signal);
    if (!/^https?:/.test(url)) this.ranges = false;
  }

  /** Compares all answers with these facts from before. */
  expect(facts: RemoteFacts): void {
    this.facts = facts;
  }

  /** New bytes have arrived. */
  renew(): void {
    this.begun = true;
    this.#anew = 0;
    this.net.patience.renew();
  }

  /**
   * Asks for the bytes from `from` to `to` (Infinity: the end), once. A server without ranges answers with the whole file.
   * Throws Passing if it may work later, Changed, or the error that ends the download.
   */
  async open(from: number, to: number): Promise<Part> {
    const { patience, signal } = this.net;
    for (;;) {
      // The sleep also ends when the device comes online.
      while (patience.notBefore > patience.now()) {
        await sleep(patience.notBefore - patience.now(), signal);
        signal.throwIfAborted();
      }
      const part = await this.#ask(from, to);
      if (part !== null) return part;
    }
  }

  /** Null: ask again at once. */
  async #ask(from: number, to: number): Promise<Part | null> {
    const { net } = this;
    const url = this.#direct ?? this.url;
    const headers = new URL(url).origin === new URL(this.url).origin ? [...this.headers] : [];
    const ranged = this.ranges !== false;
    if (ranged) headers.push(['range', `bytes=${from}-${to === Infinity ? '' : to - 1}`]);
    const end = new AbortController();
    const stop = (): void => {
      net.signal.removeEventListener('abort', stop);
      end.abort();
    };
    net.signal.addEventListener('abort', stop);
    if (net.signal.aborted) stop();
    let answer: RemoteAnswer;
    try {
      const asking = net.fetch(url, { headers, signal: end.signal, cache: this.cache });
      answer = await within(asking, net.patiences.stallTimeout, () => this.stalled(''), stop);
    } catch (cause) {
      stop();
      net.signal.throwIfAborted();
      if (cause instanceof Passing || cause instanceof SluiceError) throw cause;
      return await this.#unanswered(url, from, cause);
    }
    if (answer.redirected && /^https?:/.test(answer.url)) this.#direct = answer.url;
    const drop = (): null => {
      stop();
      return null;
    };
    const { status } = answer;
    try {
      if (ranged && status === 416) {
        if (from > 0) throw new Changed(`${this.who} has no bytes from ${from} on`);
        this.ranges = false;
        return drop();
      }
      const redirected = url !== this.url || answer.redirected;
      if (GONE.includes(status) && redirected) {
        // Another connection has found that out, too.
        if (url !== this.url && url !== this.#direct) return drop();
        if (this.#anew < MOST_ANEW) {
          ++this.#anew;
          this.#direct = null;
          return drop();
        }
      }
      if (isPassing(status)) this.#refuse(answer);
      checkStatus(answer, this.who, this.url);
      if (ranged && status === 206 && !this.#isPart(answer)) {
        this.ranges = false;
        return drop();
      }
      const span =
        ranged && status === 206 ? this.#checkPart(answer, from, to) : this.#checkWhole(answer);
      if (
        this.ranges === true &&
        this.facts?.total === 0 &&
        !(await this.#learnTotal(url, headers, span.whole ? span.end : 0))
      ) {
        this.ranges = false;
        return drop();
      }
      const { at, end, whole } = span;
      const total = this.facts?.total ?? 0;
      if (this.ranges === true && !whole && total > 0 && end > total)
        throw new Changed(`its size was ${end} bytes or more and is ${total} now`);
      return { at, end, ...this.#bodyOf(answer, stop) };
    } catch (error) {
      stop();
      throw error;
    }
  }

  /**
   * Learns the size with HEAD requests: another origin may hide content-range, but not the length of a whole answer. A server
   * may name a wrong length once, and everything depends on it: it is believed when two answers in a row name it.
   * `claimed`: by the first answer's length, 0: by none.
   */
  async #learnTotal(url: string, ranged: [string, string][], claimed: number): Promise<boolean> {
    const headers = ranged.filter(([name]) => name !== 'range');
    let total = claimed;
    for (let tries = 0; tries < MOST_HEADS; ++tries) {
      const named = await this.#askTotal(url, headers);
      if (named === 0) break;
      const again = named === total;
      total = named;
      if (again) break;
    }
    if (total > 0 && this.facts !== null) this.facts = { ...this.facts, total, exact: true };
    return total > 0;
  }

  /** Bytes of the file, by a HEAD request; 0 if its answer doesn't tell. */
  async #askTotal(url: string, headers: [string, string][]): Promise<number> {
    const { net, cache } = this;
    const end = new AbortController();
    const stop = (): void => end.abort();
    net.signal.addEventListener('abort', stop);
    try {
      const asking = net.fetch(url, { method: 'HEAD', headers, signal: end.signal, cache });
      const { stallTimeout } = net.patiences;
      const answer = await within(asking, stallTimeout, () => this.stalled(''), stop);
      return answer.ok ? checkedTotal(lengthOf(answer), this.who, this.url) : 0;
    } catch {
      return 0;
    } finally {
      net.signal.removeEventListener('abort', stop);
    }
  }

  #refuse({ status, statusText, headers }: RemoteAnswer): never {
    const problem = `${this.who} answered ${status}${statusText === '' ? '' : ` (${statusText})`}`;
    const wait = status === 429 || status === 503 ? askedWait(headers, Date.now()) : null;
    const when = wait === null ? '' : ` and asks to wait ${Math.ceil(wait / 1000)} s`;
    const error = new SluiceError(
      'download_failed',
      `${problem} instead of the model${when}; try again later, or use another address`,
      { status, facts: failedAt(this.url, 'status') },
    );
    throw new Passing(`${problem}${when}`, error, wait);
  }

  /** The request got no answer that can be read: throws why, or returns null to ask again. */
  async #unanswered(url: string, from: number, cause: unknown): Promise<null> {
    const { net } = this;
    if (url !== this.url && this.#anew < MOST_ANEW) {
      ++this.#anew;
      this.#direct = null;
      return null;
    }
    const direct = /^(blob|data):/.test(url);
    if (offline() && !direct && !this.begun)
      throw networkError(`${this.who} could not be read`, cause, failedAt(this.url, 'unreachable'));
    if (this.begun) {
      const text = `the connection broke at byte ${from}`;
      throw new Passing(text, networkError(text, cause, failedAt(this.url, 'broken')));
    }
    if (net.custom) {
      const said = `the fetch that was given failed (${cause instanceof Error ? cause.message : String(cause)})`;
      const error = `${said}; see why, or leave it out`;
      throw new Passing(said, networkError(error, cause, failedAt(this.url, 'fetch')));
    }
    const why = await whyUnreadable(url, this.headers, net.signal, this.#refusals);
    const { text, reason, passing } = why;
    net.signal.throwIfAborted();
    const facts = failedAt(this.url, reason);
    const error = networkError(`${this.who} could not be read: ${text}`, cause, facts);
    if (passing === false || (passing === 'once' && this.#doubted)) throw error;
    this.#doubted = passing === 'once';
    throw new Passing(`${this.who} can't be reached`, error);
  }

  stalled(got: string): Passing {
    const { stallTimeout } = this.net.patiences;
    const text = `no byte came for ${stallTimeout / 1000} s${got === '' ? '' : ` (${got} came)`}`;
    return new Passing(
      text,
      networkError(`${text}; try again`, undefined, failedAt(this.url, 'stalled')),
    );
  }

  #compare(now: RemoteFacts): void {
    const known = this.facts;
    if (known === null) {
      this.facts = now;
      return;
    }
    const changed = (what: string, was: string, is: string): never => {
      throw new Changed(`${what} was ${was} and is ${is} now`);
    };
    if (known.total > 0 && now.total > 0 && known.total !== now.total && known.exact && now.exact)
      changed('its size', `${known.total} bytes`, `${now.total}`);
    if (known.etag !== '' && now.etag !== '') {
      if (strong(known.etag) !== strong(now.etag)) changed('its ETag', known.etag, now.etag);
    } else if (known.lastModified !== '' && now.lastModified !== '') {
      if (known.lastModified !== now.lastModified)
        changed('its date', known.lastModified, now.lastModified);
    }
    const better = now.exact && now.total > 0 ? now : known;
    this.facts = {
      total: better.total,
      exact: better.exact,
      etag: now.etag || known.etag,
      lastModified: now.lastModified || known.lastModified,
    };
  }

  #factsOf(answer: RemoteAnswer, total: number, exact: boolean): RemoteFacts {
    checkedTotal(total, this.who, this.url);
    const etag = answer.headers.get('etag') ?? '';
    return { total, exact, etag, lastModified: answer.headers.get('last-modified') ?? '' };
  }

  #wrongAnswer(text: string): SluiceError {
    const facts = failedAt(this.url, 'answer');
    return new SluiceError('download_failed', `${text}; use another server`, { facts });
  }

  /** False: the answer's range can't be known. */
  #isPart(answer: RemoteAnswer): boolean {
    const { headers } = answer;
    if (/^multipart\//i.test(headers.get('content-type') ?? '') || encodedOf(answer)) return false;
    return headers.has('content-range') || headers.has('content-length');
  }

  /** `whole`: it may be all of the file. */
  #checkPart(answer: RemoteAnswer, from: number, to: number): Span {
    const named = answer.headers.get('content-range');
    const length = Number(answer.headers.get('content-length') ?? 0);
    const wrong = (was: string): never => {
      const text = `${this.who} sent ${was} where the bytes from ${from} to ${to - 1} were asked for`;
      throw new Passing(text, this.#wrongAnswer(text));
    };
    if (named === null) {
      // Another origin may hide content-range. A part of the requested length is the right one; a shorter one from offset 0 may
      // be the whole file.
      const short = from === 0 && this.facts === null && length > 0 && length < to;
      const total = this.facts?.total ?? 0;
      const most = Math.min(to, total > 0 ? total : Infinity) - from;
      if (!short && length !== most) wrong(`${length} bytes`);
      this.#compare(this.#factsOf(answer, 0, false));
      this.ranges = true;
      return { at: from, end: from + length, whole: short };
    }
    const match = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(named.trim());
    const [first, last, total] = [Number(match?.[1]), Number(match?.[2]), Number(match?.[3])];
    const known = Number.isSafeInteger(total);
    if (match === null || first !== from || last < first || last >= to) wrong(`'${named}'`);
    if (known && last >= total) wrong(`'${named}'`);
    this.#compare(this.#factsOf(answer, known ? total : 0, known));
    this.ranges = true;
    return { at: from, end: last + 1, whole: false };
  }

  #checkWhole(answer: RemoteAnswer): Span {
    // The server sent ranges before, so this answer is a fault.
    if (this.ranges === true) {
      const text = `${this.who} sent the whole file where a part was asked for`;
      throw new Passing(text, this.#wrongAnswer(text));
    }
    this.ranges = false;
    const total = lengthOf(answer);
    const exact = answer.type === 'basic' || answer.type === 'default';
    this.#compare(this.#factsOf(answer, total, exact));
    return { at: 0, end: total > 0 ? total : Infinity, whole: true };
  }

  #bodyOf(answer: RemoteAnswer, stop: () => void): Pick<Part, 'contentType' | 'read' | 'cancel'> {
    const { net } = this;
    const body = answer.body as ReadableStream<Uint8Array<ArrayBuffer>> | null;
    let reader: ReturnType<typeof readerOf> | null = null;
    const cancel = (): void => {
      void (reader ?? body)?.cancel().catch(() => {});
      stop();
    };
    const read = async (again: boolean): Promise<Uint8Array<ArrayBuffer> | null> => {
      if (body === null) return null;
      reader ??= readerOf(body, again);
      return within(reader.read(again), net.patiences.stallTimeout, () => this.stalled(''), cancel);
    };
    return { contentType: answer.headers.get('content-type') ?? '', read, cancel };
  }
}
