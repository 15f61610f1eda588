// The calls of `cache`, as the loader worker answers them.
import { estimate, exportFile, openFolder, persisted } from '../platform/here.js';
import { WRITE_LOCK, type Folder } from '../platform/platform.js';
import type { LoaderCalls, NamedModel } from '../shared/calls.js';
import { SluiceError } from '../shared/errors.js';
import type { Handlers } from '../shared/replies.js';
import { canonicalOf, parseAddress } from './net/addresses.js';
import { listModelFiles } from './net/hub.js';
import { Patience } from './net/patience.js';
import type { CachedModel, CacheRoom, Verification } from '../shared/cache-types.js';
import type { BlockFile } from './store/block-file.js';
import { findNamed, openEntry } from './store/entries.js';
import { loadHashes, makeSha256 } from './store/hashes.js';
import { JournalHandle, withJournal } from './store/journal-handle.js';
import type { Meta } from './store/journal.js';
import { fileHandle, keyOf, takeLockSoon } from './store/files.js';
import { freeable, makeRoom } from './store/room.js';
import {
  groupItems,
  isEvictable,
  listItems,
  removeItems,
  usedAt,
  type Item,
} from './store/shelf.js';
import { deleteState, listStates, shrinkStates } from './store/state-files.js';

/** The prefix of an entry's key used as an address: if its address can't be read, or for one file of a split model. */
const BY_KEY = 'sluice-cache:';

/** The canonical address. */
async function canonicalAddress({ source, hub }: NamedModel): Promise<string> {
  const address = parseAddress(source, hub);
  const name = canonicalOf(address);
  return address.kind === 'hub choice' ? ((await findNamed(name)) ?? name) : name;
}

interface KeptModel {
  /** The files of the model. */
  group: Item[];
  /** The file that was named; for the address of a split model, its first file. */
  item: Item;
}

async function findModel(folder: Folder, named: NamedModel): Promise<KeptModel | undefined> {
  const byKey = named.source.startsWith(BY_KEY);
  const key = byKey
    ? named.source.slice(BY_KEY.length)
    : await keyOf(await canonicalAddress(named));
  for (const group of groupItems(await listItems(folder))) {
    const item = group.find((item) => item.key === key);
    if (item !== undefined && (item.meta !== null || item.newer)) return { group, item };
  }
  return undefined;
}

async function mustFind(folder: Folder | null, named: NamedModel): Promise<KeptModel> {
  const found = folder === null ? undefined : await findModel(folder, named);
  if (found !== undefined) return found;
  throw new SluiceError(
    'not_found',
    `'${named.source.slice(0, 200)}' is not in the cache; cache.list() names what is`,
  );
}

function isWhole(group: Item[]): boolean {
  if (group.length === 0) return false;
  const parts = Math.max(...group.map(({ meta }) => meta?.parts ?? 1));
  return group.length > 0 && group.length >= parts && group.every(({ complete }) => complete);
}

function fileName(address: string): string {
  const { pathname } = new URL(address);
  const name = pathname.slice(pathname.lastIndexOf('/') + 1);
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

const NEWER =
  'a newer version of Sluice keeps this model, in a form that this version does not know';

/** Null for an entry that can't be read and is not of a newer version: it counts as absent. */
function describe(group: Item[]): CachedModel | null {
  const inUse = group.some((item) => item.inUse);
  const metas = group.flatMap(({ meta }) => (meta === null ? [] : [meta]));
  const first = metas.find((meta) => meta.address === meta.set) ?? metas[0];
  const stored = group.reduce((sum, item) => sum + item.stored, 0);
  const packed = group.reduce((sum, item) => sum + item.packed, 0);
  if (first === undefined) {
    const item = group[0];
    if (item === undefined || !item.newer) return null;
    return {
      source: BY_KEY + item.key,
      name: `${item.key}.gguf`,
      bytes: item.size,
      stored: item.size,
      packed,
      complete: false,
      verified: false,
      sha256: '',
      etag: '',
      commit: '',
      pinned: false,
      created: 0,
      used: 0,
      inUse,
      parts: 1,
      unreadable: NEWER,
    };
  }
  const parts = Math.max(...metas.map((meta) => meta.parts));
  const known = metas.length >= parts && metas.every(({ totalBytes }) => totalBytes > 0);
  const single = parts === 1;
  return {
    source: first.set || first.address,
    name: fileName(first.set || first.address),
    bytes: known ? metas.reduce((sum, { totalBytes }) => sum + totalBytes, 0) : 0,
    stored,
    packed,
    complete: isWhole(group),
    verified: metas.length >= parts && metas.every(({ verified }) => verified),
    sha256: single ? first.sha256 : '',
    etag: single ? first.etag : '',
    commit: first.commit,
    pinned: metas.some(({ pinned }) => pinned),
    created: Math.min(...metas.map(({ created }) => created)),
    used: usedAt(group),
    inUse,
    parts,
  };
}

async function list(folder: Folder): Promise<CachedModel[]> {
  const groups = groupItems(await listItems(folder)).reverse();
  return groups.flatMap((group) => describe(group) ?? []);
}

function inUse(named: NamedModel): SluiceError {
  return new SluiceError(
    'busy',
    `'${named.source.slice(0, 200)}' is in use; close its engines, in other tabs too, and try again`,
  );
}

async function remove(folder: Folder, named: NamedModel): Promise<boolean> {
  const found = await findModel(folder, named);
  if (found === undefined) return false;
  if (found.group.some((item) => item.inUse)) throw inUse(named);
  const { left } = await removeItems(folder, found.group);
  if (left > 0) throw inUse(named);
  return true;
}

async function clear(folder: Folder): Promise<number> {
  let freed = 0;
  for (const group of groupItems(await listItems(folder))) {
    if (isEvictable(group)) freed += (await removeItems(folder, group)).freed;
  }
  return freed;
}

async function pin(folder: Folder | null, named: NamedModel, pinned: boolean): Promise<void> {
  const { group } = await mustFind(folder, named);
  for (const { key, newer } of group) {
    if (newer) throw new SluiceError('invalid_argument', NEWER);
    const write = await takeLockSoon(WRITE_LOCK + key);
    if (write === null) throw inUse(named);
    try {
      await withJournal(folder as Folder, key, (journal: JournalHandle) =>
        journal.change({ pinned }),
      );
    } finally {
      await write.release();
    }
  }
}

async function exported(folder: Folder | null, named: NamedModel): Promise<Blob | string> {
  const { group, item } = await mustFind(folder, named);
  const { meta, complete, key } = item;
  if (meta !== null && meta.address === meta.set && !named.source.startsWith(BY_KEY)) {
    const others = group.flatMap(({ meta }) => meta?.address ?? []).filter((a) => a !== meta.set);
    const first = [BY_KEY + key, ...others].join(', ');
    throw new SluiceError(
      'invalid_argument',
      `the model is split into several files; give one of these: ${first}`,
    );
  }
  const file = await fileHandle(folder as Folder, `${key}.gguf`);
  if (meta === null || !complete || file === null) {
    throw new SluiceError(
      'invalid_argument',
      meta === null ? NEWER : 'the model is not wholly in the cache; load it to its end first',
    );
  }
  return exportFile(folder as Folder, `${key}.gguf`);
}

interface Progress {
  (checked: number, total: number): void;
}

/** Opens a file of the cache for checking it. */
async function openToCheck(meta: Meta, named: NamedModel): Promise<BlockFile> {
  const { address, set, part, parts } = meta;
  const entry = await openEntry(address, { names: [], set, part, parts });
  if (entry.kind === 'none') throw new SluiceError('busy', `${entry.why}; try again`);
  if (entry.kind !== 'follower') return entry.file;
  await entry.file.close();
  throw inUse(named);
}

/** Reads all present blocks. Returns the sha256 of a complete file without damage, otherwise ''. */
async function checkBlocks(
  file: BlockFile,
  ondamage: (block: number) => void,
  onbytes: (bytes: number) => void,
): Promise<string> {
  const sha = await makeSha256();
  const buffer = new Uint8Array(file.blockBytes);
  let whole = file.complete;
  for (let block = 0; block < file.blockCount; ++block) {
    if (!file.has(block)) continue;
    const bytes = buffer.subarray(0, file.sizeOf(block));
    if (await file.read(block, [bytes])) {
      sha.update(bytes);
    } else {
      ondamage(block);
      whole = false;
    }
    onbytes(bytes.length);
  }
  return whole ? sha.hex() : '';
}

async function verify(
  folder: Folder | null,
  named: NamedModel,
  progress: Progress,
): Promise<Verification> {
  const { group } = await mustFind(folder, named);
  const total = group.reduce((sum, { stored }) => sum + stored, 0);
  const result: Verification = { ok: true, bytes: 0, damaged: [], sha256: '' };
  let blocks = 0;
  const parts = [...group].sort((a, b) => (a.meta?.part ?? 0) - (b.meta?.part ?? 0));
  for (const { meta } of parts) {
    if (meta === null) throw new SluiceError('invalid_argument', NEWER);
    const file = await openToCheck(meta, named);
    try {
      const before = blocks;
      const sha256 = await checkBlocks(
        file,
        (block) => result.damaged.push(before + block),
        (bytes) => progress((result.bytes += bytes), total),
      );
      const known = file.meta.sha256;
      const fits = sha256 !== '' && sha256 === known;
      if (sha256 !== '' && known !== '' && fits !== file.meta.verified)
        await file.note({ verified: fits });
      if (sha256 !== '' && known !== '' && !fits) result.ok = false;
      if (parts.length === 1) result.sha256 = sha256;
      blocks += file.blockCount;
    } finally {
      await file.close();
    }
  }
  if (result.damaged.length > 0) result.ok = false;
  return result;
}

async function room(folder: Folder | null, bytes: number | null): Promise<CacheRoom> {
  if (folder !== null && bytes !== null) await makeRoom(folder, bytes, '');
  const groups = folder === null ? [] : groupItems(await listItems(folder));
  const { usage, quota } = (await estimate()) ?? { usage: 0, quota: 0 };
  return {
    usage,
    quota,
    persisted: await persisted(),
    evictable: folder === null ? 0 : await freeable(folder, groups),
  };
}

/** Milliseconds to wait for a hub's list: short, because a person waits for it. */
const LIST_PATIENCE = 15_000;

function files({ source, hub, headers }: NamedModel & { headers: [string, string][] }) {
  // The page ends the worker if it no longer wants the list.
  const end = new AbortController();
  return listModelFiles(source, hub, headers, {
    fetch: (url, asked) => fetch(url, asked),
    custom: false,
    signal: end.signal,
    fail: () => end.abort(),
    patiences: { stallTimeout: LIST_PATIENCE, retryTimeout: LIST_PATIENCE },
    patience: new Patience(LIST_PATIENCE),
    onwaiting: () => {},
    onwaited: () => {},
  });
}

/** The folder, opened for a call; null if there can't be one. Its files can be checked from now on. */
async function ready(): Promise<Folder | null> {
  const opened = await openFolder();
  if ('why' in opened) return null;
  await loadHashes();
  return opened;
}

/** A handler that needs the folder. `without`: the result where there is none. */
function inFolder<Args, Result>(
  without: Result,
  work: (folder: Folder, args: Args) => Promise<Result>,
): (args: Args) => Promise<Result> {
  return async (args) => {
    const folder = await ready();
    return folder === null ? without : work(folder, args);
  };
}

/** What a loader worker does for the calls of `cache` and `states`. */
export const CACHE_HANDLERS: Omit<Handlers<LoaderCalls>, 'read'> = {
  files,
  list: inFolder([], list),
  clear: inFolder(0, clear),
  find: inFolder(null, async (folder, model) =>
    describe((await findModel(folder, model))?.group ?? []),
  ),
  has: inFolder(false, async (folder, model) =>
    isWhole((await findModel(folder, model))?.group ?? []),
  ),
  delete: inFolder(false, remove),
  listStates: inFolder([], listStates),
  deleteState: inFolder(false, (folder, { id }) => deleteState(folder, id)),
  shrinkStates: inFolder(0, (folder, { bytes }) => shrinkStates(folder, bytes)),
  verify: async (model, reply) =>
    verify(await ready(), model, (checked, total) => reply.item({ checked, total })),
  export: async (model) => exported(await ready(), model),
  pin: async ({ pinned, ...model }) => {
    await pin(await ready(), model, pinned);
    return undefined;
  },
  room: async ({ bytes }) => room(await ready(), bytes),
};
