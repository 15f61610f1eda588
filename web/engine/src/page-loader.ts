// The loaders that run on the page: for bytes in its memory, and for Responses, which can't be posted to a worker.
import { SluiceError } from './errors.js';
import {
  Outlet,
  PIECE_BYTES,
  emptyFile,
  feed,
  lengthOf,
  tellOutcome,
  type FeedPort,
  type Opened,
} from './loader.js';

/** The caller's bytes, as they were at the call. */
export interface Bytes {
  /** What messages call them. */
  name: 'the ArrayBuffer' | 'the Uint8Array';
  buffer: ArrayBuffer;
  offset: number;
  length: number;
}

async function feedBytes(bytes: Bytes, outlet: Outlet): Promise<number> {
  const { name, buffer, offset, length } = bytes;
  if (length === 0) throw emptyFile(name);
  outlet.port.postMessage({ type: 'opened', total: length, exact: true, network: false });
  for (let at = 0; at < length; at += PIECE_BYTES) {
    await outlet.ready();
    if (outlet.stopped) break;
    if (buffer.byteLength < offset + length) {
      const left = Math.max(0, buffer.byteLength - offset);
      throw new SluiceError(
        'invalid_argument',
        `${name} had ${length} bytes and has ${left} now: it was transferred or made smaller while the model was ` +
          'read; leave it as it is until the engine is ready, or give a copy',
      );
    }
    const end = offset + Math.min(at + PIECE_BYTES, length);
    await outlet.send(new Uint8Array(buffer.slice(offset + at, end)));
  }
  return length;
}

/** The loader for bytes: sends copies of pieces as the engine asks for them. Every outcome is reported through the port. */
export async function runBytesLoader(bytes: Bytes, port: FeedPort): Promise<void> {
  const outlet = new Outlet(port);
  await tellOutcome(outlet, feedBytes(bytes, outlet), 'out_of_memory');
}

/** Checks and copies a body that a script has made: it may hold anything, and its arrays belong to the script. */
function copied(body: ReadableStream<unknown>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return body.pipeThrough(
    new TransformStream<unknown, Uint8Array<ArrayBuffer>>({
      transform(piece, out) {
        if (!(piece instanceof Uint8Array)) {
          throw new SluiceError(
            'invalid_argument',
            `the Response's body brings a ${typeof piece} where bytes were expected; let its stream bring Uint8Arrays`,
          );
        }
        out.enqueue(piece.slice());
      },
    }),
  );
}

function openResponse(response: Response): Opened {
  const body = response.body as Opened['body'];
  return {
    body: body !== null && response.type === 'default' ? copied(body) : body,
    // A script may have made this header: the length is a hint, and the file's own header decides.
    total: lengthOf(response),
    exact: false,
    network: true,
    least: 0,
    contentType: response.headers.get('content-type') ?? '',
    name: 'the Response',
    broken: (got, cause) =>
      new SluiceError(
        'download_failed',
        `the Response's body broke off after ${got} (${String(cause)}); give a fresh one`,
        { cause },
      ),
  };
}

/** The loader for a Response. It stops when `ended` fires. Every outcome is reported through the port. */
export async function runResponseLoader(
  response: Response,
  stallTimeout: number,
  port: FeedPort,
  ended: AbortSignal,
): Promise<void> {
  const outlet = new Outlet(port);
  ended.addEventListener('abort', () => outlet.stop());
  await tellOutcome(outlet, feed(openResponse(response), stallTimeout, outlet), 'download_failed');
}
