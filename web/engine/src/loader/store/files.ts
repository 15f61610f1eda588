// The files of the cache's folder, and their locks.
import { takeLock } from '../../platform/here.js';
import {
  PACK_LOCK,
  USE_LOCK,
  WRITE_LOCK,
  type FileHandle,
  type Folder,
  type Lock,
  type SyncHandle,
} from '../../platform/platform.js';
import { makeSha256 } from './hashes.js';

/** The name of an entry's files, without their endings. */
export async function keyOf(address: string): Promise<string> {
  const sha = await makeSha256();
  sha.update(new TextEncoder().encode(address));
  return sha.hex().slice(0, 32);
}

export function isNamed(error: unknown, ...names: string[]): boolean {
  return error instanceof DOMException && names.includes(error.name);
}

/** Null if there is no such file. */
export async function fileHandle(folder: Folder, name: string): Promise<FileHandle | null> {
  try {
    return await folder.getFileHandle(name);
  } catch (error) {
    if (isNamed(error, 'NotFoundError', 'TypeMismatchError')) return null;
    throw error;
  }
}

/** How often a file is read again that another tab changes meanwhile. */
const READ_TRIES = 10;

/**
 * Reads bytes of a file without a sync handle, so also while another tab writes it. Fewer bytes at the file's end; none if
 * there is no such file.
 */
export async function readFile(
  handle: FileHandle,
  from = 0,
  to = Number.MAX_SAFE_INTEGER,
): Promise<Uint8Array<ArrayBuffer>> {
  for (let tries = 1; ; ++tries) {
    try {
      const file = await handle.getFile();
      return new Uint8Array(await file.slice(from, Math.min(to, file.size)).arrayBuffer());
    } catch (error) {
      if (isNamed(error, 'NotFoundError')) return new Uint8Array(0);
      // The file has changed since getFile().
      if (!isNamed(error, 'NotReadableError') || tries === READ_TRIES) throw error;
      await pause(5 * tries);
    }
  }
}

/** The bytes of a file; 0 if there is none. */
export async function sizeOf(handle: FileHandle | null): Promise<number> {
  try {
    return handle === null ? 0 : (await handle.getFile()).size;
  } catch (error) {
    if (isNamed(error, 'NotFoundError')) return 0;
    throw error;
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A killed worker's handles may be closed a little after its locks are released, as in browsers. */
const HANDLE_PATIENCE_MS = 3000;

/**
 * Opens a file for reading and writing. The caller has its write lock, so only readers can hold it open for long. `patience`:
 * milliseconds to wait for them.
 */
export async function openToWrite(
  file: FileHandle,
  patience = HANDLE_PATIENCE_MS,
): Promise<SyncHandle> {
  const until = Date.now() + patience;
  for (;;) {
    try {
      return await file.createSyncAccessHandle();
    } catch (error) {
      if (!isNamed(error, 'NoModificationAllowedError') || Date.now() > until) throw error;
      await pause(20);
    }
  }
}

/** Before an entry is written: keeps other programs away from it. Waits for one that has only looked at it. */
export async function setAlone(use: Lock, patience = HANDLE_PATIENCE_MS): Promise<void> {
  const until = Date.now() + patience;
  while (use.setAlone?.(true) === false) {
    if (Date.now() > until)
      throw new DOMException('another program uses it', 'NoModificationAllowedError');
    await pause(20);
  }
}

/**
 * Opens a file for reading. In Chromium and in Node that can be done any number of times. Other browsers have only exclusive
 * handles: null if another tab has one.
 */
export async function openToRead(file: FileHandle): Promise<SyncHandle | null> {
  try {
    return await file.createSyncAccessHandle({ mode: 'read-only' });
  } catch {
    return null;
  }
}

/** The most milliseconds for which a tab holds a write lock to change a journal. */
const NOTE_MS = 1000;

/** Takes a lock, and waits for tabs that hold it only to change a journal. Null if it is held for longer. */
export function takeLockSoon(name: string): Promise<Lock | null> {
  return takeLock(name, { signal: AbortSignal.timeout(NOTE_MS) });
}

/**
 * Takes both locks of an entry for deleting it, runs `work`, and releases them. Null, without running `work`, if the entry is
 * in use.
 */
export async function alone<T>(key: string, work: () => Promise<T>): Promise<T | null> {
  const write = await takeLock(WRITE_LOCK + key, { ifAvailable: true });
  if (write === null) return null;
  try {
    const use = await takeLock(USE_LOCK + key, { ifAvailable: true });
    if (use === null) return null;
    try {
      return await work();
    } finally {
      await use.release();
    }
  } finally {
    await write.release();
  }
}

/** Deletes an entry's files. Returns the bytes that were freed. The caller has both locks. */
export async function removeFiles(folder: Folder, key: string): Promise<number> {
  // The journal is deleted last: while it exists, the entry is listed and can be deleted again.
  let freed = await removeCopy(folder, key);
  for (const ending of ['gguf', 'journal']) freed += await removeFile(folder, `${key}.${ending}`);
  return freed;
}

/** Deletes an entry's packed copy. Returns the bytes that were freed. It must not be in use. */
export async function removeCopy(folder: Folder, key: string): Promise<number> {
  const freed = await removeFile(folder, `${key}.index`);
  return freed + (await removeFile(folder, `${key}.packed`));
}

/** Removes a file if it exists. Returns the bytes that were freed. */
export async function removeFile(folder: Folder, name: string): Promise<number> {
  const size = await sizeOf(await fileHandle(folder, name));
  const until = Date.now() + HANDLE_PATIENCE_MS;
  for (;;) {
    try {
      await folder.removeEntry(name);
      return size;
    } catch (error) {
      if (isNamed(error, 'NotFoundError')) return 0;
      if (!isNamed(error, 'NoModificationAllowedError') || Date.now() > until) throw error;
      await pause(20);
    }
  }
}

/** As removeCopy(), but frees nothing if the copy is in use or can't be deleted. */
export async function removeIdleCopy(folder: Folder, key: string): Promise<number> {
  const lock = await takeLock(PACK_LOCK + key, { ifAvailable: true });
  if (lock === null) return 0;
  try {
    return await removeCopy(folder, key);
  } catch {
    return 0;
  } finally {
    await lock.release();
  }
}
