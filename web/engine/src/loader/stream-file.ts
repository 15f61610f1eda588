// A file that arrives as one stream, from its beginning: a Response of the caller.
import { SluiceError } from '../shared/errors.js';
import { readerOf } from './net/remote.js';
import { within } from './net/time.js';
import { emptyFile, networkError, refuseWebPage } from './net/why.js';
import type { Outlet } from './outlet.js';
import type { SourceFile } from './source-file.js';

/** A body, ready to be read. */
export interface OpenedStream {
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
  /** See SourceFile. */
  total: number;
  exact: boolean;
  /** Milliseconds without a byte that count as a failure. */
  stallTimeout: number;
  /** As the server sent it. */
  contentType: string;
  /** Its name in error messages. */
  name: string;
  /** The error if reading fails after `got`, such as '5 of 9 bytes'. */
  broken(got: string, cause: unknown): SluiceError;
}

export class StreamFile implements SourceFile {
  readonly network = true;
  readonly access = 'sequential';
  readonly unproven = false;
  readonly copy = null;
  #reader: ReturnType<typeof readerOf> | null = null;
  #left: Uint8Array<ArrayBuffer> | null = null;
  /** The offset of the next byte to return or send. */
  #at = 0;
  #received = 0;

  constructor(
    readonly opened: OpenedStream,
    readonly outlet: Outlet,
  ) {
    outlet.stopped.signal.addEventListener('abort', () => this.#cancel());
  }

  get total(): number {
    return this.opened.total;
  }
  get exact(): boolean {
    return this.opened.exact;
  }
  get name(): string {
    return this.opened.name;
  }
  get received(): number {
    return this.#received;
  }

  async open(): Promise<void> {}
  pause(): void {}

  #cancel(): void {
    void (this.#reader ?? this.opened.body)?.cancel().catch(() => {});
  }

  /** Null at the end. The bytes are valid until the next call. */
  async #next(): Promise<Uint8Array<ArrayBuffer> | null> {
    const { body, total, stallTimeout, contentType, broken } = this.opened;
    if (body === null) return null;
    const got = (): string =>
      total > 0 ? `${this.#received} of ${total} bytes` : `${this.#received} bytes`;
    let bytes: Uint8Array<ArrayBuffer> | null;
    try {
      this.#reader ??= readerOf(body, this.outlet.copies);
      const next = this.#reader.read(this.outlet.copies);
      const late = (): SluiceError =>
        networkError(
          `no byte came for ${stallTimeout / 1000} s (${got()} came); try again`,
          undefined,
          { reason: 'stalled' },
        );
      bytes = await within(next, stallTimeout, late, () => this.#cancel());
    } catch (cause) {
      throw cause instanceof SluiceError ? cause : broken(got(), cause);
    }
    if (bytes === null) return null;
    if (this.#received < 4) refuseWebPage(bytes, contentType);
    this.#received += bytes.byteLength;
    return bytes;
  }

  async head(_: number, most: number): Promise<Uint8Array<ArrayBuffer> | null> {
    while (this.#left === null || this.#left.byteLength === 0) {
      this.#left = await this.#next();
      if (this.#left !== null) continue;
      if (this.#received === 0 && !this.outlet.stopped.signal.aborted) throw emptyFile(this.name);
      return null;
    }
    const bytes = this.#left.subarray(0, most);
    this.#left = this.#left.subarray(bytes.byteLength);
    this.#at += bytes.byteLength;
    return bytes;
  }

  async rest(): Promise<void> {
    let bytes = this.#left ?? (await this.#next());
    for (; bytes !== null; bytes = await this.#next()) {
      const { byteLength } = bytes;
      if (byteLength > 0) await this.outlet.send(this.#at, bytes);
      this.#at += byteLength;
      if (this.outlet.over) return;
      await this.outlet.ready();
    }
  }

  readable(): null {
    return null;
  }
  async read(): Promise<boolean> {
    return false;
  }
  async hurry(): Promise<void> {}
  async mend(): Promise<void> {}
  async openCopy(): Promise<void> {}
  readCopy(): boolean {
    return false;
  }

  async close(): Promise<void> {
    this.#cancel();
  }
}
