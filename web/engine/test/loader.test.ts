import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ErrorData } from '../src/errors.js';
import { runLoader, type FeedPort } from '../src/loader.js';
import { runBytesLoader } from '../src/page-loader.js';
import type { LoaderToEngine, LoaderSource, EngineToLoader } from '../src/protocol.js';
import { makeFile } from './fake-module.js';
import { piecesOf, streamOf, stubFetch } from './fake-workers.js';

const URL_SOURCE: LoaderSource = { kind: 'url', url: 'https://models.example/m.gguf', headers: [] };

/** The port of an engine, which keeps what it is sent. */
class Sink implements FeedPort {
  onmessage: ((event: MessageEvent<EngineToLoader>) => void) | null = null;
  bytes: number[] = [];
  messages: LoaderToEngine[] = [];

  constructor(readonly onFeed: (message: LoaderToEngine, sink: Sink) => void = () => {}) {}

  send(data: EngineToLoader): void {
    this.onmessage?.({ data } as MessageEvent<EngineToLoader>);
  }

  postMessage(message: LoaderToEngine): void {
    this.messages.push(message);
    if (message.type === 'bytes') this.bytes.push(...message.bytes);
    this.onFeed(message, this);
  }

  get last(): LoaderToEngine | undefined {
    return this.messages.at(-1);
  }

  get error(): ErrorData | undefined {
    return this.last?.type === 'failed' ? this.last.error : undefined;
  }
}

/** Takes everything as it comes. */
function greedy(): Sink {
  return new Sink((message, sink) => {
    if (message.type === 'opened') sink.send({ type: 'sendMore', length: 1 << 30 });
  });
}

function bodyOf(bytes: Uint8Array, headers: Record<string, string> = {}): Response {
  return new Response(streamOf(piecesOf(bytes, 1000)), { headers });
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

describe('runLoader, by chunks', () => {
  const file = makeFile(10_000);

  it('brings a download as it is, with its length', async () => {
    stubFetch(() => bodyOf(file, { 'content-length': '10000' }));
    const sink = greedy();
    await runLoader(URL_SOURCE, 1000, sink);
    expect(sink.messages[0]).toMatchObject({ type: 'opened', total: 10_000, network: true });
    expect(sink.bytes).toEqual([...file]);
    expect(sink.last).toEqual({ type: 'ended', received: 10_000 });
  });

  it('takes no length from a body that was compressed on its way', async () => {
    stubFetch(() => bodyOf(file, { 'content-length': '77', 'content-encoding': 'gzip' }));
    const sink = greedy();
    await runLoader(URL_SOURCE, 1000, sink);
    expect(sink.messages[0]).toMatchObject({ type: 'opened', total: 0 });
    expect(sink.last).toEqual({ type: 'ended', received: 10_000 });
  });

  it('brings a Blob and bytes that the page holds', async () => {
    const sink = greedy();
    await runLoader({ kind: 'blob', blob: new Blob([file]) }, 1000, sink);
    expect(sink.bytes).toEqual([...file]);
    const other = greedy();
    const { buffer, byteLength: length } = file;
    await runBytesLoader({ name: 'the ArrayBuffer', buffer, offset: 0, length }, other);
    expect(other.bytes).toEqual([...file]);
    expect(file.byteLength).toBe(10_000);
  });

  it('has no more under way than it has credit for, and a chunk', async () => {
    stubFetch(() => bodyOf(file));
    let open = 0;
    let most = 0;
    const sink = new Sink((message, self) => {
      if (message.type === 'opened') self.send({ type: 'sendMore', length: 2500 });
      if (message.type !== 'bytes') return;
      const { length } = message.bytes;
      open += length;
      most = Math.max(most, open);
      setTimeout(() => {
        open -= length;
        self.send({ type: 'sendMore', length });
      });
    });
    await runLoader(URL_SOURCE, 1000, sink);
    expect(sink.bytes).toEqual([...file]);
    expect(most).toBeLessThan(2500 + 1000);
  });

  it('stops when nothing more is wanted', async () => {
    stubFetch(() => bodyOf(file));
    const sink = new Sink((message, self) => {
      if (message.type === 'opened') self.send({ type: 'sendMore', length: 1 << 20 });
      if (message.type === 'bytes') self.send({ type: 'stop' });
    });
    await runLoader(URL_SOURCE, 1000, sink);
    expect(sink.bytes.length).toBe(1000);
    expect(sink.last?.type).toBe('ended');
  });
});

describe('runLoader, into shared memory', () => {
  const file = makeFile(10_000);
  const shared = (): WebAssembly.Memory =>
    new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });

  it.each([700, 3000])('asks after each writing for a place to be used once (%i)', async (size) => {
    stubFetch(() => bodyOf(file));
    const memory = shared();
    const seen: number[] = [];
    const sink = new Sink((message, self) => {
      if (message.type === 'filled') {
        expect(message.offset).toBe(seen.length);
        seen.push(...new Uint8Array(memory.buffer, 64, message.length));
      }
      if (message.type === 'opened' || message.type === 'filled') {
        const wants = Float64Array.of(seen.length, 64, size);
        self.send({ type: 'fill', memory, wants, once: true });
      }
    });
    await runLoader(URL_SOURCE, 1000, sink);
    expect(seen).toEqual([...file]);
  });

  it('fills places one after another without asking, and tells once a piece', async () => {
    stubFetch(() => bodyOf(file));
    const memory = shared();
    // Smaller and larger than the pieces of 1000, not in the file's order in memory, and the last place is not filled up.
    const sizes = [1, 999, 300, 300, 300, 3000, 5, 4000, 5000];
    let end = 20_000;
    // Between two wants are 7 unwanted bytes.
    let offset = 3;
    const wants = sizes.map((size) => [(offset += size + 7) - size, (end -= size + 8), size]);
    const sink = new Sink((message, self) => {
      if (message.type === 'opened')
        self.send({
          type: 'fill',
          memory,
          wants: Float64Array.from(wants.flat()),
          once: false,
        });
    });
    await runLoader(URL_SOURCE, 1000, sink);
    for (const [at = 0, ptr, size = 0] of wants) {
      const part = file.subarray(at, at + size);
      expect([...new Uint8Array(memory.buffer, ptr, part.length)]).toEqual([...part]);
    }
    const told = sink.messages.filter(({ type }) => type === 'filled');
    expect(told).toEqual(
      Array.from({ length: 10 }, (_, i) => ({ type: 'filled', offset: 1000 * i, length: 1000 })),
    );
  });

  it('reads a stream of bytes into a buffer of its own, which it uses again', async () => {
    const room = new Set<number>();
    let at = 0;
    const body = new ReadableStream({
      type: 'bytes',
      pull(controller) {
        const view = controller.byobRequest?.view as Uint8Array;
        room.add(view.byteLength);
        const part = file.subarray(at, at + 1700);
        if (part.length === 0) controller.close();
        else view.set(part);
        at += part.length;
        controller.byobRequest?.respond(part.length);
      },
    });
    stubFetch(() => new Response(body));
    const memory = shared();
    const sink = new Sink((message, self) => {
      if (message.type === 'opened')
        self.send({ type: 'fill', memory, wants: Float64Array.of(0, 8, 20_000), once: false });
    });
    await runLoader(URL_SOURCE, 1000, sink);
    expect([...new Uint8Array(memory.buffer, 8, file.length)]).toEqual([...file]);
    expect(sink.last).toEqual({ type: 'ended', received: file.length });
    expect([...room]).toEqual([1 << 20]);
  });

  it('leaves what no place is for to the engine, which stops it', async () => {
    stubFetch(() => bodyOf(file));
    const memory = shared();
    const sink = new Sink((message, self) => {
      if (message.type === 'opened')
        self.send({ type: 'fill', memory, wants: Float64Array.of(0, 0, 2500), once: false });
      if (message.type === 'filled' && message.length < 1000) self.send({ type: 'stop' });
    });
    await runLoader(URL_SOURCE, 1000, sink);
    expect([...new Uint8Array(memory.buffer, 0, 2501)]).toEqual([...file.subarray(0, 2500), 0]);
    expect(sink.last?.type).toBe('ended');
  });
});

describe('what a server can do', () => {
  it.each([404, 500, 403])('answers %i', async (status) => {
    stubFetch(() => new Response('no', { status }));
    const sink = greedy();
    await runLoader(URL_SOURCE, 1000, sink);
    expect(sink.error).toMatchObject({ code: 'download_failed', status });
    expect(sink.error?.message).toContain(`models.example answered ${status}`);
  });

  it('sends a web page', async () => {
    const html = new TextEncoder().encode('<!doctype html><title>Sign in</title>');
    stubFetch(
      () => new Response(html, { headers: { 'content-type': 'text/html; charset=utf-8' } }),
    );
    const sink = greedy();
    await runLoader(URL_SOURCE, 1000, sink);
    expect(sink.error?.code).toBe('bad_file');
    expect(sink.error?.message).toMatch(/a web page \(text\/html\), not a GGUF model/);
  });

  it('calls a model text/html: the bytes count', async () => {
    const file = makeFile(5000);
    stubFetch(() => bodyOf(file, { 'content-type': 'text/html' }));
    const sink = greedy();
    await runLoader(URL_SOURCE, 1000, sink);
    expect(sink.bytes).toEqual([...file]);
  });

  it('cuts the body short', async () => {
    stubFetch(() => bodyOf(makeFile(3000), { 'content-length': '10000' }));
    const sink = greedy();
    await runLoader(URL_SOURCE, 1000, sink);
    expect(sink.error).toMatchObject({ code: 'download_failed' });
    expect(sink.error?.message).toContain('3000 of 10000 bytes');
  });

  it('breaks the connection', async () => {
    const pieces = piecesOf(makeFile(3000), 1000);
    stubFetch(() => new Response(streamOf(pieces, new TypeError('network error'))));
    const sink = greedy();
    await runLoader(URL_SOURCE, 1000, sink);
    expect(sink.error).toMatchObject({ code: 'download_failed' });
    expect(sink.error?.message).toContain('broke after 3000 bytes');
  });

  it('cannot be reached, or does not allow it', async () => {
    stubFetch(() => Promise.reject(new TypeError('Failed to fetch')));
    const sink = greedy();
    await runLoader(URL_SOURCE, 1000, sink);
    expect(sink.error?.code).toBe('download_failed');
    expect(sink.error?.message).toMatch(/CORS/);
  });

  it.each([
    ['http://a.example/m', 'opaqueredirect', /it redirects to where .* in a circle, .*\(CORS\)/],
    ['http://a.example/m', 'basic', /did not answer, .*\(CORS\), or .*Content-Security-Policy/],
    ['http://here.example/m', 'basic', /did not answer, or .*Content-Security-Policy.*it runs/],
    ['https://b.example/m', 'basic', /did not answer, /],
    ['blob:http://a.example/1234', 'basic', /the blob: address could not .*: it was revoked/],
    ['data:;base64,%', 'basic', /the data: address could not be read: its data can't be decoded/],
  ])('fails without an answer: %s, %s', async (url, type, message) => {
    vi.stubGlobal('location', new URL('http://here.example/page'));
    // Like browsers: a fetch that follows the redirect fails; one that doesn't shows that there is one.
    vi.stubGlobal('fetch', (_: string, { redirect }: RequestInit) =>
      redirect === 'manual'
        ? Promise.resolve({ type, body: null })
        : Promise.reject(new TypeError('Failed to fetch')),
    );
    const sink = greedy();
    await runLoader({ kind: 'url', url, headers: [] }, 1000, sink);
    expect(sink.error?.code).toBe('download_failed');
    expect(sink.error?.message).toMatch(message);
  });

  it('cannot be reached from a page with https, being http', async () => {
    vi.stubGlobal('location', new URL('https://here.example/page'));
    stubFetch(() => Promise.reject(new TypeError('Failed to fetch')));
    const error = async (url: string): Promise<string | undefined> => {
      const sink = greedy();
      await runLoader({ kind: 'url', url, headers: [] }, 1000, sink);
      return sink.error?.message;
    };
    expect(await error('http://a.example/m')).toMatch(/https may not read http addresses/);
    expect(await error('http://localhost:8080/m')).toMatch(/did not answer/);
    expect(await error('https://a.example/m')).toMatch(/did not answer/);
  });

  it('cannot be reached because the device is offline', async () => {
    vi.stubGlobal('navigator', { onLine: false });
    stubFetch(() => Promise.reject(new TypeError('Failed to fetch')));
    const sink = greedy();
    await runLoader(URL_SOURCE, 1000, sink);
    expect(sink.error?.code).toBe('offline');
    expect(sink.error?.message).toMatch(/could not be read: this device is offline; connect it/);
  });

  it('stalls in the middle, and before it answers', async () => {
    vi.useFakeTimers();
    const pieces = piecesOf(makeFile(2000), 1000);
    stubFetch(
      () => new Response(streamOf(pieces, 'hang'), { headers: { 'content-length': '9000' } }),
    );
    const sink = greedy();
    const run = runLoader(URL_SOURCE, 30_000, sink);
    await vi.advanceTimersByTimeAsync(29_000);
    expect(sink.error).toBeUndefined();
    await vi.advanceTimersByTimeAsync(2000);
    await run;
    expect(sink.error?.code).toBe('download_failed');
    expect(sink.error?.message).toContain('no byte came for 30 s (2000 of 9000 bytes came)');

    stubFetch(() => new Promise<Response>(() => {}));
    const silent = greedy();
    const second = runLoader(URL_SOURCE, 5000, silent);
    await vi.advanceTimersByTimeAsync(5001);
    await second;
    expect(silent.error?.message).toContain('no byte came for 5 s');
  });

  it('is not blamed for an engine that takes its time', async () => {
    vi.useFakeTimers();
    stubFetch(() => bodyOf(makeFile(2000)));
    const sink = new Sink();
    const run = runLoader(URL_SOURCE, 1000, sink);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sink.error).toBeUndefined();
    sink.send({ type: 'sendMore', length: 1 << 20 });
    await vi.advanceTimersByTimeAsync(10);
    await run;
    expect(sink.last).toEqual({ type: 'ended', received: 2000 });
  });
});
