// The folder of the cache in the origin private file system, and its locks: Web Locks.
import type { NotKeptReason } from '../shared/facts.js';
import type { Estimate, Folder, Lock, LockOptions, NoFolder } from './platform.js';

const FOLDER = 'sluice';

/** Opens the folder of the cache, and creates it if it is missing. Or returns why there can't be one. */
export async function openFolder(): Promise<Folder | NoFolder> {
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
    // The types of TypeScript's DOM don't have createSyncAccessHandle().
    return (await root.getDirectoryHandle(FOLDER, { create: true })) as unknown as Folder;
  } catch (error) {
    return without(
      'refused',
      `this browser lets the page keep no files (${String(error)}); it may be a private window, or storage is blocked for this site`,
    );
  }
}

/** Nobody else sees these files, so they always have the same names. */
export function setWhole(_folder: Folder, _key: string, _whole: boolean): void {}
export function isWhole(_folder: Folder, _key: string): boolean {
  return true;
}

export async function exportFile(folder: Folder, name: string): Promise<Blob> {
  return (await (await folder.getFileHandle(name)).getFile()) as File;
}

/** Null if the browser doesn't say. */
export async function estimate(): Promise<Estimate | null> {
  try {
    const { usage, quota } = await navigator.storage.estimate();
    return usage === undefined || quota === undefined ? null : { usage, quota };
  } catch {
    return null;
  }
}

export async function persisted(): Promise<boolean> {
  return (await navigator.storage?.persisted?.().catch(() => false)) ?? false;
}

/** The folder belongs to this site alone. */
export const evictsModels: boolean = true;

export function takeLock(name: string, options: LockOptions): Promise<Lock | null> {
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

export async function locksHeld(names: readonly string[]): Promise<Set<string>> {
  const { held = [] } = await navigator.locks.query();
  const all = new Set(held.map(({ name }) => name ?? ''));
  return new Set(names.filter((name) => all.has(name)));
}
