// A file that is here as a whole, so that any range of it can be read at any time: what such files have in common.
import type { Range } from '../shared/outstanding.js';
import { emptyFile } from './net/why.js';
import type { SourceFile } from './source-file.js';

export abstract class WholeFile implements SourceFile {
  readonly exact = true;
  readonly network = false;
  readonly access = 'rereadable';
  readonly unproven = false;
  readonly copy = null;

  abstract readonly name: string;
  abstract readonly total: number;

  get received(): number {
    return this.total;
  }

  /** Fails with bad_file if it has no bytes. */
  async open(): Promise<void> {
    if (this.total === 0) throw emptyFile(this.name);
  }
  pause(): void {}
  async rest(): Promise<void> {}
  async hurry(): Promise<void> {}
  async mend(): Promise<void> {}
  async openCopy(): Promise<void> {}
  readCopy(): boolean {
    return false;
  }
  async close(): Promise<void> {}

  abstract head(at: number, most: number): Promise<Uint8Array<ArrayBuffer> | null>;
  abstract readable(from: number, to: number, most: number): Range | null;
  abstract read(from: number, views: Uint8Array[]): Promise<boolean>;
}
