// Opens the entries of the cache for the loader worker.
import { openFolder, takeLock } from '../../platform/here.js';
import { USE_LOCK, WRITE_LOCK, type Folder, type Lock } from '../../platform/platform.js';
import type { NotKeptReason } from '../../shared/facts.js';
import { BlockFile } from './block-file.js';
import { loadHashes } from './hashes.js';
import { blockBytesFor, type Meta } from './journal.js';
import { keyOf } from './files.js';
import { groupItems, listItems, readRecord } from './shelf.js';

export type Entry =
  /** There is no cache, or the entry is of a newer version. `why`: a part of a sentence. */
  | { kind: 'none'; why: string; reason: NotKeptReason }
  /** No block is missing. */
  | { kind: 'complete'; file: BlockFile }
  /** This worker has the write lock and the only handle. */
  | { kind: 'writer'; file: BlockFile }
  /**
   * Another tab writes. `turn` resolves when the write lock is ours: the same file is then a writer, and may be complete. It
   * resolves to null after close(), and rejects if the files can't be opened for writing.
   */
  | { kind: 'follower'; file: BlockFile; turn: Promise<BlockFile | null> };

/** What the journal stores about an entry. */
export interface About {
  /** The hub names that were resolved to this file (canonicalOf of a choice). */
  names: string[];
  set: string;
  part: number;
  parts: number;
}

function withNames(meta: Meta, names: string[]): string[] {
  return [...meta.names.filter((name) => !names.includes(name)), ...names];
}

function newMeta(address: string, about: About): Meta {
  return {
    address,
    ...about,
    blockBytes: blockBytesFor(0),
    totalBytes: 0,
    etag: '',
    lastModified: '',
    commit: '',
    sha256: '',
    verified: false,
    created: Date.now(),
    used: Date.now(),
    pinned: false,
  };
}

/** Opens the entry of a canonical address. Never rejects: what can't be opened is 'none'. */
export async function openEntry(address: string, about: About): Promise<Entry> {
  try {
    return await openOnce(address, about);
  } catch {
    // Another tab may have removed or replaced its files between the look at them and their opening.
  }
  try {
    return await openOnce(address, about);
  } catch (error) {
    const why = `its file in the cache can't be opened (${String(error)})`;
    return { kind: 'none', why, reason: 'unreadable' };
  }
}

async function openOnce(address: string, about: About): Promise<Entry> {
  const locks: Lock[] = [];
  try {
    const folder = await openFolder();
    if ('why' in folder) return { kind: 'none', ...folder };
    await loadHashes();
    const key = await keyOf(address);
    const entry = await openFrom(folder, key, address, about, locks);
    if (entry.kind !== 'none') locks.length = 0; // the file owns them now
    return entry;
  } finally {
    await Promise.all(locks.map((lock) => lock.release().catch(() => {})));
  }
}

/** Adds the locks that it takes to `locks`. */
async function openFrom(
  folder: Folder,
  key: string,
  address: string,
  about: About,
  locks: Lock[],
): Promise<Entry> {
  const use = (await takeLock(USE_LOCK + key, { mode: 'shared' })) as Lock;
  locks.push(use);
  const write = await takeLock(WRITE_LOCK + key, { ifAvailable: true });
  if (write !== null) locks.push(write);
  const { state, header, table } = await readRecord(folder, key);
  if (state === 'newer')
    return { kind: 'none', why: 'a newer version of Sluice keeps this model', reason: 'newer' };
  const exists = typeof header !== 'string';
  const meta = exists ? header.meta : newMeta(address, about);
  const given = { folder, key, meta, table, use };
  const { names, ...place } = about;
  const used = { names: withNames(meta, names), used: Date.now() };
  if (meta.totalBytes > 0 && !table.includes(0n)) {
    await write?.release();
    const file = new BlockFile({ ...given, write: null });
    await opened(file, exists);
    void file.note(used);
    return { kind: 'complete', file };
  }
  if (write !== null) {
    const file = new BlockFile({ ...given, write });
    await opened(file, exists);
    void file.note({ ...place, ...used });
    return { kind: 'writer', file };
  }
  use.follow?.();
  const file = new BlockFile({ ...given, write });
  const turn = file.follow();
  // The caller may handle its rejection later.
  turn.catch(() => {});
  return { kind: 'follower', file, turn };
}

async function opened(file: BlockFile, exists: boolean): Promise<void> {
  try {
    await file.open(exists);
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The canonical address of the last used entry with this name; of a split model that of its first file. */
export async function findNamed(name: string): Promise<string | null> {
  const folder = await openFolder();
  if ('why' in folder) return null;
  try {
    await loadHashes();
    for (const group of groupItems(await listItems(folder)).reverse()) {
      const meta = group.find(({ meta }) => meta?.names.includes(name))?.meta;
      if (meta) return meta.set || meta.address;
    }
  } catch {
    // A cache that can't be read counts as empty.
  }
  return null;
}

/** Whether the whole file of a canonical address is cached. */
export async function isKept(address: string): Promise<boolean> {
  const folder = await openFolder();
  if ('why' in folder) return false;
  try {
    await loadHashes();
    const { header, table } = await readRecord(folder, await keyOf(address));
    return typeof header !== 'string' && header.meta.totalBytes > 0 && !table.includes(0n);
  } catch {
    return false;
  }
}
