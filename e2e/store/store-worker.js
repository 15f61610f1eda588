// A worker that does with the cache's files what a test tells it. It stands for the loader worker of one tab.
// The spec bundles it.
import { openEntry } from '../../web/engine/src/loader/store/entries.ts';

const ABOUT = { names: [], set: '', part: 1, parts: 1 };

/** The bytes of block `index`, which differ from file to file. */
function bytesOf(file, index, seed) {
  const size = file.sizeOf(index);
  const words = new Uint32Array(Math.ceil(size / 4));
  let state = (seed * 1000 + index + 1) >>> 0;
  for (let i = 0; i < words.length; ++i) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    words[i] = state;
  }
  return new Uint8Array(words.buffer, 0, size);
}

let file = null;
let turn = null;
const heard = [];

const CALLS = {
  async open(address) {
    const entry = await openEntry(address, ABOUT);
    if (entry.kind === 'none') return entry.why;
    file = entry.file;
    turn = entry.turn ?? null;
    file.onblock = (block) => heard.push(block);
    return entry.kind;
  },

  async begin(total) {
    await file.begin({ total, etag: '"e"', lastModified: '', commit: '', sha256: '' });
    return file.blockCount;
  },

  /** Writes blocks in pieces of the size that the network gives. */
  async write({ blocks, seed, slowly = false }) {
    for (const index of blocks) {
      const bytes = bytesOf(file, index, seed);
      const writer = file.block(index);
      for (let at = 0; at < bytes.length;) at += writer.push(bytes.subarray(at, at + 65536));
      if (!writer.full) throw new Error(`block ${index} is not full`);
      if (slowly) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  },

  /** Reads all blocks that are there, every second one into shared memory if there is any. Returns the right ones. */
  async read(seed) {
    const right = [];
    for (let index = 0; index < file.blockCount; ++index) {
      if (!file.has(index)) continue;
      const size = file.sizeOf(index);
      const shared = globalThis.crossOriginIsolated && index % 2 === 0;
      const bytes = new Uint8Array(shared ? new SharedArrayBuffer(size) : size);
      const half = size >> 1;
      if (!(await file.read(index, [bytes.subarray(0, half), bytes.subarray(half)]))) continue;
      const expected = bytesOf(file, index, seed);
      if (expected.every((byte, i) => byte === bytes[i])) right.push(index);
    }
    return right;
  },

  state: () => ({
    complete: file.complete,
    missing: file.missing(),
    writable: file.writable,
    heard: heard.splice(0),
  }),

  turn: async () => (await turn) !== null,

  close: () => file.close(),

  drop: () => file.drop(),
};

globalThis.addEventListener('message', async ({ data: { id, name, argument } }) => {
  try {
    globalThis.postMessage({ id, value: await CALLS[name](argument) });
  } catch (error) {
    globalThis.postMessage({ id, error: `${error.code ?? ''} ${error.message}` });
  }
});
