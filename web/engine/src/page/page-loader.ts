// The files that are read on the page: bytes in its memory, and Responses, which can't be posted to a worker.
import { SluiceError, namedText } from '../shared/errors.js';
import { runFiles } from '../loader/loader.js';
import { lengthOf } from '../loader/net/why.js';
import { Outlet, type FeedPort } from '../loader/outlet.js';
import type { Range } from '../shared/outstanding.js';
import { WholeFile } from '../loader/whole-file.js';
import { StreamFile } from '../loader/stream-file.js';

/** The caller's bytes, as they were at the call. */
export interface Bytes {
  /** Their name in error messages. */
  name: 'the ArrayBuffer' | 'the Uint8Array';
  buffer: ArrayBuffer;
  offset: number;
  length: number;
}

/** Delivers copies of the bytes. */
class BytesFile extends WholeFile {
  constructor(readonly bytes: Bytes) {
    super();
  }

  get total(): number {
    return this.bytes.length;
  }
  get name(): string {
    return this.bytes.name;
  }

  /** The bytes themselves, not copied. */
  #at(from: number, to: number): Uint8Array<ArrayBuffer> {
    const { name, buffer, offset, length } = this.bytes;
    if (buffer.byteLength < offset + length) {
      const left = Math.max(0, buffer.byteLength - offset);
      throw new SluiceError(
        'invalid_argument',
        `${name} had ${length} bytes and has ${left} now: it was transferred or made smaller while the model was ` +
          'in use; leave it as it is until the engine needs it no more, or give a copy',
      );
    }
    return new Uint8Array(buffer, offset + from, to - from);
  }

  async head(at: number, most: number): Promise<Uint8Array<ArrayBuffer> | null> {
    const end = Math.min(at + most, this.total);
    return at < end ? this.#at(at, end).slice() : null;
  }

  readable(from: number, to: number, most: number): Range | null {
    const end = Math.min(to, this.total, from + most);
    return from < end ? { from, to: end } : null;
  }

  async read(from: number, views: Uint8Array[]): Promise<boolean> {
    for (const view of views) {
      view.set(this.#at(from, from + view.length));
      from += view.length;
    }
    return true;
  }
}

/** The loader for bytes. Every outcome is reported through the port. */
export async function runBytesLoader(bytes: Bytes, port: FeedPort): Promise<void> {
  const outlet = new Outlet(port);
  await runFiles([new BytesFile(bytes)], outlet, 'out_of_memory');
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

function responseFile(response: Response, stallTimeout: number, outlet: Outlet): StreamFile {
  const body = response.body as ReadableStream<Uint8Array<ArrayBuffer>> | null;
  return new StreamFile(
    {
      body: body !== null && response.type === 'default' ? copied(body) : body,
      // A script may have made this header: the length is a hint, and the file's own header decides.
      total: lengthOf(response),
      exact: false,
      stallTimeout,
      contentType: response.headers.get('content-type') ?? '',
      name: 'the Response',
      broken: (got, cause) =>
        new SluiceError(
          'download_failed',
          `the Response's body broke off after ${got} (${namedText(cause)}); give a fresh one`,
          { facts: { reason: 'broken' }, cause },
        ),
    },
    outlet,
  );
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
  await runFiles([responseFile(response, stallTimeout, outlet)], outlet, 'download_failed');
}
