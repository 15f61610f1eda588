// A server of one file, as fetch sees it, and clocks that tests turn.
import { vi } from 'vitest';
import { Patience } from '../src/loader/net/patience.js';
import type { Asked, Net } from '../src/loader/net/remote.js';
import { piecesOf, streamOf } from './fake-workers.js';

/** One request. `to`: after the last byte, as the server understood it. */
export interface Call {
  url: string;
  method: string;
  range: { from: number; to: number } | null;
  headers: Headers;
  signal: AbortSignal;
}

type Init = Partial<Asked> & { method?: string };

/** How an answer differs from the usual. */
export interface Odd {
  status?: number;
  /** Added to the usual headers; null: left out. */
  headers?: Record<string, string | null>;
  /** The body ends so after that many bytes. */
  cut?: number;
  after?: 'end' | 'hang' | Error;
  body?: Uint8Array;
  /** Where redirects led. */
  redirectedTo?: string;
}

export class FakeServer {
  readonly calls: Call[] = [];
  etag = '"one"';
  lastModified = '';
  /** It sends parts. */
  ranges = true;
  /** As fetch says of the answers of another origin. */
  foreign = false;
  /** The bytes of a piece of the body. */
  piece = 50_000;
  /** The bytes that it has sent in bodies. */
  sent = 0;
  /** What it does with a request, if not the usual. `n`: requests before this one. */
  plan: (call: Call, n: number) => Odd | Error | 'hang' | undefined | void = () => {};

  constructor(public bytes: Uint8Array) {}

  /** The requests for bytes. */
  get asked(): ([number, number] | null)[] {
    return this.calls.map(({ range }) => range && [range.from, range.to]);
  }

  readonly fetch = (url: string, init: Init = {}): Promise<Response> => {
    const signal = init.signal ?? new AbortController().signal;
    return new Promise((resolve, reject) => {
      const stop = (): void => reject(signal.reason as Error);
      if (signal.aborted) return stop();
      signal.addEventListener('abort', stop);
      const headers = new Headers(init.headers);
      const match = /^bytes=(\d+)-(\d*)$/.exec(headers.get('range') ?? '');
      const last = match?.[2] === '' ? Infinity : Number(match?.[2]);
      const range =
        match === null
          ? null
          : { from: Number(match[1]), to: Math.min(last + 1, this.bytes.length) };
      const call = { url, method: init.method ?? 'GET', range, headers, signal };
      const odd = this.plan(call, this.calls.length);
      this.calls.push(call);
      if (odd === 'hang') return undefined;
      if (odd instanceof Error) return reject(odd);
      return resolve(this.#answer(call, odd ?? {}));
    });
  };

  #answer({ url, range, method, signal }: Call, odd: Odd): Response {
    const total = this.bytes.length;
    const part = this.ranges && range !== null && method === 'GET' ? range : null;
    const beyond = part !== null && part.from >= total;
    const status = odd.status ?? (beyond ? 416 : part === null ? 200 : 206);
    const body = odd.body ?? (part === null ? this.bytes : this.bytes.subarray(part.from, part.to));
    const headers = new Headers({ 'content-length': String(body.length), etag: this.etag });
    if (this.lastModified !== '') headers.set('last-modified', this.lastModified);
    if (part !== null) headers.set('content-range', `bytes ${part.from}-${part.to - 1}/${total}`);
    for (const [name, value] of Object.entries(odd.headers ?? {}))
      if (value === null) headers.delete(name);
      else headers.set(name, value);
    const failed = status >= 300 || status === 204 || method === 'HEAD';
    const pieces = failed ? [] : piecesOf(body.subarray(0, odd.cut ?? body.length), this.piece);
    const stream = streamOf(pieces, odd.after ?? 'end').pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        start: (controller) =>
          signal.addEventListener('abort', () => controller.error(signal.reason)),
        transform: (bytes, controller) => {
          this.sent += bytes.length;
          controller.enqueue(bytes);
        },
      }),
    );
    const response = new Response(failed ? null : stream, { status, headers });
    const { redirectedTo } = odd;
    if (this.foreign) Object.defineProperty(response, 'type', { value: 'cors' });
    Object.defineProperty(response, 'url', { value: redirectedTo ?? url });
    Object.defineProperty(response, 'redirected', { value: redirectedTo !== undefined });
    return response;
  }

  /** Answers all fetches from now on. vi.unstubAllGlobals() undoes it. */
  install(): this {
    vi.stubGlobal('fetch', this.fetch);
    return this;
  }
}

/** Replaces the clocks. vi.useRealTimers() undoes it. */
export function useFakeTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
}

/** Turns the clock until `work` has settled, for an hour at most. */
export async function outcome<T>(work: Promise<T>): Promise<T> {
  let settled = false;
  const end = (): void => {
    settled = true;
  };
  work.then(end, end);
  for (let seconds = 0; !settled && seconds < 3600; ++seconds) {
    await vi.advanceTimersByTimeAsync(1000);
    // What isn't done by timers, such as compiling wasm, gets its time as well.
    await new Promise((resolve) => setImmediate(resolve));
  }
  if (!settled) throw new Error('it does not end');
  return work;
}

/** What the connections of a test share. */
export function makeNet(
  fetch: FakeServer['fetch'],
  { retryTimeout = 60_000, stallTimeout = 30_000 } = {},
): Net & { waits: string[]; end: AbortController } {
  const end = new AbortController();
  const waits: string[] = [];
  return {
    fetch,
    signal: end.signal,
    end,
    waits,
    fail: () => end.abort(),
    patiences: { stallTimeout, retryTimeout },
    patience: new Patience(retryTimeout, undefined, () => 0.5),
    custom: false,
    onwaiting: (text, on) => void waits.push(`${on}: ${text}`),
    onwaited: () => {},
  };
}
