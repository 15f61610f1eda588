import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ErrorData } from '../src/shared/errors.js';
import { runLoader } from '../src/loader/loader.js';
import type { LoaderNews } from '../src/shared/calls.js';
import type { FeedPort } from '../src/loader/outlet.js';
import { runBytesLoader } from '../src/page/page-loader.js';
import type {
  EngineToLoader,
  LoaderSource,
  LoaderToEngine,
  RemoteSource,
} from '../src/shared/protocol.js';
import { makeFile } from './fake-module.js';
import { piecesOf, streamOf, stubFetch } from './fake-workers.js';

function remote(url: string): RemoteSource {
  return {
    kind: 'url',
    addresses: [url],
    headers: [],
    hub: 'https://hub.example',
    sha256: [],
    cache: 'none',
    asked: false,
    refresh: false,
    fetch: null,
  };
}

const URL_SOURCE = remote('https://models.example/m.gguf');

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
    // As the engine does.
    if (message.type === 'ended') queueMicrotask(() => this.send({ type: 'enough' }));
  }

  get last(): LoaderToEngine | undefined {
    return this.messages.at(-1);
  }

  get error(): ErrorData | undefined {
    return this.last?.type === 'failed' ? this.last.error : undefined;
  }
}

/** Asks for all bytes from `begin` to `end`: into the memory at 0, or as chunks. */
function wantAll(memory: WebAssembly.Memory | null, begin = 0, end = 1 << 30): EngineToLoader {
  const wants = Float64Array.of(begin, 0, end - begin);
  return { type: 'want', memory, wants, bases: [0], once: false, rows: false, layout: 0 };
}

/** Takes everything as it comes, after a header of 4 bytes. */
function greedy(): Sink {
  let header = true;
  return new Sink((message, sink) => {
    if (message.type === 'opened') {
      sink.send({ ...wantAll(null, 0, 4), once: true } as EngineToLoader);
      sink.send({ type: 'sendMore', length: 1 << 30 });
    }
    if (message.type === 'bytes' && header) {
      header = false;
      sink.send(wantAll(null, 4));
    }
  });
}

/** Runs a loader. Without `retryTimeout` nothing is tried again. Returns what it told the page. */
async function load(
  source: LoaderSource,
  sink: Sink,
  { stallTimeout = 1000, retryTimeout = 0 } = {},
): Promise<LoaderNews[]> {
  const told: LoaderNews[] = [];
  const patiences = { stallTimeout, retryTimeout };
  await runLoader({ source, patiences, probe: false }, sink, (message) => told.push(message));
  return told;
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
    await load(URL_SOURCE, sink);
    expect(sink.messages[0]).toMatchObject({ type: 'opened', sizes: [10_000], network: true });
    expect(sink.bytes).toEqual([...file]);
    expect(sink.last).toEqual({ type: 'ended', file: 0, received: 10_000 });
  });

  it('takes no length from a body that was compressed on its way', async () => {
    stubFetch(() => bodyOf(file, { 'content-length': '77', 'content-encoding': 'gzip' }));
    const sink = greedy();
    await load(URL_SOURCE, sink);
    expect(sink.messages[0]).toMatchObject({ type: 'opened', sizes: [0] });
    expect(sink.last).toEqual({ type: 'ended', file: 0, received: 10_000 });
  });

  it('brings a Blob and bytes that the page holds', async () => {
    const sink = greedy();
    await load({ kind: 'blobs', blobs: [new Blob([file])] }, sink);
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
      if (message.type === 'opened') {
        self.send(wantAll(null));
        self.send({ type: 'sendMore', length: 2500 });
      }
      if (message.type !== 'bytes') return;
      const { length } = message.bytes;
      open += length;
      most = Math.max(most, open);
      setTimeout(() => {
        open -= length;
        self.send({ type: 'sendMore', length });
      });
    });
    await load(URL_SOURCE, sink);
    expect(sink.bytes).toEqual([...file]);
    expect(most).toBeLessThan(2500 + 1000);
  });

  it('stops when nothing more is wanted', async () => {
    stubFetch(() => bodyOf(file));
    const sink = new Sink((message, self) => {
      if (message.type === 'opened') {
        self.send(wantAll(null));
        self.send({ type: 'sendMore', length: 1 << 20 });
      }
      if (message.type === 'bytes') self.send({ type: 'stop', refused: 'no' });
    });
    expect((await load(URL_SOURCE, sink)).at(-1)).toMatchObject({ kind: 'course' });
    expect(sink.bytes.length).toBe(1000);
    expect(sink.last?.type).toBe('bytes');
  });

  it('ends when all of a small model has come with its header', async () => {
    stubFetch(() => bodyOf(file));
    let came = 0;
    const sink = new Sink((message, self) => {
      if (message.type === 'opened') {
        self.send({ ...wantAll(null, 0, file.length), once: true } as EngineToLoader);
        self.send({ type: 'sendMore', length: 1 << 20 });
      }
      if (message.type !== 'bytes') return;
      came += message.bytes.length;
      const rest = { ...wantAll(null, came, file.length), once: true } as EngineToLoader;
      self.send(came < file.length ? rest : { type: 'enough' });
    });
    expect((await load(URL_SOURCE, sink)).at(-1)).toMatchObject({ kind: 'course' });
    expect(sink.bytes).toEqual([...file]);
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
        self.send({ type: 'want', memory, wants, bases: [0], once: true, rows: false, layout: 0 });
      }
    });
    await load(URL_SOURCE, sink);
    expect(seen).toEqual([...file]);
  });

  it('fills places one after another without asking, and tells of what is wanted, once a piece', async () => {
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
          type: 'want',
          memory,
          wants: Float64Array.from(wants.flat()),
          bases: [0],
          once: false,
          rows: false,
          layout: 0,
        });
    });
    await load(URL_SOURCE, sink);
    for (const [at = 0, ptr, size = 0] of wants) {
      const part = file.subarray(at, at + size);
      expect([...new Uint8Array(memory.buffer, ptr, part.length)]).toEqual([...part]);
    }
    const told = sink.messages.flatMap((message) =>
      message.type === 'filled' ? [[message.offset, message.length]] : [],
    );
    const parts = Array.from({ length: 10 }, (_, i) => 1000 * i).flatMap((piece) =>
      wants.map(([at = 0, , size = 0]) => {
        const from = Math.max(at, piece);
        return [from, Math.min(at + size, piece + 1000) - from];
      }),
    );
    expect(told).toEqual(parts.filter(([, length = 0]) => length > 0));
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
        self.send({ ...wantAll(memory), wants: Float64Array.of(0, 8, 20_000) } as EngineToLoader);
    });
    await load(URL_SOURCE, sink);
    expect([...new Uint8Array(memory.buffer, 8, file.length)]).toEqual([...file]);
    expect(sink.last).toEqual({ type: 'ended', file: 0, received: file.length });
    expect([...room]).toEqual([1 << 20]);
  });

  it('leaves out what no place is for, and ends when the engine has all', async () => {
    let asked = 0;
    const pieces = piecesOf(file, 1000);
    const pull = (controller: ReadableStreamDefaultController): void =>
      asked < pieces.length ? controller.enqueue(pieces[asked++]) : controller.close();
    stubFetch(() => new Response(new ReadableStream({ pull }, { highWaterMark: 0 })));
    const memory = shared();
    const sink = new Sink((message, self) => {
      if (message.type === 'opened') self.send(wantAll(memory, 0, 2500));
      if (message.type === 'filled' && message.offset === 2000) self.send({ type: 'enough' });
    });
    await load(URL_SOURCE, sink);
    expect([...new Uint8Array(memory.buffer, 0, 2501)]).toEqual([...file.subarray(0, 2500), 0]);
    expect(asked).toBe(3);
  });
});

describe('what a server can do', () => {
  it.each([404, 500, 403])('answers %i', async (status) => {
    stubFetch(() => new Response('no', { status }));
    const sink = greedy();
    await load(URL_SOURCE, sink);
    expect(sink.error).toMatchObject({ code: 'download_failed', status });
    expect(sink.error?.message).toContain(`models.example answered ${status}`);
  });

  it('sends a web page', async () => {
    const html = new TextEncoder().encode('<!doctype html><title>Sign in</title>');
    stubFetch(
      () => new Response(html, { headers: { 'content-type': 'text/html; charset=utf-8' } }),
    );
    const sink = greedy();
    await load(URL_SOURCE, sink);
    expect(sink.error?.code).toBe('bad_file');
    expect(sink.error?.message).toMatch(/a web page \(text\/html\), not a GGUF model/);
  });

  it('calls a model text/html: the bytes count', async () => {
    const file = makeFile(5000);
    stubFetch(() => bodyOf(file, { 'content-type': 'text/html' }));
    const sink = greedy();
    await load(URL_SOURCE, sink);
    expect(sink.bytes).toEqual([...file]);
  });

  it('cuts the body short', async () => {
    stubFetch(() => bodyOf(makeFile(3000), { 'content-length': '10000' }));
    const sink = greedy();
    await load(URL_SOURCE, sink);
    expect(sink.error).toMatchObject({ code: 'download_failed' });
    expect(sink.error?.message).toContain('3000 of 10000 bytes');
  });

  it('breaks the connection', async () => {
    const pieces = piecesOf(makeFile(3000), 1000);
    stubFetch(() => new Response(streamOf(pieces, new TypeError('network error'))));
    const sink = greedy();
    await load(URL_SOURCE, sink);
    expect(sink.error).toMatchObject({ code: 'download_failed' });
    expect(sink.error?.message).toContain('broke after 3000 bytes');
  });

  it('cannot be reached, or does not allow it', async () => {
    stubFetch(() => Promise.reject(new TypeError('Failed to fetch')));
    const sink = greedy();
    await load(URL_SOURCE, sink);
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
    await load(remote(url), sink);
    expect(sink.error?.code).toBe('download_failed');
    expect(sink.error?.message).toMatch(message);
  });

  it('cannot be reached from a page with https, being http', async () => {
    vi.stubGlobal('location', new URL('https://here.example/page'));
    stubFetch(() => Promise.reject(new TypeError('Failed to fetch')));
    const error = async (url: string): Promise<string | undefined> => {
      const sink = greedy();
      await load(remote(url), sink);
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
    await load(URL_SOURCE, sink);
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
    const run = load(URL_SOURCE, sink, { stallTimeout: 30_000 });
    await vi.advanceTimersByTimeAsync(29_000);
    expect(sink.error).toBeUndefined();
    await vi.advanceTimersByTimeAsync(2000);
    await run;
    expect(sink.error?.code).toBe('download_failed');
    expect(sink.error?.message).toContain('no byte came for 30 s');

    stubFetch(() => new Promise<Response>(() => {}));
    const silent = greedy();
    const second = load(URL_SOURCE, silent, { stallTimeout: 5000 });
    await vi.advanceTimersByTimeAsync(5001);
    await second;
    expect(silent.error?.message).toContain('no byte came for 5 s');
  });

  it('is not blamed for an engine that takes its time', async () => {
    vi.useFakeTimers();
    stubFetch(() => bodyOf(makeFile(2000)));
    const sink = new Sink();
    const run = load(URL_SOURCE, sink);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(sink.error).toBeUndefined();
    sink.send(wantAll(null));
    sink.send({ type: 'sendMore', length: 1 << 20 });
    await vi.advanceTimersByTimeAsync(10);
    await run;
    expect(sink.last).toEqual({ type: 'ended', file: 0, received: 2000 });
  });
});
