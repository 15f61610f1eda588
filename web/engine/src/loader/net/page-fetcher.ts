// The caller's own fetch, as the loader worker uses it: the page runs it (page/serve-fetch.ts) and sends the bodies piece by
// piece.
import { Caller } from '../../shared/caller.js';
import type { FetchCalls, FromWorker } from '../../shared/calls.js';
import { textOf } from '../../shared/errors.js';
import type { Fetcher } from './remote.js';

/** The fetch of the page at the other end of the port. */
export function pageFetcher(port: MessagePort): Fetcher {
  const caller = new Caller<FetchCalls>((message, transfer) => port.postMessage(message, transfer));
  port.onmessage = ({ data }: MessageEvent<FromWorker<FetchCalls>>) => caller.receive(data);
  let requests = 0;

  return async (url, { method = 'GET' as const, headers, signal, cache }) => {
    const request = requests++;
    const drop = (): void => {
      forget();
      caller.ask('drop', { request }).catch(() => {});
    };
    /** The request has ended. */
    const forget = (): void => signal.removeEventListener('abort', drop);
    /** As a fetch fails: with the signal's reason, or a TypeError. */
    const failed = (error: unknown): never => {
      forget();
      throw signal.aborted ? signal.reason : new TypeError(textOf(error));
    };
    if (!signal.aborted) signal.addEventListener('abort', drop);
    const { kind, hasBody, ...head } = await caller
      .ask('fetch', { request, url, method, headers, cache }, { signal })
      .catch(failed);
    if (!hasBody) forget();
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        async pull(out) {
          const bytes = await caller.ask('piece', { request }, { signal }).catch(failed);
          if (bytes !== null) return out.enqueue(bytes);
          forget();
          out.close();
        },
        cancel: drop,
      },
      { highWaterMark: 0 },
    );
    return {
      ...head,
      type: kind,
      ok: head.status >= 200 && head.status < 300,
      headers: new Headers(head.headers),
      body: hasBody ? body : null,
    };
  };
}
