// Writes one block of a file in the cache.
import { Xxh64 } from './hashes.js';

/** Bytes of one write. Smaller writes are several times slower, larger ones not faster. */
export const PIECE_BYTES = 1 << 20;

/** What a BlockWriter uses of its file. */
export interface BlockTarget {
  /** Bytes of the block, as far as is known: the last block of a file may prove to be shorter. */
  sizeOf(block: number): number;
  write(block: number, offset: number, bytes: Uint8Array): void;
  /** Records a complete block; `hash` is its XXH64. */
  record(block: number, hash: bigint): void;
  /** Buffers of PIECE_BYTES, lent and given back. */
  buffers: Uint8Array<ArrayBuffer>[];
}

export class BlockWriter {
  readonly #target: BlockTarget;
  readonly #hash = new Xxh64();
  #filled = 0;
  /** Bytes that wait to be written, as many as fit in one piece. */
  #staged: Uint8Array<ArrayBuffer> | null = null;
  #waiting = 0;
  #full = false;
  #ended = false;

  constructor(
    readonly index: number,
    target: BlockTarget,
  ) {
    this.#target = target;
  }

  /** Bytes of the block that push() has taken. */
  get filled(): number {
    return this.#filled;
  }

  /** All bytes are written, and the journal has the hash. */
  get full(): boolean {
    return this.#full;
  }

  /**
   * Writes and hashes the next bytes of the block; they may be in shared memory. Returns how many of them belong to it.
   * Throws storage_full; then the writer can't be used any more, and the block stays missing.
   */
  push(bytes: Uint8Array): number {
    if (this.#ended) throw new Error('the block has another writer, or the file is closed');
    const size = this.#target.sizeOf(this.index);
    const taken = Math.min(bytes.length, size - this.#filled);
    try {
      for (let at = 0; at < taken;) at += this.#take(bytes.subarray(at, taken), size);
      this.finish();
    } catch (error) {
      this.end();
      throw error;
    }
    return taken;
  }

  /** Takes some of the bytes, and returns how many. */
  #take(bytes: Uint8Array, size: number): number {
    const piece = Math.min(PIECE_BYTES, size - (this.#filled - this.#waiting));
    if (this.#waiting === 0 && bytes.length >= piece) {
      this.#filled += piece;
      this.#write(bytes.subarray(0, piece));
      return piece;
    }
    this.#staged ??= this.#target.buffers.pop() ?? new Uint8Array(PIECE_BYTES);
    const length = Math.min(bytes.length, piece - this.#waiting);
    this.#staged.set(bytes.subarray(0, length), this.#waiting);
    this.#waiting += length;
    this.#filled += length;
    if (this.#waiting === piece) this.#writeWaiting();
    return length;
  }

  #writeWaiting(): void {
    if (this.#staged === null || this.#waiting === 0) return;
    const bytes = this.#staged.subarray(0, this.#waiting);
    this.#waiting = 0;
    this.#write(bytes);
  }

  /** Writes and hashes these bytes, the last of those that were taken. */
  #write(bytes: Uint8Array): void {
    this.#target.write(this.index, this.#filled - bytes.length, bytes);
    this.#hash.update(bytes);
  }

  /** Records the block if it is complete. Called again when the file's total becomes known. */
  finish(): void {
    if (this.#ended || this.#filled === 0) return;
    if (this.#filled !== this.#target.sizeOf(this.index)) return;
    this.#writeWaiting();
    this.end();
    this.#target.record(this.index, this.#hash.digest());
    this.#full = true;
  }

  /** Ends the writer: push() takes no more bytes. */
  end(): void {
    this.#ended = true;
    if (this.#staged !== null) this.#target.buffers.push(this.#staged);
    this.#staged = null;
  }
}
