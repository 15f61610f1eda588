// The journal of an entry, open for writing. The caller has the entry's write lock.
import { type Folder, type SyncHandle, type Estimate } from '../../platform/platform.js';
import { SluiceError } from '../../shared/errors.js';
import {
  JOURNAL_VERSION,
  COPY_BYTES,
  TABLE_AT,
  writeHeader,
  type Header,
  type Meta,
} from './journal.js';
import { fileHandle, isNamed, openToWrite } from './files.js';
import { noRoom } from './room.js';
import { readRecord } from './shelf.js';

/** Writes all of `bytes`. Throws storage_full if the disk is full; `room`: the browser's estimate, for the message. */
export function writeAll(
  handle: SyncHandle,
  bytes: Uint8Array,
  at: number,
  room: Estimate | null = null,
): void {
  try {
    for (let done = 0; done < bytes.length;) {
      const written = handle.write(bytes.subarray(done), { at: at + done });
      if (!(written > 0)) throw new DOMException('nothing was written', 'QuotaExceededError');
      done += written;
    }
  } catch (error) {
    if (!isNamed(error, 'QuotaExceededError')) throw error;
    throw noRoom(bytes.length, room, error);
  }
}

/** Sets the size of a file. Throws storage_full if the disk is full; `room` as above. */
export function resize(handle: SyncHandle, size: number, room: Estimate | null = null): void {
  const had = handle.getSize();
  if (had === size) return;
  try {
    handle.truncate(size);
  } catch (error) {
    if (!isNamed(error, 'QuotaExceededError')) throw error;
    throw noRoom(size - had, room, error);
  }
}

export class JournalHandle {
  #meta: Meta;
  #sequence: bigint;
  #copy: 0 | 1;

  /** `header`: as it is in the file; null makes a new journal, with `meta` and no blocks. */
  constructor(
    readonly handle: SyncHandle,
    header: Header | null,
    meta: Meta,
  ) {
    this.#sequence = header?.sequence ?? 0n;
    this.#copy = header?.copy ?? 1;
    this.#meta = header?.meta ?? meta;
    if (header !== null) return;
    handle.truncate(0);
    resize(handle, TABLE_AT);
    this.change({});
  }

  get meta(): Meta {
    return this.#meta;
  }

  change(change: Partial<Meta>): void {
    const meta = { ...this.#meta, ...change };
    const header = writeHeader(meta, this.#sequence + 1n);
    if (header === null) {
      throw new SluiceError(
        'invalid_argument',
        `the address is too long to be kept in the cache (journal version ${JOURNAL_VERSION}); use a shorter one, or cache: 'none'`,
      );
    }
    const copy = this.#copy === 0 ? 1 : 0;
    writeAll(this.handle, header, copy * COPY_BYTES);
    this.#copy = copy;
    this.#sequence += 1n;
    this.#meta = meta;
  }

  /** `hash`: as in the table; 0: the block is missing. */
  setHash(block: number, hash: bigint): void {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setBigUint64(0, hash, true);
    writeAll(this.handle, bytes, TABLE_AT + 8 * block);
  }

  dropBlocks(): void {
    this.handle.truncate(TABLE_AT);
  }

  close(): void {
    this.handle.close();
  }
}

/**
 * Opens the journal of an entry for one change. Returns the meta after it; null if there is no journal that can be read.
 * The caller has the write lock.
 */
export async function withJournal(
  folder: Folder,
  key: string,
  change: (journal: JournalHandle) => void,
): Promise<Meta | null> {
  const file = await fileHandle(folder, `${key}.journal`);
  const { header } = await readRecord(folder, key);
  if (file === null || typeof header === 'string') return null;
  const journal = new JournalHandle(await openToWrite(file), header, header.meta);
  try {
    change(journal);
    return journal.meta;
  } finally {
    journal.close();
  }
}
