// Disk space for the cache: what the browser grants, and what is evicted to free space.
import { estimate, evictsModels, words } from '../../platform/here.js';
import { type Estimate, type Folder } from '../../platform/platform.js';
import { SluiceError } from '../../shared/errors.js';
import { sized } from '../../shared/sized.js';
import { removeIdleCopy } from './files.js';
import { groupItems, isEvictable, listItems, removeItems, type Item } from './shelf.js';
import { freeStates, idleStateBytes } from './state-files.js';

/** The error storage_full. `needed`: bytes to be stored. `room`: null if the browser doesn't say. */
export function noRoom(needed: number, room: Estimate | null, cause?: unknown): SluiceError {
  const free = room === null ? 0 : Math.max(0, room.quota - room.usage);
  const figures = `${sized(free)} are free of the ${sized(room?.quota ?? 0)}`;
  // Chromium reports the same quota to each site, however full the disk is.
  const refused = cause !== undefined && free >= needed;
  const granted =
    room === null
      ? `the disk or the room ${words.grants} is full`
      : refused
        ? `${words.disk} refuses that, though it says that ${figures}${words.site}: the disk may be full`
        : `${figures} ${words.grants}`;
  return new SluiceError(
    'storage_full',
    `the cache needs ${sized(needed)} more, and ${granted}; remove models that you don't need (cache.delete, cache.pin ` +
      "with false), free space on the disk, or load with cache: 'none'",
    { facts: { neededBytes: needed, ...(room === null ? {} : { availableBytes: free }) }, cause },
  );
}

function removable(groups: Item[][], keep: string): Item[][] {
  return groups.filter(
    (group) =>
      evictsModels &&
      isEvictable(group) &&
      !group.some(({ meta }) => meta !== null && (meta.set || meta.address) === keep),
  );
}

/** The files whose packed copies can be removed, the least recently used first; those of models that stay included. */
function idleCopies(groups: Item[][]): Item[] {
  return groups.flat().filter(({ packed, inUse, newer }) => packed > 0 && !inUse && !newer);
}

/** Bytes that can be freed: of models that may be removed, of packed copies, and of conversations' states. */
export async function freeable(
  folder: Folder,
  groups: Item[][],
  models = removable(groups, ''),
): Promise<number> {
  const states = await idleStateBytes(folder);
  const bytes = models.flat().reduce((sum, { size }) => sum + size, states);
  return idleCopies(groups).reduce((sum, { packed }) => sum + packed, bytes);
}

/**
 * Evicts the least recently used packed copy that isn't in use; if there is none, such a state of a conversation; if there is
 * none, such a model that is neither pinned nor `keep`. False if nothing is left. For browsers that grant less than they report.
 */
export async function removeOldest(folder: Folder, keep: string): Promise<boolean> {
  const groups = groupItems(await listItems(folder));
  for (const { key } of idleCopies(groups))
    if ((await removeIdleCopy(folder, key)) > 0) return true;
  if ((await freeStates(folder, 1)) > 0) return true;
  for (const group of removable(groups, keep)) {
    if ((await removeItems(folder, group)).freed > 0) return true;
  }
  return false;
}

/** Whether twice `bytes` are free without evicting anything, so that as many stay free. */
export async function hasRoomTwice(bytes: number): Promise<boolean> {
  const room = await estimate();
  return room !== null && room.usage + 2 * bytes + MARGIN <= room.quota;
}

/** Bytes left free for the journals and the file system itself. */
const MARGIN = 1 << 20;

/**
 * Frees space for `bytes` more: evicts packed copies, then states of conversations, then models that are neither pinned nor
 * `keep` (a model's address). Of each kind the least recently used first, and nothing that is in use. Throws storage_full if
 * all that isn't enough, without evicting anything.
 */
export async function makeRoom(folder: Folder, bytes: number, keep: string): Promise<void> {
  const room = await estimate();
  if (room === null || room.usage + bytes + MARGIN <= room.quota) return;
  const groups = groupItems(await listItems(folder));
  const models = removable(groups, keep);
  const lacking = room.usage + bytes + MARGIN - room.quota;
  if ((await freeable(folder, groups, models)) < lacking) throw noRoom(bytes, room);
  let freed = 0;
  for (const { key } of idleCopies(groups)) {
    if (freed >= lacking) return;
    freed += await removeIdleCopy(folder, key);
  }
  freed += await freeStates(folder, lacking - freed);
  for (const group of models) {
    if (freed >= lacking) return;
    freed += (await removeItems(folder, group)).freed;
  }
  // Another tab has begun to use one of them.
  if (freed < lacking) throw noRoom(bytes, { ...room, usage: room.usage - freed });
}
