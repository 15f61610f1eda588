// The caller's own fetch: it runs on the page, and a loader worker reads what it brings.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { pageFetcher } from '../src/loader/net/page-fetcher.js';
import { serveFetch, type CustomFetch } from '../src/page/serve-fetch.js';
import type { Fetcher } from '../src/loader/net/remote.js';
import { piecesOf, streamOf } from './fake-workers.js';
import { bytesOf, same } from './store-setup.js';

const URL_ = 'https://models.example/m.gguf';
const WHOLE = bytesOf(100_000);

let ports: MessageChannel;
beforeEach(() => {
  ports = new MessageChannel();
});
afterEach(() => {
  ports.port1.close();
  ports.port2.close();
});

function serve(custom: CustomFetch): Fetcher {
  serveFetch(ports.port1, custom);
  return pageFetcher(ports.port2);
}

function asked(end = new AbortController()): Parameters<Fetcher>[1] {
  return { headers: [['range', 'bytes=0-9']], signal: end.signal, cache: 'no-store' };
}

async function bodyOf(body: ReadableStream | null): Promise<Uint8Array> {
  return new Uint8Array(await new Response(body).arrayBuffer());
}

describe('a custom fetch', () => {
  it('gets the request, and its answer comes whole', async () => {
    const custom = vi.fn(async () => {
      const pieces = piecesOf(WHOLE, 7777);
      return new Response(streamOf(pieces), { status: 206, headers: { etag: '"x"' } });
    });
    const answer = await serve(custom)(URL_, asked());
    expect(custom).toHaveBeenCalledWith(
      URL_,
      expect.objectContaining({
        method: 'GET',
        headers: [['range', 'bytes=0-9']],
        cache: 'no-store',
        signal: expect.any(AbortSignal) as AbortSignal,
      }),
    );
    expect(answer).toMatchObject({ ok: true, status: 206, url: URL_, redirected: false });
    expect(answer.headers.get('etag')).toBe('"x"');
    expect(same(await bodyOf(answer.body), WHOLE)).toBe(true);
  });

  it('answers several at once, and HEAD', async () => {
    const fetcher = serve(async (url, { method }) =>
      method === 'HEAD' ? new Response(null) : new Response(url),
    );
    const [one, two, head] = await Promise.all([
      fetcher('a:1', asked()),
      fetcher('a:2', asked()),
      fetcher('a:3', { ...asked(), method: 'HEAD' }),
    ]);
    expect(new TextDecoder().decode(await bodyOf(two.body))).toBe('a:2');
    expect(new TextDecoder().decode(await bodyOf(one.body))).toBe('a:1');
    expect(head.body).toBeNull();
  });

  it('keeps its own arrays', async () => {
    const pieces = piecesOf(WHOLE, 1000);
    const fetcher = serve(async () => new Response(streamOf(pieces)));
    await bodyOf((await fetcher(URL_, asked())).body);
    expect(pieces.every(({ byteLength }) => byteLength > 0)).toBe(true);
  });

  it('brings no more than is asked for', async () => {
    let pulled = 0;
    const body = new ReadableStream(
      { pull: (controller) => (++pulled, controller.enqueue(new Uint8Array(10))) },
      { highWaterMark: 0 },
    );
    const answer = await serve(async () => new Response(body))(URL_, asked());
    const reader = (answer.body as ReadableStream).getReader();
    await reader.read();
    await reader.read();
    expect(pulled).toBe(2);
    await reader.cancel();
  });

  it.each<[string, () => Promise<Response>, RegExp]>([
    ['rejects', () => Promise.reject(new Error('no way')), /no way/],
    [
      'throws',
      () => {
        throw new Error('thrown');
      },
      /thrown/,
    ],
    [
      'rejects with what can not be read',
      () => Promise.reject(Object.create(null)),
      /can't be read/,
    ],
    ['returns nothing', async () => undefined as never, /returned no Response/],
    ['returns its text', async () => 'GGUF' as never, /returned no Response/],
    [
      'gives a body that is read',
      async () => {
        const r = new Response('x');
        await r.text();
        return r;
      },
      /Error/,
    ],
  ])('that %s fails as a fetch does', async (_, custom, message) => {
    await expect(serve(custom)(URL_, asked())).rejects.toThrow(message);
  });

  it.each<[string, ReadableStream, RegExp]>([
    ['breaks', streamOf([WHOLE.slice(0, 10)], new Error('cut')), /cut/],
    [
      'brings text',
      new ReadableStream({ pull: (c) => c.enqueue('GGUF') }),
      /something else than bytes/,
    ],
  ])('whose body %s fails there', async (_, body, message) => {
    const answer = await serve(async () => new Response(body))(URL_, asked());
    await expect(bodyOf(answer.body)).rejects.toThrow(message);
  });
});

describe('an end', () => {
  it('before the answer rejects, tells the fetch, and leaves no body open', async () => {
    const cancelled = vi.fn();
    let answer!: (response: Response) => void;
    let heard: AbortSignal | null | undefined;
    const fetcher = serve((_, { signal }) => {
      heard = signal;
      return new Promise((resolve) => (answer = resolve));
    });
    const end = new AbortController();
    const asking = fetcher(URL_, asked(end));
    await vi.waitFor(() => expect(heard).toBeDefined());
    end.abort();
    await expect(asking).rejects.toMatchObject({ name: 'AbortError' });
    await vi.waitFor(() => expect(heard?.aborted).toBe(true));
    answer(new Response(new ReadableStream({ cancel: cancelled })));
    await vi.waitFor(() => expect(cancelled).toHaveBeenCalledOnce());
  });

  it.each(['signal', 'cancel'])('within the body ends it on the page, too (%s)', async (how) => {
    const cancelled = vi.fn();
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(10)),
      cancel: cancelled,
    });
    const end = new AbortController();
    const answer = await serve(async () => new Response(body))(URL_, asked(end));
    const reader = (answer.body as ReadableStream).getReader();
    await reader.read();
    if (how === 'cancel') await reader.cancel();
    else end.abort();
    await vi.waitFor(() => expect(cancelled).toHaveBeenCalledOnce());
    if (how === 'signal') await expect(reader.read()).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('that came before rejects at once', async () => {
    const end = new AbortController();
    end.abort();
    const custom = vi.fn(async () => new Response('x'));
    await expect(serve(custom)(URL_, asked(end))).rejects.toMatchObject({ name: 'AbortError' });
    expect(custom).not.toHaveBeenCalled();
  });
});

describe('what is over', () => {
  const broken = (): ReadableStream =>
    new ReadableStream({ pull: (c) => c.error(new Error('cut')) }, { highWaterMark: 0 });
  it.each<[string, CustomFetch]>([
    ['the fetch failed', () => Promise.reject(new Error('no way'))],
    ['the body broke', async () => new Response(broken())],
    ['there is no body', async () => new Response(null)],
    ['all has come', async () => new Response('GGUF')],
  ])('is forgotten on both sides (%s)', async (_, custom) => {
    let heard: AbortSignal | null | undefined;
    const fetcher = serve((url, init) => {
      if (url !== URL_) return Promise.resolve(new Response(null));
      heard = init.signal;
      return custom(url, init);
    });
    const end = new AbortController();
    const post = vi.spyOn(ports.port2, 'postMessage');
    const failed = await fetcher(URL_, asked(end)).then(
      ({ body }) =>
        bodyOf(body).then(
          () => false,
          () => true,
        ),
      () => true,
    );
    post.mockClear();
    end.abort();
    // Nothing is cancelled: it has ended.
    expect(post).not.toHaveBeenCalled();
    // The page would still abort what it had not forgotten.
    ports.port2.postMessage({ type: 'call', id: 99, name: 'drop', args: { request: 0 } });
    await fetcher('a:later', asked());
    expect(heard?.aborted).toBe(failed);
  });

  it('with the whole port ends what is under way on the page', async () => {
    const cancelled = vi.fn();
    const body = new ReadableStream(
      { pull: (c) => c.enqueue(new Uint8Array(10)), cancel: cancelled },
      { highWaterMark: 0 },
    );
    const heard: (AbortSignal | null | undefined)[] = [];
    const stop = serveFetch(ports.port1, (url, { signal }) => {
      heard.push(signal);
      return url === 'a:1' ? Promise.resolve(new Response(body)) : new Promise(() => {});
    });
    const fetcher = pageFetcher(ports.port2);
    const answer = await fetcher('a:1', asked());
    await (answer.body as ReadableStream).getReader().read();
    void fetcher('a:2', asked());
    await vi.waitFor(() => expect(heard).toHaveLength(2));
    stop();
    expect(heard.map((signal) => signal?.aborted)).toEqual([true, true]);
    await vi.waitFor(() => expect(cancelled).toHaveBeenCalledOnce());
  });

  it('leaves no listener on a signal that lives on', async () => {
    const end = new AbortController();
    const added = vi.spyOn(end.signal, 'addEventListener');
    const removed = vi.spyOn(end.signal, 'removeEventListener');
    const fetcher = serve(async () => new Response('GGUF'));
    await bodyOf((await fetcher(URL_, asked(end))).body);
    const listeners = (calls: unknown[][]): unknown[] => calls.map(([, listener]) => listener);
    expect(listeners(removed.mock.calls)).toEqual(
      expect.arrayContaining(listeners(added.mock.calls)),
    );
  });
});
