// XXH64 and SHA-256 for the cache. The build puts the code of hash-wasm into this file.
import { createSHA256, createXXHash64, type IHasher } from 'hash-wasm';

let loading: Promise<IHasher> | null = null;
let hasher: IHasher | null = null;

/** Pauses in ms before making a hasher is tried again. */
const PAUSES = [50, 200, 800];

/**
 * Makes a hasher. A browser has room for some hundred memories of wasm, and those of workers that have ended go only when it
 * collects them: where there is no room, this waits and tries again.
 */
async function madeSoon(make: () => Promise<IHasher>): Promise<IHasher> {
  for (const pause of PAUSES) {
    try {
      return await make();
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
  return make();
}

/**
 * Must have resolved before XXH64 is computed. Rejects where the page's policy allows no wasm, or there is no memory for it:
 * the next call tries again.
 */
export async function loadHashes(): Promise<void> {
  loading ??= madeSoon(createXXHash64);
  const mine = loading;
  try {
    hasher = await mine;
  } catch (error) {
    if (loading === mine) loading = null;
    throw error;
  }
}

function xxhash(): IHasher {
  if (hasher === null) throw new Error('loadHashes() has not resolved');
  return hasher;
}

function numberOf(digest: Uint8Array): bigint {
  return new DataView(digest.buffer, digest.byteOffset).getBigUint64(0);
}

/** XXH64 with seed 0 of the pieces, one after the other. They may be in shared memory. */
export function xxh64(pieces: readonly Uint8Array[]): bigint {
  const all = xxhash().init();
  for (const piece of pieces) all.update(piece);
  return numberOf(all.digest('binary'));
}

/** XXH64 of the pieces that `give` passes to `update`; null if `give` returns false. */
export function xxh64Of(give: (update: (piece: Uint8Array) => void) => boolean): bigint | null {
  const all = xxhash().init();
  return give((piece) => void all.update(piece)) ? numberOf(all.digest('binary')) : null;
}

/** XXH64 with seed 0, computed incrementally. There may be any number of these at a time. */
export class Xxh64 {
  /** All share one instance of the wasm module, and save their state here: some 80 bytes. */
  #state: Uint8Array | null = null;

  #resumed(): IHasher {
    return this.#state === null ? xxhash().init() : xxhash().load(this.#state);
  }

  update(bytes: Uint8Array): void {
    this.#state = this.#resumed().update(bytes).save();
  }

  digest(): bigint {
    return numberOf(this.#resumed().digest('binary'));
  }
}

/** SHA-256, computed incrementally. */
export interface Sha256 {
  /** The bytes may be in shared memory. */
  update(bytes: Uint8Array): void;
  /** 64 lower-case hexadecimal digits. No update may follow. */
  hex(): string;
}

export async function makeSha256(): Promise<Sha256> {
  const sha = await madeSoon(createSHA256);
  return {
    update: (bytes) => void sha.update(bytes),
    hex: () => sha.digest('hex'),
  };
}
