// The blocks of a cached file: the journal's table of hashes, and which blocks were checked or found damaged in this session.
import { SluiceError } from '../../shared/errors.js';

export class BlockTable {
  /** By block: the hash as in the journal, 0 for a missing block. With an unknown total it grows. */
  #hashes: BigUint64Array;
  /** The hashes of blocks that were found to be damaged, while they are in the journal. */
  readonly #damaged = new Map<number, bigint>();
  /** The hashes of a verified file's removed blocks. The file is verified again when all of them are written again. */
  readonly #lost = new Map<number, bigint>();
  /** The blocks whose hash was checked in this session, with that hash. */
  readonly #checked = new Map<number, bigint>();

  constructor(hashes: BigUint64Array) {
    this.#hashes = hashes;
  }

  /** As in the journal. */
  get hashes(): BigUint64Array {
    return this.#hashes;
  }

  get length(): number {
    return this.#hashes.length;
  }

  /** All blocks are missing. */
  get empty(): boolean {
    return this.#hashes.every((hash) => hash === 0n);
  }

  /** As in the journal; 0 for a missing block. */
  hash(block: number): bigint {
    return this.#hashes[block] ?? 0n;
  }

  has(block: number): boolean {
    const hash = this.hash(block);
    return hash !== 0n && this.#damaged.get(block) !== hash;
  }

  /** Whether the block's hash was checked in this session. */
  checked(block: number): boolean {
    return this.has(block) && this.#checked.get(block) === this.hash(block);
  }

  check(block: number, hash: bigint): void {
    this.#checked.set(block, hash);
  }

  /** Takes a new table from the journal. */
  replace(hashes: BigUint64Array): void {
    this.#hashes = hashes;
    for (const [block, hash] of this.#damaged)
      if (hashes[block] !== hash) this.#damaged.delete(block);
  }

  resize(length: number): void {
    if (length === this.#hashes.length) return;
    const hashes = new BigUint64Array(length);
    hashes.set(this.#hashes.subarray(0, length));
    this.#hashes = hashes;
  }

  /** Forgets all blocks. */
  reset(): void {
    this.#hashes = new BigUint64Array(0);
    this.#damaged.clear();
    this.#lost.clear();
    this.#checked.clear();
  }

  /** Checks a fetched block. Throws download_corrupt if the verified file had another hash there. */
  expect(block: number, hash: bigint): void {
    const lost = this.#lost.get(block);
    if (lost === undefined || lost === hash) return;
    throw new SluiceError(
      'download_corrupt',
      'a part of the file on this device was damaged, and what the server has in its place is another file; ' +
        'what was kept of it was deleted; load it again',
    );
  }

  /** Records a written block. Returns whether it was the last one that a verified file had lost. */
  record(block: number, hash: bigint): boolean {
    if (block >= this.#hashes.length) this.resize(block + 1);
    this.#hashes[block] = hash;
    // These bytes were never read back from the disk, so they are not checked.
    this.#checked.delete(block);
    if (this.#lost.get(block) !== hash) return false;
    this.#lost.delete(block);
    return this.#lost.size === 0;
  }

  /** Marks a block as damaged if it has this hash. */
  damage(block: number, hash: bigint): void {
    if (this.#hashes[block] === hash) this.#damaged.set(block, hash);
    this.#checked.delete(block);
  }

  /** Removes a block. `verified`: the file was verified. */
  clear(block: number, verified: boolean): void {
    if (verified || this.#lost.size > 0) this.#lost.set(block, this.hash(block));
    this.#hashes[block] = 0n;
    this.#damaged.delete(block);
    this.#checked.delete(block);
  }
}
