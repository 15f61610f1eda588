// One file of a model, as a loader reads it. Offsets are those of this file.
import type { Range } from '../shared/outstanding.js';
import type { Access } from '../shared/protocol.js';
import type { PackedCopy } from './store/packed-copy.js';

export interface SourceFile {
  /** Bytes; 0 if unknown. Known after open(). */
  readonly total: number;
  /** `total` is certainly right. */
  readonly exact: boolean;
  readonly network: boolean;
  /** Known after open(). */
  readonly access: Access;
  /** Its name in error messages. */
  readonly name: string;
  /** Its sha256 is known, and verified only at the end of rest(): until then the engine must not generate text. */
  readonly unproven: boolean;
  /** How many bytes were received. */
  readonly received: number;
  /** The cached copy of its packed weights; null: there is none. */
  readonly copy: PackedCopy | null;
  open(): Promise<void>;
  /** The next bytes of its header, from `at` on, at most `most`; null at the file's end. They are valid until the next call. */
  head(at: number, most: number): Promise<Uint8Array<ArrayBuffer> | null>;
  /** Another file's header is read next. */
  pause(): void;
  /**
   * Sends the bytes after those of head() as they arrive, and caches them. Resolves when no more arrive by themselves: bytes
   * that are wanted then can be read.
   */
  rest(): Promise<void>;
  /**
   * The first range between `from` and `to` that can be read now; null if none can. It has at most `most` bytes, and those
   * that must be read with them.
   */
  readable(from: number, to: number, most: number): Range | null;
  /**
   * Reads bytes that readable() has named into views that cover them. False: they can't be read after all, and mend() must
   * be called when they are wanted again.
   */
  read(from: number, views: Uint8Array[]): Promise<boolean>;
  /** After a failed read(): fetches the bytes that can't be read, unless rest() does that. */
  mend(): Promise<void>;
  /** Opens `copy`, once the whole file is cached and verified. */
  openCopy(layout: number): Promise<void>;
  /** Reads chunks that copy.readable() has named, as read() does. False: they must be read from the file. */
  readCopy(from: number, views: Uint8Array[]): boolean;
  /** A prompt waits for these bytes, which can't be read yet: fetches them before all others. */
  hurry(rows: readonly Range[]): Promise<void>;
  /** Ends the reading. */
  close(): Promise<void>;
}
