// Runs the caller's own fetch for a loader worker (loader/net/page-fetcher.ts), and sends it the bodies piece by piece.
import type { FetchCalls, ToWorker } from '../shared/calls.js';
import { SluiceError, namedText } from '../shared/errors.js';
import { LATER, Replies } from '../shared/replies.js';

/** A function like fetch. */
export type CustomFetch = (url: string, init: RequestInit) => Promise<Response>;

/** A request that is under way. */
interface Open {
  controller: AbortController;
  reader: ReadableStreamDefaultReader<Uint8Array> | null;
}

/**
 * Serves the caller's fetch at the page's end of the port. Returns a function that stops it: it closes the port, and aborts the
 * requests in flight.
 */
export function serveFetch(port: MessagePort, custom: CustomFetch): () => void {
  const open = new Map<number, Open>();

  const drop = (request: number): undefined => {
    const one = open.get(request);
    open.delete(request);
    one?.controller.abort();
    void one?.reader?.cancel().catch(() => {});
    return undefined;
  };
  /** Does a part of a request. An error ends the request, and its text is told. */
  const attempt = async <T>(request: number, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      drop(request);
      throw new SluiceError('download_failed', namedText(error));
    }
  };

  const begin = async (
    { request, url, method, headers, cache }: FetchCalls['fetch']['args'],
    one: Open,
  ): Promise<FetchCalls['fetch']['result']> => {
    const { signal } = one.controller;
    const response: unknown = await custom(url, { method, headers, signal, cache });
    if (!(response instanceof Response))
      throw new TypeError('the fetch that was given returned no Response');
    if (signal.aborted) {
      // It was dropped meanwhile, and the caller's fetch ignored the signal.
      void response.body?.cancel().catch(() => {});
      throw new TypeError('the request was dropped');
    }
    if (response.body === null) open.delete(request);
    else one.reader = response.body.getReader();
    return {
      kind: response.type,
      status: response.status,
      statusText: response.statusText,
      redirected: response.redirected,
      url: response.url === '' ? url : response.url,
      headers: [...response.headers.entries()],
      hasBody: response.body !== null,
    };
  };

  /** The next bytes of a body, in an array of their own: it is transferred, and the body's may belong to the caller. */
  const next = async (request: number): Promise<Uint8Array<ArrayBuffer> | null> => {
    const piece = await open.get(request)?.reader?.read();
    if (piece === undefined || piece.done) {
      open.delete(request);
      return null;
    }
    if (!((piece.value as unknown) instanceof Uint8Array))
      throw new TypeError('the body of the Response brings something else than bytes');
    return piece.value.slice();
  };

  const replies = new Replies<FetchCalls>(
    {
      fetch(args, reply) {
        const one: Open = { controller: new AbortController(), reader: null };
        open.set(args.request, one);
        reply.oncancel = () => drop(args.request);
        return attempt(args.request, () => begin(args, one));
      },
      piece({ request }, reply) {
        attempt(request, () => next(request)).then(
          (bytes) => reply.end(bytes, undefined, bytes === null ? [] : [bytes.buffer]),
          (error: unknown) => reply.fail(error),
        );
        return LATER;
      },
      drop: ({ request }) => drop(request),
    },
    (message, transfer) => port.postMessage(message, transfer),
  );
  port.onmessage = ({ data }: MessageEvent<ToWorker<FetchCalls>>) => replies.handle(data);
  return () => {
    for (const request of [...open.keys()]) drop(request);
    port.close();
  };
}
