// The files that are read on the page: bytes in its memory, and Responses, which can't be posted to a worker.
import { SluiceError } from './errors.js';
import { runFiles } from './loader.js';
import { PIECE_BYTES } from './net/remote.js';
import { emptyFile, lengthOf } from './net/why.js';
import { Outlet, type FeedPort } from './outlet.js';
import type { SourceFile } from './source-file.js';
import { StreamFile } from './stream-file.js';

/** The caller's bytes, as they were at the call. */
export interface Bytes {
  /** What messages call them. */
  name: 'the ArrayBuffer' | 'the Uint8Array';
  buffer: ArrayBuffer;
  offset: number;
  length: number;
}

/** Sends copies of pieces as the engine asks for them. */
class BytesFile implements SourceFile {
  readonly exact = true;
  readonly network = false;
  readonly unproven = false;
  #at = 0;

  constructor(
    readonly bytes: Bytes,
    readonly outlet: Outlet,
  ) {}

  get total(): number {
    return this.bytes.length;
  }
  get name(): string {
    return this.bytes.name;
  }
  get received(): number {
    return this.#at;
  }

  async open(): Promise<void> {
    if (this.bytes.length === 0) throw emptyFile(this.name);
  }
  pause(): void {}
  async close(): Promise<void> {}

  #next(most: number): Uint8Array<ArrayBuffer> | null {
    const { name, buffer, offset, length } = this.bytes;
    if (this.#at === length) return null;
    if (buffer.byteLength < offset + length) {
      const left = Math.max(0, buffer.byteLength - offset);
      throw new SluiceError(
        'invalid_argument',
        `${name} had ${length} bytes and has ${left} now: it was transferred or made smaller while the model was ` +
          'read; leave it as it is until the engine is ready, or give a copy',
      );
    }
    const begin = offset + this.#at;
    this.#at = Math.min(this.#at + most, length);
    return new Uint8Array(buffer.slice(begin, offset + this.#at));
  }

  async head(_: number, most: number): Promise<Uint8Array<ArrayBuffer> | null> {
    return this.#next(most);
  }

  async rest(): Promise<void> {
    for (;;) {
      await this.outlet.ready();
      if (this.outlet.stopped.signal.aborted || this.outlet.sated) return;
      const at = this.#at;
      const bytes = this.#next(PIECE_BYTES);
      if (bytes === null) return;
      await this.outlet.send(at, bytes);
    }
  }
}

/** The loader for bytes. Every outcome is reported through the port. */
export async function runBytesLoader(bytes: Bytes, port: FeedPort): Promise<void> {
  const outlet = new Outlet(port);
  await runFiles([new BytesFile(bytes, outlet)], outlet, 'out_of_memory');
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
          `the Response's body broke off after ${got} (${String(cause)}); give a fresh one`,
          { cause },
        ),
    },
    0,
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
