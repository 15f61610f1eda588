// Reads a file of the cache into fresh shared memory, and answers with the milliseconds.
/** The worker that has written the file may still be ending. */
async function open_to_read(handle) {
  for (let tries = 0; ; ++tries) {
    try {
      return await handle.createSyncAccessHandle({ mode: 'read-only' });
    } catch (error) {
      if (error.name !== 'NoModificationAllowedError' || tries === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

onmessage = async ({ data: { file, piece } }) => {
  try {
    const root = await navigator.storage.getDirectory();
    const handle = await (await root.getDirectoryHandle('sluice')).getFileHandle(file);
    const access = await open_to_read(handle);
    const bytes = access.getSize();
    const pages = Math.ceil(bytes / 65536);
    const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true });
    const begin = performance.now();
    for (let at = 0; at < bytes; at += piece)
      access.read(new Uint8Array(memory.buffer, at, Math.min(piece, bytes - at)), { at });
    postMessage(performance.now() - begin);
    access.close();
  } catch (error) {
    postMessage(String(error));
  }
};
