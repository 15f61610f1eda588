// Room in the cache: what the browser grants, and what goes to make room.
import { SluiceError } from '../errors.js';
import { sized } from '../sized.js';
import { groupItems, isEvictable, listItems, removeItems, type Item } from './shelf.js';

export interface Estimate {
  usage: number;
  quota: number;
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

/** The error storage_full. `needed`: bytes to be stored. `room`: null if the browser doesn't say. */
export function noRoom(needed: number, room: Estimate | null, cause?: unknown): SluiceError {
  const free = room === null ? 0 : Math.max(0, room.quota - room.usage);
  const figures = `${sized(free)} are free of the ${sized(room?.quota ?? 0)}`;
  // Chromium tells each site the same quota, however little there is.
  const refused = cause !== undefined && free >= needed;
  const granted =
    room === null
      ? 'the disk or the room that the browser grants this site is full'
      : refused
        ? `the browser refuses that, though it says that ${figures} for this site: the disk may be full`
        : `${figures} that the browser grants this site`;
  return new SluiceError(
    'storage_full',
    `the cache needs ${sized(needed)} more, and ${granted}; remove models that you don't need (cache.delete, cache.pin ` +
      "with false), free space on the disk, or load with cache: 'none'",
    { cause },
  );
}

function removable(groups: Item[][], keep: string): Item[][] {
  return groups.filter(
    (group) =>
      isEvictable(group) &&
      !group.some(({ meta }) => meta !== null && (meta.set || meta.address) === keep),
  );
}

/**
 * Removes the least recently used model that is neither pinned nor in use, and not `keep`. False if there is none. For
 * browsers that grant less than they say.
 */
export async function removeOldest(
  folder: FileSystemDirectoryHandle,
  keep: string,
): Promise<boolean> {
  for (const group of removable(groupItems(await listItems(folder)), keep)) {
    if ((await removeItems(folder, group)).freed > 0) return true;
  }
  return false;
}

/** Left free, for the journals and what the file system takes itself. */
const MARGIN = 1 << 20;

/**
 * Makes room for `bytes` more: removes the least recently used models that are neither pinned nor in use, and not of
 * `keep` (a model's address). Throws storage_full if that isn't enough; then nothing was removed.
 */
export async function makeRoom(
  folder: FileSystemDirectoryHandle,
  bytes: number,
  keep: string,
): Promise<void> {
  const room = await estimate();
  if (room === null || room.usage + bytes + MARGIN <= room.quota) return;
  const groups = removable(groupItems(await listItems(folder)), keep);
  const lacking = room.usage + bytes + MARGIN - room.quota;
  const most = groups.flat().reduce((sum, { size }) => sum + size, 0);
  if (most < lacking) throw noRoom(bytes, room);
  let freed = 0;
  for (const group of groups) {
    if (freed >= lacking) return;
    freed += (await removeItems(folder, group)).freed;
  }
  // Somebody has begun to use one of them.
  if (freed < lacking) throw noRoom(bytes, { ...room, usage: room.usage - freed });
}
