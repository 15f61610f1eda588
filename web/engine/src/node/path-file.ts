// A model's file in Node's file system: any range can be read at any time, straight into the module's memory.
import fs from 'node:fs';
import { WholeFile } from '../loader/whole-file.js';
import { SluiceError, namedText } from '../shared/errors.js';
import type { Range } from '../shared/outstanding.js';
import { noFile } from './abilities.js';

export class PathFile extends WholeFile {
  #descriptor = -1;
  #size = 0;
  /** When it was changed last. */
  #changed = 0;

  /** Opens the file, so that all files of a model are known to be there. */
  constructor(readonly path: string) {
    super();
    try {
      this.#descriptor = fs.openSync(path, 'r');
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') throw noFile(path, cause);
      throw new SluiceError('bad_file', `${path} can't be opened (${namedText(cause)})`, { cause });
    }
    const stats = fs.fstatSync(this.#descriptor);
    this.#size = stats.size;
    this.#changed = stats.mtimeMs;
    if (stats.isFile()) return;
    fs.closeSync(this.#descriptor);
    throw new SluiceError('bad_file', `${path} is no file; give the path of a GGUF model`);
  }

  get name(): string {
    return this.path;
  }
  get total(): number {
    return this.#size;
  }

  override async close(): Promise<void> {
    if (this.#descriptor >= 0) fs.closeSync(this.#descriptor);
    this.#descriptor = -1;
  }

  async head(at: number, most: number): Promise<Uint8Array<ArrayBuffer> | null> {
    const bytes = new Uint8Array(Math.max(0, Math.min(most, this.#size - at)));
    if (bytes.length === 0) return null;
    this.#fill(at, bytes);
    return bytes;
  }

  readable(from: number, to: number, most: number): Range | null {
    const end = Math.min(to, this.#size, from + most);
    return from < end ? { from, to: end } : null;
  }

  async read(from: number, views: Uint8Array[]): Promise<boolean> {
    for (const view of views) {
      this.#fill(from, view);
      from += view.length;
    }
    return true;
  }

  /** Throws bad_file if the file was changed since it was opened. */
  #fill(at: number, view: Uint8Array): void {
    let why: unknown;
    try {
      const { size, mtimeMs } = fs.fstatSync(this.#descriptor);
      if (size === this.#size && mtimeMs === this.#changed) {
        let done = 0;
        for (let n = 1; done < view.length && n > 0; done += n)
          n = fs.readSync(this.#descriptor, view, done, view.length - done, at + done);
        if (done === view.length) return;
        why = `it ends after ${at + done} bytes`;
      } else {
        why = 'it has changed';
      }
    } catch (error) {
      why = namedText(error);
    }
    throw new SluiceError(
      'bad_file',
      `${this.path} could be read no further than ${at} of ${this.#size} bytes (${String(why)}); load it again`,
    );
  }
}
