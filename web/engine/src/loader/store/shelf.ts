// The entries of the cache: reading, listing and deleting them.
import { locksHeld } from '../../platform/here.js';
import { USE_LOCK, WRITE_LOCK, type Folder } from '../../platform/platform.js';
import { readHeader, readTable, TABLE_AT, type Meta } from './journal.js';
import { alone, fileHandle, keyOf, readFile, removeFiles, sizeOf } from './files.js';

/** An entry's journal, and the present blocks of its file. */
export interface Found {
  /** 'absent': there is no journal, or nothing can be read from it. 'newer': of a newer version. */
  state: 'valid' | 'absent' | 'newer';
  header: ReturnType<typeof readHeader>;
  table: BigUint64Array;
  /** Bytes of KEY.gguf. */
  size: number;
}

/** Reads an entry's journal. The files may hold arbitrary bytes. */
export async function readRecord(folder: Folder, key: string): Promise<Found> {
  const journal = await fileHandle(folder, `${key}.journal`);
  const size = await sizeOf(await fileHandle(folder, `${key}.gguf`));
  const none = new BigUint64Array(0);
  const head = journal === null ? new Uint8Array(0) : await readFile(journal, 0, TABLE_AT);
  const header = readHeader(head);
  if (header === 'newer') return { state: 'newer', header, table: none, size };
  if (header === 'absent' || journal === null)
    return { state: 'absent', header: 'absent', table: none, size };
  const { meta } = header;
  // The file has its full size before the journal names it.
  if (meta.totalBytes > size || key !== (await keyOf(meta.address)))
    return { state: 'absent', header: 'absent', table: none, size };
  const end = TABLE_AT + 8 * Math.ceil(size / meta.blockBytes);
  const bytes = await readFile(journal, 0, end);
  // The header may have changed since: that of the second read counts.
  const again = readHeader(bytes);
  if (typeof again === 'string') return { state: again, header: again, table: none, size };
  return { state: 'valid', header: again, table: readTable(bytes, again.meta, size), size };
}

/** Bytes of the present blocks. */
export function storedBytes(table: BigUint64Array, { blockBytes, totalBytes }: Meta): number {
  let stored = 0;
  table.forEach((hash, i) => {
    if (hash !== 0n) stored += Math.min(blockBytes, (totalBytes || Infinity) - i * blockBytes);
  });
  return stored;
}

/** One file in the cache. */
export interface Item {
  key: string;
  /** Null: the journal is of a newer version, or there is none that can be read. */
  meta: Meta | null;
  newer: boolean;
  /** Bytes of its present blocks. */
  stored: number;
  /** Bytes that its file takes. */
  size: number;
  /** Bytes that its packed copy takes. */
  packed: number;
  complete: boolean;
  /** A tab reads or writes it now. */
  inUse: boolean;
}

/** All entries, unsorted; also those that are damaged or of a newer version. */
export async function listItems(folder: Folder): Promise<Item[]> {
  const keys = new Set<string>();
  for await (const [name] of folder.entries()) {
    const [, key] = /^([0-9a-f]{32})\.(gguf|journal|packed|index)$/.exec(name) ?? [];
    if (key !== undefined) keys.add(key);
  }
  const locks = await locksHeld([...keys].flatMap((key) => [USE_LOCK + key, WRITE_LOCK + key]));
  const items: Item[] = [];
  for (const key of keys) {
    const { state, header, table, size } = await readRecord(folder, key);
    const meta = typeof header === 'string' ? null : header.meta;
    items.push({
      key,
      meta,
      newer: state === 'newer',
      stored: meta === null ? 0 : storedBytes(table, meta),
      size,
      packed: await copyBytes(folder, key),
      complete: meta !== null && meta.totalBytes > 0 && !table.includes(0n),
      inUse: locks.has(USE_LOCK + key) || locks.has(WRITE_LOCK + key),
    });
  }
  return items;
}

async function copyBytes(folder: Folder, key: string): Promise<number> {
  const packed = await sizeOf(await fileHandle(folder, `${key}.packed`));
  return packed + (await sizeOf(await fileHandle(folder, `${key}.index`)));
}

/** The entries grouped by model, least recently used first; damaged ones before all others. */
export function groupItems(items: Item[]): Item[][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const name = item.meta === null ? item.key : item.meta.set || item.meta.address;
    groups.set(name, [...(groups.get(name) ?? []), item]);
  }
  return [...groups.values()].sort((a, b) => usedAt(a) - usedAt(b));
}

/** When a model was last used; 0 if its journal can't be read. */
export function usedAt(group: Item[]): number {
  return Math.max(...group.map(({ meta }) => meta?.used ?? 0));
}

/** Whether a model may be evicted. One of a newer version may be pinned: that can't be known. */
export function isEvictable(group: Item[]): boolean {
  return !group.some(({ meta, inUse, newer }) => inUse || newer || meta?.pinned === true);
}

/** Deletes the entries that aren't in use. Returns the bytes that were freed, and how many entries are left. */
export async function removeItems(
  folder: Folder,
  group: Item[],
): Promise<{ freed: number; left: number }> {
  let freed = 0;
  let left = 0;
  for (const { key } of group) {
    const bytes = await alone(key, () => removeFiles(folder, key));
    if (bytes === null) left += 1;
    else freed += bytes;
  }
  return { freed, left };
}
