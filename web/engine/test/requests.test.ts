// How many requests a large model takes: a hub allows 3,000 in 5 minutes.
import { afterEach, expect, it, vi } from 'vitest';
import { runLoader } from '../src/loader/loader.js';
import type { FeedPort } from '../src/loader/outlet.js';
import type { EngineToLoader, LoaderToEngine, RemoteSource } from '../src/shared/protocol.js';

const TOTAL = 4_700_000_000;
const HEADER = 6_000_000;
const PIECE = 8 << 20;

/** An engine that counts what comes, and keeps nothing. */
class Counter implements FeedPort {
  onmessage: ((event: MessageEvent<EngineToLoader>) => void) | null = null;
  taken = 0;
  failed: unknown;

  send(data: EngineToLoader): void {
    this.onmessage?.({ data } as MessageEvent<EngineToLoader>);
  }

  #want(): void {
    const once = this.taken < HEADER;
    const length = once ? Math.min(1 << 20, HEADER - this.taken) : TOTAL - this.taken;
    const wants = Float64Array.of(this.taken, 0, length);
    this.send({ type: 'want', memory: null, wants, bases: [0], once, rows: false, layout: 0 });
  }

  postMessage(message: LoaderToEngine): void {
    if (message.type === 'failed') this.failed = message.error;
    if (message.type === 'opened') {
      this.#want();
      this.send({ type: 'sendMore', length: 64 << 20 });
    }
    if (message.type !== 'bytes') return;
    const { length } = message.bytes;
    const header = this.taken < HEADER;
    this.taken += length;
    queueMicrotask(() => this.send({ type: 'sendMore', length }));
    if (header) this.#want();
    if (this.taken >= TOTAL) this.send({ type: 'enough' });
  }
}

afterEach(() => vi.unstubAllGlobals());

it('a model of 4.7 GB behind a hub takes less than a tenth of what the hub allows', async () => {
  const asked = new Map<string, number>();
  let sent = 0;
  vi.stubGlobal('fetch', async (url: string, { headers }: { headers: [string, string][] }) => {
    const { host } = new URL(url);
    asked.set(host, (asked.get(host) ?? 0) + 1);
    const [, from = '', to = ''] =
      /bytes=(\d+)-(\d*)/.exec(new Headers(headers).get('range') ?? '') ?? [];
    const end = Math.min(Number(to) + 1, TOTAL);
    let at = Number(from);
    const body = new ReadableStream<Uint8Array>(
      {
        pull(out) {
          if (at >= end) return out.close();
          const length = Math.min(PIECE, end - at);
          at += length;
          sent += length;
          return out.enqueue(new Uint8Array(length));
        },
      },
      { highWaterMark: 0 },
    );
    const response = new Response(body, {
      status: 206,
      headers: {
        'content-range': `bytes ${from}-${end - 1}/${TOTAL}`,
        'content-length': String(end - Number(from)),
        etag: '"one"',
      },
    });
    // Where the hub's redirect leads.
    Object.defineProperties(response, {
      url: { value: 'https://cdn.example/signed?until=1' },
      redirected: { value: host === 'hub.example' },
    });
    return response;
  });
  const counter = new Counter();
  const source: RemoteSource = {
    kind: 'url',
    headers: [],
    sha256: [],
    fetch: null,
    cache: 'none',
    asked: true,
    refresh: false,
    addresses: ['https://hub.example/o/r/resolve/main/m.gguf'],
    // Another one than the file's, so that no list is asked for.
    hub: 'https://other.example',
  };
  const patiences = { stallTimeout: 30_000, retryTimeout: 0 };
  await runLoader({ source, patiences, probe: false }, counter, () => {});
  expect(counter.failed).toBeUndefined();
  expect(counter.taken).toBe(TOTAL);
  expect(sent).toBe(TOTAL);
  // The hub itself is asked once; the signed address is used from then on.
  expect(asked.get('hub.example')).toBe(1);
  const all = [...asked.values()].reduce((sum, count) => sum + count, 0);
  expect(all).toBeLessThan(300);
  expect(all).toBeLessThan(100);
});
