// A file that the user chose, or a Blob: any range can be read at any time.
import { SluiceError } from '../shared/errors.js';
import { PIECE_BYTES } from './net/remote.js';
import { refuseWebPage } from './net/why.js';
import type { Range } from '../shared/outstanding.js';
import { WholeFile } from './whole-file.js';

/** Shorter ranges are read with slice(), longer ones from a stream, which reads ahead while bytes are copied. */
const LEAST_STREAMED = 256 << 10;
/** The range of one stream: the bytes that follow are likely to be read next. */
const STREAM_BYTES = 64 << 20;
const BUFFER_BYTES = 1 << 20;

/** Reads a range of a blob in sequence, always into the same buffer. */
class BlobStream {
  readonly #reader: ReadableStreamBYOBReader;
  #buffer = new ArrayBuffer(BUFFER_BYTES);

  /** Nothing was read yet. */
  fresh = true;

  /** `at`: the offset of the next byte. Throws a TypeError where blobs have no byte streams. */
  constructor(
    blob: Blob,
    public at: number,
  ) {
    this.#reader = blob
      .slice(at, at + STREAM_BYTES)
      .stream()
      .getReader({ mode: 'byob' });
  }

  /** The next bytes, at most `most`, good until the next call; none at the end. */
  async next(most: number): Promise<Uint8Array> {
    const into = new Uint8Array(this.#buffer, 0, Math.min(most, BUFFER_BYTES));
    const { value } = await this.#reader.read(into);
    if (value === undefined) return new Uint8Array(0);
    this.#buffer = value.buffer;
    this.at += value.length;
    if (value.length > 0) this.fresh = false;
    return value;
  }

  cancel(): void {
    this.#reader.cancel().catch(() => {});
  }
}

export class BlobFile extends WholeFile {
  readonly name = 'the file';
  /** Bytes from offset #at on that head() has read and not yet returned. */
  #left = new Uint8Array(0);
  #at = 0;
  /** The open stream; undefined if blobs have no byte streams, or after close(). */
  #stream: BlobStream | null | undefined = null;
  /** The last read from the stream: one runs at a time. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(readonly blob: Blob) {
    super();
  }

  get total(): number {
    return this.blob.size;
  }

  override async close(): Promise<void> {
    this.#stream?.cancel();
    this.#stream = undefined;
  }

  async head(at: number, most: number): Promise<Uint8Array<ArrayBuffer> | null> {
    if (at !== this.#at || this.#left.length === 0) {
      this.#left = await this.#bytes(at, Math.min(at + PIECE_BYTES, this.total));
      if (at === 0) refuseWebPage(this.#left, '');
    }
    const bytes = this.#left.subarray(0, most);
    this.#left = this.#left.subarray(bytes.length);
    this.#at = at + bytes.length;
    return bytes.length === 0 ? null : bytes;
  }

  readable(from: number, to: number, most: number): Range | null {
    const end = Math.min(to, this.total, from + most);
    return from < end ? { from, to: end } : null;
  }

  async read(from: number, views: Uint8Array[]): Promise<boolean> {
    const length = views.reduce((sum, view) => sum + view.length, 0);
    if (length >= LEAST_STREAMED) {
      const turn = this.#turn.then(() => this.#readStream(from, views));
      this.#turn = turn.catch(() => {});
      if (await turn) return true;
    }
    const bytes = await this.#bytes(from, from + length);
    let at = 0;
    for (const view of views) {
      view.set(bytes.subarray(at, at + view.length));
      at += view.length;
    }
    return true;
  }

  /** False: there are no streams here, a read failed, or the file ended before the views were full. */
  async #readStream(from: number, views: Uint8Array[]): Promise<boolean> {
    let at = from;
    try {
      for (const view of views) {
        for (let done = 0; done < view.length;) {
          const stream = this.#streamAt(at);
          if (stream === undefined) return false;
          const bytes = await stream.next(view.length - done);
          if (bytes.length === 0) {
            this.#stream = null;
            // The stream's range is read. If it gave no bytes at all, the file has changed: #bytes() throws that error.
            if (stream.fresh) return false;
            continue;
          }
          view.set(bytes, done);
          done += bytes.length;
          at += bytes.length;
        }
      }
      return true;
    } catch {
      this.#stream = null;
      return false;
    }
  }

  /** The stream whose next byte is at `at`. */
  #streamAt(at: number): BlobStream | undefined {
    if (this.#stream === undefined || this.#stream?.at === at) return this.#stream;
    this.#stream?.cancel();
    try {
      this.#stream = new BlobStream(this.blob, at);
    } catch {
      this.#stream = undefined;
    }
    return this.#stream;
  }

  /** Throws bad_file if the file was changed, moved or deleted since the user chose it. */
  async #bytes(from: number, to: number): Promise<Uint8Array<ArrayBuffer>> {
    let cause: unknown;
    try {
      const bytes = new Uint8Array(await this.blob.slice(from, to).arrayBuffer());
      if (bytes.length === to - from) return bytes;
      cause = `${bytes.length} bytes came where ${to - from} were asked for`;
    } catch (error) {
      cause = error;
    }
    throw new SluiceError(
      'bad_file',
      `the file could be read no further than ${from} of ${this.total} bytes (${String(cause)}); it may have changed on ` +
        'the disk: choose it again',
      { cause },
    );
  }
}
