// SHA-256 by Node, in place of src/store/hashes.js: starting a wasm module takes time that no fake clock knows.
import { createHash } from 'node:crypto';
import type * as Hashes from '../src/loader/store/hashes.js';

/** For vi.mock: the module, with a sha256 that is there at once. */
export function quickHashes(original: typeof Hashes): typeof Hashes {
  return {
    ...original,
    makeSha256: async () => {
      const sha = createHash('sha256');
      return {
        update: (bytes: Uint8Array) => void sha.update(Uint8Array.from(bytes)),
        hex: () => sha.digest('hex'),
      };
    },
  };
}
