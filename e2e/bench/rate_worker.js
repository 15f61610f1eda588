// Reads a file in pieces into shared memory that was touched before, and answers with the bytes per second. `way`: 'handle'
// (a file of the cache, by its sync access handle), 'sync' (a Blob, by FileReaderSync) or 'slices' (a Blob, two at a time).
const RING = 64 << 20;
const memory = new WebAssembly.Memory({ initial: RING >> 16, maximum: RING >> 16, shared: true });
const ring = new Uint8Array(memory.buffer).fill(1);

const readers = {
  async handle(name) {
    const root = await navigator.storage.getDirectory();
    const file = await (await root.getDirectoryHandle('sluice')).getFileHandle(name);
    const access = await file.createSyncAccessHandle({ mode: 'read-only' });
    const read = (at, view) => access.read(view, { at });
    return { bytes: access.getSize(), at_once: 1, read, close: () => access.close() };
  },
  async sync(blob) {
    const reader = new FileReaderSync();
    const read = (at, view) =>
      view.set(new Uint8Array(reader.readAsArrayBuffer(blob.slice(at, at + view.length))));
    return { bytes: blob.size, at_once: 1, read, close: () => {} };
  },
  async slices(blob) {
    const read = async (at, view) =>
      view.set(new Uint8Array(await blob.slice(at, at + view.length).arrayBuffer()));
    return { bytes: blob.size, at_once: 2, read, close: () => {} };
  },
};

onmessage = async ({ data: { way, file, piece } }) => {
  try {
    const { bytes, at_once, read, close } = await readers[way](file);
    const began = performance.now();
    let next = 0;
    const lane = async () => {
      while (next < bytes) {
        const at = next;
        next += piece;
        const length = Math.min(piece, bytes - at);
        const got = read(at, ring.subarray(at % RING, (at % RING) + length));
        if (got instanceof Promise) await got;
      }
    };
    await Promise.all(Array.from({ length: at_once }, lane));
    const ms = performance.now() - began;
    close();
    postMessage((bytes / ms) * 1000);
  } catch (error) {
    postMessage(String(error));
  }
};
