// The folder of the cache in the origin private file system, its files and their locks.
import type { NotKeptReason } from '../facts.js';
import { makeSha256 } from './hashes.js';

/** A FileSystemSyncAccessHandle: the types of TypeScript's DOM don't have it. */
export interface SyncHandle {
  read(to: Uint8Array, options: { at: number }): number;
  write(from: Uint8Array, options: { at: number }): number;
  truncate(size: number): void;
  flush(): void;
  getSize(): number;
  close(): void;
}

interface OpensSync {
  createSyncAccessHandle(options?: { mode: 'readwrite' | 'read-only' }): Promise<SyncHandle>;
}

const FOLDER = 'sluice';

/** Why there can't be a folder, as part of a sentence and for programs. */
export interface NoFolder {
  why: string;
  reason: NotKeptReason;
}

/** Opens the folder of the cache, and creates it if it is missing. Or returns why there can't be one. */
export async function openFolder(): Promise<FileSystemDirectoryHandle | NoFolder> {
  const { storage, locks } = globalThis.navigator ?? {};
  const without = (reason: NotKeptReason, why: string): NoFolder => ({ why, reason });
  if (globalThis.isSecureContext === false) {
    const why = 'the page is not in a secure context (https), so browsers let it keep no files';
    return without('insecure', why);
  }
  if (typeof storage?.getDirectory !== 'function')
    return without('unsupported', 'this browser has no private file system (OPFS) for pages');
  if (locks === undefined)
    return without('unsupported', 'this browser has no Web Locks, which the cache needs');
  try {
    const root = await storage.getDirectory();
    return await root.getDirectoryHandle(FOLDER, { create: true });
  } catch (error) {
    return without(
      'refused',
      `this browser lets the page keep no files (${String(error)}); it may be a private window, or storage is blocked for this site`,
    );
  }
}

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
export async function fileHandle(
  folder: FileSystemDirectoryHandle,
  name: string,
): Promise<FileSystemFileHandle | null> {
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
  handle: FileSystemFileHandle,
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
export async function sizeOf(handle: FileSystemFileHandle | null): Promise<number> {
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

/** Browsers close the handles of a killed worker a little after they release its locks. */
const HANDLE_PATIENCE_MS = 3000;

/**
 * Opens a file for reading and writing. The caller has its write lock, so only readers can hold it open for long. `patience`:
 * milliseconds to wait for them.
 */
export async function openToWrite(
  file: FileSystemFileHandle,
  patience = HANDLE_PATIENCE_MS,
): Promise<SyncHandle> {
  const until = Date.now() + patience;
  for (;;) {
    try {
      return await (file as unknown as OpensSync).createSyncAccessHandle();
    } catch (error) {
      if (!isNamed(error, 'NoModificationAllowedError') || Date.now() > until) throw error;
      await pause(20);
    }
  }
}

/**
 * Opens a file for reading. In Chromium any number of tabs can do that at a time. Other browsers have only exclusive
 * handles: null if another tab has one.
 */
export async function openToRead(file: FileSystemFileHandle): Promise<SyncHandle | null> {
  try {
    return await (file as unknown as OpensSync).createSyncAccessHandle({ mode: 'read-only' });
  } catch {
    return null;
  }
}

export interface Lock {
  /** Resolves when the lock is free for others. May be called again. */
  release(): Promise<void>;
}

/** Takes a Web Lock. Null if it is held (with `ifAvailable`), or if `signal` fired before it was free. */
export function takeLock(
  name: string,
  options: { mode?: LockMode; ifAvailable?: boolean; signal?: AbortSignal },
): Promise<Lock | null> {
  return new Promise((resolve, reject) => {
    const released: Promise<void> = navigator.locks
      .request(name, options, (lock) => {
        if (lock === null) return resolve(null);
        return new Promise<void>((free) => {
          const release = (): Promise<void> => {
            free();
            return released;
          };
          resolve({ release });
        });
      })
      .catch((error: unknown) => (options.signal?.aborted ? resolve(null) : reject(error)));
  });
}

/** The names of all held locks. */
export async function locksHeld(): Promise<Set<string>> {
  const { held = [] } = await navigator.locks.query();
  return new Set(held.map(({ name }) => name ?? ''));
}

/** The most milliseconds for which a tab holds a write lock to change a journal. */
const NOTE_MS = 1000;

/** Takes a lock, and waits for tabs that hold it only to change a journal. Null if it is held for longer. */
export function takeLockSoon(name: string): Promise<Lock | null> {
  return takeLock(name, { signal: AbortSignal.timeout(NOTE_MS) });
}

export const WRITE_LOCK = 'sluice-write:';
export const USE_LOCK = 'sluice-use:';
export const PACK_LOCK = 'sluice-pack:';

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
export async function removeFiles(folder: FileSystemDirectoryHandle, key: string): Promise<number> {
  // The journal is deleted last: while it exists, the entry is listed and can be deleted again.
  let freed = await removeCopy(folder, key);
  for (const ending of ['gguf', 'journal']) freed += await removeFile(folder, `${key}.${ending}`);
  return freed;
}

/** Deletes an entry's packed copy. Returns the bytes that were freed. It must not be in use. */
export async function removeCopy(folder: FileSystemDirectoryHandle, key: string): Promise<number> {
  const freed = await removeFile(folder, `${key}.index`);
  return freed + (await removeFile(folder, `${key}.packed`));
}

/** Removes a file if it exists. Returns the bytes that were freed. */
export async function removeFile(folder: FileSystemDirectoryHandle, name: string): Promise<number> {
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
export async function removeIdleCopy(
  folder: FileSystemDirectoryHandle,
  key: string,
): Promise<number> {
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
