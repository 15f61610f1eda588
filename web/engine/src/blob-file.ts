// A file of the user, or a Blob: read in place, wherever bytes are wanted.
import { SluiceError } from './errors.js';
import { PIECE_BYTES } from './net/remote.js';
import { emptyFile, refuseWebPage } from './net/why.js';
import type { Range } from './outstanding.js';
import type { SourceFile } from './source-file.js';

export class BlobFile implements SourceFile {
  readonly exact = true;
  readonly network = false;
  readonly arrival = 'again';
  readonly name = 'the file';
  readonly unproven = false;
  /** Bytes from #at on that were read and not yet given out. */
  #left = new Uint8Array(0);
  #at = 0;

  constructor(readonly blob: Blob) {}

  get total(): number {
    return this.blob.size;
  }
  get received(): number {
    return this.blob.size;
  }

  async open(): Promise<void> {
    if (this.total === 0) throw emptyFile(this.name);
  }
  pause(): void {}
  async rest(): Promise<void> {}
  async hurry(): Promise<void> {}
  async mend(): Promise<void> {}
  async close(): Promise<void> {}

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

  readable(from: number, to: number): Range | null {
    const end = Math.min(to, this.total);
    return from < end ? { from, to: end } : null;
  }

  async read(from: number, views: Uint8Array[]): Promise<boolean> {
    const length = views.reduce((sum, view) => sum + view.length, 0);
    const bytes = await this.#bytes(from, from + length);
    let at = 0;
    for (const view of views) {
      view.set(bytes.subarray(at, at + view.length));
      at += view.length;
    }
    return true;
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
