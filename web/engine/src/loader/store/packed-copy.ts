// The packed copy of a cached file: chunks of weights in the core's packed layout, so that streamed weights need not be packed
// again for every pass. Correctness doesn't depend on it: chunks that it lacks are read from the file.
//
// Only whole chunks are stored and read, because the packed bytes of a strip are not in the order of the file's.
import { takeLock } from '../../platform/here.js';
import { PACK_LOCK, type Folder, type SyncHandle, type Lock } from '../../platform/platform.js';
import type { Range } from '../../shared/outstanding.js';
import { writeAll } from './journal-handle.js';
import {
  HEADER_BYTES,
  MOST_RECORDS,
  RECORD_BYTES,
  chunkHash,
  indexHeader,
  isChunk,
  readIndex,
  recordOf,
  type Chunk,
  type Original,
} from './packed-index.js';
import { fileHandle, openToWrite, removeCopy, sizeOf } from './files.js';
import { hasRoomTwice } from './room.js';
import { cutViews, readHashed, readViews } from './views.js';
import { tableHash } from './journal.js';

/** Milliseconds to wait for the browser to close the handles of a killed worker. */
const PATIENCE_MS = 200;

/** The handles of a copy, and the contents of its index. */
interface Files {
  packed: SyncHandle;
  index: SyncHandle;
  chunks: Map<number, Chunk>;
  /** The offset of the next record. */
  end: number;
}

/** Opens both files; if they are no copy of `original`, they are emptied. */
async function openFiles(folder: Folder, key: string, original: Original): Promise<Files> {
  const create = { create: true };
  const handles: SyncHandle[] = [];
  try {
    for (const ending of ['packed', 'index']) {
      const file = await folder.getFileHandle(`${key}.${ending}`, create);
      handles.push(await openToWrite(file, PATIENCE_MS));
    }
    const [packed, index] = handles as [SyncHandle, SyncHandle];
    return { packed, index, ...loadIndex(packed, index, original) };
  } catch (error) {
    for (const handle of handles) handle.close();
    throw error;
  }
}

function loadIndex(
  packed: SyncHandle,
  index: SyncHandle,
  original: Original,
): Pick<Files, 'chunks' | 'end'> {
  const header = indexHeader(original);
  const size = index.getSize();
  if (size <= HEADER_BYTES + RECORD_BYTES * MOST_RECORDS) {
    const bytes = new Uint8Array(size);
    const whole = index.read(bytes, { at: 0 }) === size;
    const chunks = whole ? readIndex(bytes, header, original, packed.getSize()) : null;
    // An incomplete record is overwritten.
    const recordCount = Math.floor((size - HEADER_BYTES) / RECORD_BYTES);
    if (chunks !== null) return { chunks, end: HEADER_BYTES + RECORD_BYTES * recordCount };
  }
  // The index first: without it no byte of the other file is used.
  index.truncate(0);
  packed.truncate(0);
  writeAll(index, header, 0);
  return { chunks: new Map(), end: HEADER_BYTES };
}

/**
 * Opens the copy of a complete file, or creates it. Null if another worker holds it, the disk lacks space for it, or it can't
 * be opened. The caller has the entry's use lock.
 */
export async function openPackedCopy(
  folder: Folder,
  key: string,
  original: Original,
): Promise<PackedCopy | null> {
  const lock = await takeLock(PACK_LOCK + key, { ifAvailable: true }).catch(() => null);
  if (lock === null) return null;
  try {
    const had = await sizeOf(await fileHandle(folder, `${key}.packed`));
    const roomy = await hasRoomTwice(Math.max(0, original.total - had));
    if (had > 0 || roomy) {
      const files = await openFiles(folder, key, original);
      if (roomy || files.chunks.size > 0) return new PackedCopy(files, original.total, lock, roomy);
      files.packed.close();
      files.index.close();
    }
    await removeCopy(folder, key);
  } catch {
    // The load continues without a copy.
  }
  await lock.release().catch(() => {});
  return null;
}

export class PackedCopy {
  readonly #packed: SyncHandle;
  readonly #index: SyncHandle;
  /** By their begin. */
  readonly #chunks: Map<number, Chunk>;
  /** The begins, in ascending order. */
  readonly #begins: number[];
  /** The chunks whose hash was checked in this session. */
  readonly #checked = new WeakSet<Chunk>();
  readonly #total: number;
  readonly #lock: Lock;
  #end: number;
  #keeps: boolean;
  #closed = false;

  /** See openPackedCopy. `keeps`: the disk has space for more chunks. */
  constructor({ packed, index, chunks, end }: Files, total: number, lock: Lock, keeps: boolean) {
    this.#packed = packed;
    this.#index = index;
    this.#chunks = chunks;
    this.#begins = [...chunks.keys()].sort((a, b) => a - b);
    this.#end = end;
    this.#total = total;
    this.#lock = lock;
    this.#keeps = keeps;
  }

  /** Whether more chunks can be stored. */
  get keeps(): boolean {
    return this.#keeps && !this.#closed;
  }

  /**
   * The range of consecutive chunks from `from` on that ends at `to` at the latest. It has at most `most` bytes, unless its
   * first chunk alone has more. Null if no chunk begins at `from`.
   */
  readable(from: number, to: number, most: number): Range | null {
    let at = from;
    for (;;) {
      const chunk = this.#chunks.get(at);
      if (chunk === undefined || chunk.end > to) break;
      if (at > from && chunk.end - from > most) break;
      at = chunk.end;
    }
    return at > from ? { from, to: at } : null;
  }

  /** The begin of the first chunk after `from` that ends at `to` at the latest; `to` if there is none. */
  after(from: number, to: number): number {
    for (let i = this.#firstBehind(from); ; ++i) {
      const begin = this.#begins[i];
      if (begin === undefined || begin >= to) return to;
      const chunk = this.#chunks.get(begin);
      if (chunk !== undefined && chunk.end <= to) return begin;
    }
  }

  /** The index of the first begin after `at`. */
  #firstBehind(at: number): number {
    let low = 0;
    let high = this.#begins.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#begins[middle] as number) > at) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /**
   * Reads the chunks that readable() has named into views that cover them; they may be in shared memory. Checks a chunk's hash
   * at its first read in this session. False: a chunk can't be read or is damaged. It is removed, now or when it is read again.
   */
  read(from: number, views: Uint8Array[]): boolean {
    const to = from + views.reduce((sum, { length }) => sum + length, 0);
    const within = (begin: number, end: number): Uint8Array[] =>
      cutViews(views, begin - from, end - from);
    // Consecutive checked chunks are read at once.
    let checked: Chunk[] = [];
    for (let at = from; ;) {
      const chunk = this.#chunks.get(at);
      if (at < to && (this.#closed || chunk === undefined || chunk.end > to)) return false;
      const more = at < to && chunk !== undefined;
      if (more && this.#checked.has(chunk)) {
        checked.push(chunk);
        at = chunk.end;
        continue;
      }
      const [first] = checked;
      if (first !== undefined && !this.#fill(first.begin, within(first.begin, at))) {
        // The next read checks each of them, and finds the damaged one.
        for (const each of checked) this.#checked.delete(each);
        return false;
      }
      if (!more) return true;
      checked = [];
      if (!this.#check(chunk, within(at, chunk.end))) {
        this.#forget(chunk);
        return false;
      }
      at = chunk.end;
    }
  }

  #fill(begin: number, views: Uint8Array[]): boolean {
    try {
      return readViews(this.#packed, begin, views);
    } catch {
      return false;
    }
  }

  /** Reads a chunk, and checks its hash. */
  #check(chunk: Chunk, views: Uint8Array[]): boolean {
    try {
      const found = readHashed(this.#packed, chunk.begin, views);
      if (found === null || tableHash(found) !== chunk.hash) return false;
    } catch {
      return false;
    }
    this.#checked.add(chunk);
    return true;
  }

  #forget({ begin }: Chunk): void {
    this.#chunks.delete(begin);
    const i = this.#firstBehind(begin) - 1;
    if (this.#begins[i] === begin) this.#begins.splice(i, 1);
  }

  /** Stores the packed bytes of a chunk, unless they are stored. After a failed write nothing more is stored. */
  keep(begin: number, bytes: Uint8Array): void {
    const end = begin + bytes.length;
    if (!this.keeps || !isChunk(begin, end, this.#total)) return;
    const before = this.#chunks.get(begin);
    if (before?.end === end) return;
    if (before !== undefined) this.#forget(before);
    try {
      if (this.#end >= HEADER_BYTES + RECORD_BYTES * MOST_RECORDS) throw new Error('it is full');
      const chunk = { begin, end, hash: chunkHash([bytes]) };
      writeAll(this.#packed, bytes, begin);
      writeAll(this.#index, recordOf(chunk), this.#end);
      this.#end += RECORD_BYTES;
      this.#chunks.set(begin, chunk);
      this.#begins.splice(this.#firstBehind(begin), 0, begin);
    } catch {
      this.#keeps = false;
    }
  }

  /** Empties the copy: the engine has refused its chunks, though their hashes are right. */
  discard(): void {
    this.#keeps = false;
    this.#chunks.clear();
    this.#begins.length = 0;
    try {
      if (!this.#closed) this.#index.truncate(0);
    } catch {
      // The index stays: the copy is found, and refused, the next time.
    }
  }

  /** Closes the handles and releases the lock. May be called again. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#packed.close();
    this.#index.close();
    this.#lock.release().catch(() => {});
  }
}
