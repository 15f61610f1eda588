// The caller's own fetch: it runs on the page, and hands the bodies over to the loader worker piece by piece.
import { namedText } from '../errors.js';
import type { RemoteAnswer, Fetcher } from './remote.js';

/** A function like fetch. */
export type CustomFetch = (url: string, init: RequestInit) => Promise<Response>;

/** Loader worker to page. */
type ToPage =
  | {
      type: 'fetch';
      id: number;
      url: string;
      method: 'GET' | 'HEAD';
      headers: [string, string][];
      cache: RequestCache;
    }
  /** Send the next piece of the body. */
  | { type: 'pull'; id: number }
  | { type: 'cancel'; id: number };

/** Page to loader worker. */
type FromPage =
  | ({
      type: 'answer';
      id: number;
      kind: ResponseType;
      headers: [string, string][];
      hasBody: boolean;
    } & Pick<RemoteAnswer, 'status' | 'statusText' | 'url' | 'redirected'>)
  /** Null: the end. */
  | { type: 'piece'; id: number; bytes: Uint8Array<ArrayBuffer> | null }
  | { type: 'error'; id: number; message: string };

/** The fetch of the page at the other end of the port. */
export function pageFetcher(port: MessagePort): Fetcher {
  let nextId = 0;
  /** The handlers of the page's messages, by request. A request that has ended has none. */
  const waiting = new Map<number, (message: FromPage) => void>();
  port.onmessage = ({ data }: MessageEvent<FromPage>) => waiting.get(data.id)?.(data);
  const post = (message: ToPage): void => port.postMessage(message);

  return async (url, { method = 'GET' as const, headers, signal, cache }) => {
    const id = nextId++;
    /** Ends the request: removes its handler and its abort listener. */
    const forget = (): boolean => {
      signal.removeEventListener('abort', cancel);
      return waiting.delete(id);
    };
    const cancel = (): void => {
      if (forget()) post({ type: 'cancel', id });
    };
    const next = (message: ToPage): Promise<FromPage> =>
      new Promise((resolve, reject) => {
        const stop = (): void => reject(signal.reason as Error);
        if (signal.aborted) return stop();
        signal.addEventListener('abort', stop, { once: true });
        waiting.set(id, (answer) => {
          signal.removeEventListener('abort', stop);
          if (answer.type !== 'error') return resolve(answer);
          forget();
          reject(new TypeError(answer.message));
        });
        post(message);
      });
    signal.addEventListener('abort', cancel, { once: true });
    const answer = await next({ type: 'fetch', id, url, method, headers, cache });
    if (answer.type !== 'answer') throw new TypeError('the page gave no answer');
    if (!answer.hasBody) forget();
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        async pull(out) {
          const piece = await next({ type: 'pull', id });
          if (piece.type === 'piece' && piece.bytes !== null) return out.enqueue(piece.bytes);
          forget();
          out.close();
        },
        cancel,
      },
      { highWaterMark: 0 },
    );
    const { status, statusText, redirected } = answer;
    return {
      ...{ status, statusText, redirected, url: answer.url, type: answer.kind },
      ok: status >= 200 && status < 300,
      headers: new Headers(answer.headers),
      body: answer.hasBody ? body : null,
    };
  };
}

/**
 * Serves the caller's fetch at the page's end of the port. Returns a function that stops it: it closes the port, and aborts the
 * requests in flight.
 */
export function serveFetch(port: MessagePort, custom: CustomFetch): () => void {
  interface Open {
    controller: AbortController;
    reader: ReadableStreamDefaultReader<Uint8Array> | null;
  }
  const open = new Map<number, Open>();
  const post = (message: FromPage, transfer: Transferable[] = []): void =>
    port.postMessage(message, transfer);

  const begin = async ({
    id,
    url,
    method,
    headers,
    cache,
  }: ToPage & { type: 'fetch' }): Promise<void> => {
    const one: Open = { controller: new AbortController(), reader: null };
    open.set(id, one);
    const { signal } = one.controller;
    const response: unknown = await custom(url, { method, headers, signal, cache });
    if (!(response instanceof Response))
      throw new TypeError('the fetch that was given returned no Response');
    // It was cancelled meanwhile, and the caller's fetch ignored the signal.
    if (signal.aborted) return void response.body?.cancel().catch(() => {});
    if (response.body === null) open.delete(id);
    else one.reader = response.body.getReader();
    const { status, statusText, redirected, type } = response;
    post({
      ...{ type: 'answer', id, status, statusText, redirected, kind: type },
      url: response.url === '' ? url : response.url,
      headers: [...response.headers.entries()],
      hasBody: response.body !== null,
    });
  };
  const pull = async (id: number): Promise<void> => {
    const piece = await open.get(id)?.reader?.read();
    if (piece === undefined || piece.done) {
      open.delete(id);
      return post({ type: 'piece', id, bytes: null });
    }
    if (!((piece.value as unknown) instanceof Uint8Array))
      throw new TypeError('the body of the Response brings something else than bytes');
    // A copy, because the buffer is transferred and may belong to the caller.
    const bytes = piece.value.slice();
    post({ type: 'piece', id, bytes }, [bytes.buffer]);
  };
  const cancel = (id: number): void => {
    const one = open.get(id);
    open.delete(id);
    one?.controller.abort();
    void one?.reader?.cancel().catch(() => {});
  };
  port.onmessage = ({ data }: MessageEvent<ToPage>) => {
    if (data.type === 'cancel') return cancel(data.id);
    const work = data.type === 'fetch' ? begin(data) : pull(data.id);
    work.catch((error: unknown) => {
      cancel(data.id);
      post({ type: 'error', id: data.id, message: namedText(error) });
    });
  };
  return () => {
    for (const id of [...open.keys()]) cancel(id);
    port.close();
  };
}
