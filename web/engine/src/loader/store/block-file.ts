// A file in the cache, block by block: for the one tab that writes it, and for those that read it meanwhile or later.
//
// The bytes of a block are written before its hash, but neither is flushed to the disk: if the whole device crashes, the hash
// shows an incomplete block when it is read.
import { takeLock, estimate, isWhole, setWhole } from '../../platform/here.js';
import {
  USE_LOCK,
  WRITE_LOCK,
  type Folder,
  type FileHandle,
  type SyncHandle,
  type Lock,
  type Estimate,
} from '../../platform/platform.js';
import { SluiceError } from '../../shared/errors.js';
import { BlockTable } from './block-table.js';
import { BlockWriter, type BlockTarget } from './block-writer.js';
import { xxh64 } from './hashes.js';
import { JournalHandle, resize, withJournal, writeAll } from './journal-handle.js';
import { blockBytesFor, countBlocks, isTotal, tableHash, type Meta } from './journal.js';
import {
  fileHandle,
  openToRead,
  openToWrite,
  removeFiles,
  removeIdleCopy,
  setAlone,
  sizeOf,
  takeLockSoon,
} from './files.js';
import { openPackedCopy, type PackedCopy } from './packed-copy.js';
import { makeRoom, removeOldest } from './room.js';
import { readRecord, type Found } from './shelf.js';
import { readHashed, readViews, readViewsOf } from './views.js';
import { JournalWatch } from './watch.js';

/** What the server or the hub says about a file. */
export interface BlockFacts {
  /** Bytes of the whole file; 0 if unknown. */
  total: number;
  etag: string;
  lastModified: string;
  commit: string;
  /** '' if unknown. */
  sha256: string;
}

/** What a BlockFile is opened with; it owns the locks. */
export interface Opening {
  folder: Folder;
  key: string;
  meta: Meta;
  table: BigUint64Array;
  use: Lock;
  /** Null: another tab writes, or the file is complete. */
  write: Lock | null;
}

/** Milliseconds for which a reader tries to become a writer: other tabs may be reading. */
const BRIEFLY_MS = 200;

export class BlockFile {
  readonly #folder: Folder;
  readonly #key: string;
  readonly #use: Lock;
  #write: Lock | null;
  #meta: Meta;
  readonly #table: BlockTable;
  #journal: JournalHandle | null = null;
  #data: SyncHandle | null = null;
  /** The browser's storage estimate when the file's size was set. */
  #room: Estimate | null = null;
  /** For reading without a sync handle. */
  #file: FileHandle | null = null;
  readonly #writers = new Map<number, BlockWriter>();
  readonly #target: BlockTarget;
  /** Finds the blocks that another tab writes, and tells other tabs of ours. */
  readonly #watch: JournalWatch;
  #closed = false;
  readonly #closing = new AbortController();
  /** Resolves when the damaged blocks are removed. */
  #losing: Promise<void> = Promise.resolve();
  /** Resolves when a reader's changes of the journal are written. */
  #noting: Promise<void> = Promise.resolve();
  /** Follower: called for each block that the other tab has written. */
  onblock: (block: number) => void = () => {};

  /** See openEntry. */
  constructor({ folder, key, meta, table, use, write }: Opening) {
    this.#folder = folder;
    this.#key = key;
    this.#meta = meta;
    this.#table = new BlockTable(table);
    this.#use = use;
    this.#write = write;
    this.#watch = new JournalWatch(folder, key, (found) => this.#found(found));
    this.#target = {
      sizeOf: (block) => this.sizeOf(block),
      write: (block, offset, bytes) => this.#writeBytes(block, offset, bytes),
      record: (block, hash) => this.#record(block, tableHash(hash)),
      buffers: [],
    };
  }

  get meta(): Meta {
    return this.#meta;
  }

  /** Bytes of each block but the last. */
  get blockBytes(): number {
    return this.#meta.blockBytes;
  }

  /** Bytes of the whole file; 0 if unknown. */
  get total(): number {
    return this.#meta.totalBytes;
  }

  /** With an unknown total: up to the last present block. */
  get blockCount(): number {
    return this.total > 0 ? countBlocks(this.#meta, 0) : this.#table.length;
  }

  /** Whether this worker may write blocks. Not so for readers and followers, and after close(). */
  get writable(): boolean {
    return this.#write !== null && !this.#closed;
  }

  /** Bytes of this block. */
  sizeOf(block: number): number {
    const end = this.total || Infinity;
    return Math.max(0, Math.min(this.blockBytes, end - block * this.blockBytes));
  }

  has(block: number): boolean {
    return this.#table.has(block);
  }

  get complete(): boolean {
    return this.total > 0 && this.missing() === 0;
  }

  /** The number of missing blocks. */
  missing(): number {
    let count = 0;
    for (let i = 0; i < this.blockCount; ++i) if (!this.has(i)) count += 1;
    return count;
  }

  /** Bytes of the present blocks; 0 while the file's size is unknown. */
  stored(): number {
    if (this.total === 0) return 0;
    let sum = 0;
    for (let i = 0; i < this.blockCount; ++i) if (this.has(i)) sum += this.sizeOf(i);
    return sum;
  }

  /**
   * For openEntry: opens the files of a writer, or those of a reader. `exists`: there is a journal that can be read. A new
   * entry has no files before begin().
   */
  async open(exists: boolean): Promise<void> {
    if (this.#write === null) {
      this.#file = await fileHandle(this.#folder, `${this.#key}.gguf`);
      if (this.#file !== null) this.#adopt(await openToRead(this.#file));
    } else if (exists) {
      await this.#openToWrite();
    }
  }

  /** Keeps a handle, unless the file was closed while the handle was being opened. */
  #adopt(handle: SyncHandle | null): void {
    if (this.#closed) handle?.close();
    else this.#data = handle;
  }

  /** Opens both files for writing, and reads the journal again. */
  async #openToWrite(patience?: number): Promise<void> {
    const create = { create: true };
    this.#file = await this.#folder.getFileHandle(`${this.#key}.gguf`, create);
    const journalFile = await this.#folder.getFileHandle(`${this.#key}.journal`, create);
    const { state, header, table } = await readRecord(this.#folder, this.#key);
    if (state === 'newer') throw newerVersion();
    this.#data?.close();
    this.#data = null;
    await setAlone(this.#use, patience);
    const data = await openToWrite(this.#file, patience);
    let journal: SyncHandle | null = null;
    try {
      journal = await openToWrite(journalFile, patience);
      this.#check();
      const found = typeof header === 'string' ? null : header;
      this.#journal = new JournalHandle(journal, found, this.#meta);
      if (found === null) data.truncate(0);
      this.#table.replace(table);
      this.#meta = this.#journal.meta;
      this.#data = data;
      if (!this.complete) this.#mark(false);
    } catch (error) {
      this.#journal = null;
      journal?.close();
      data.close();
      throw error;
    }
  }

  #mark(whole: boolean): void {
    setWhole(this.#folder, this.#key, whole);
  }

  /**
   * Where other programs see the files: checks the blocks of a complete file that this session hasn't checked, and gives it the
   * name of a whole one. Its sha256, if one is known, must be verified.
   */
  async finish(): Promise<void> {
    if (this.#closed || !this.complete || isWhole(this.#folder, this.#key)) return;
    const buffer = new Uint8Array(this.blockBytes);
    for (let block = 0; block < this.blockCount; ++block) {
      if (this.checked(block)) continue;
      if (!(await this.read(block, [buffer.subarray(0, this.sizeOf(block))]))) return;
    }
    const mine = this.#write;
    const write = mine ?? (await takeLockSoon(WRITE_LOCK + this.#key));
    if (write !== null && this.complete && !this.#closed) {
      this.#mark(true);
      this.#use.setAlone?.(false);
    }
    if (mine === null) await write?.release();
  }

  /** Throws if the file is closed. */
  #check(): void {
    if (this.#closed) throw new SluiceError('aborted', 'the file in the cache was closed');
  }

  /**
   * Writer, before the first byte, and when more is known about the file: keeps the present blocks if the total is the same,
   * or was unknown. Frees disk space if need be, and sets the file's size. Throws storage_full with figures, or
   * invalid_argument for an address that is too long.
   */
  async begin(facts: BlockFacts): Promise<void> {
    this.#mustWrite();
    const { total, ...known } = facts;
    if (!isTotal(total)) {
      throw new SluiceError('bad_file', `the file can't have ${total} bytes; check the address`);
    }
    if (this.total !== total && !this.#fits(total)) this.reset();
    // Without blocks, a packed copy can only be of another file.
    if (this.#table.empty) await removeIdleCopy(this.#folder, this.#key);
    const had = await sizeOf(await fileHandle(this.#folder, `${this.#key}.gguf`));
    if (total > had) await makeRoom(this.#folder, total - had, this.#set());
    this.#room = await estimate();
    await this.#allot(total);
    const empty = this.#table.empty && this.#writers.size === 0;
    if (empty) this.#journal?.dropBlocks();
    const blockBytes = empty ? blockBytesFor(total) : this.blockBytes;
    this.#change({ ...known, totalBytes: total, blockBytes });
    if (total > 0) this.#table.resize(this.blockCount);
    this.#watch.tell();
    for (const writer of this.#writers.values()) writer.finish();
  }

  /** Whether the present blocks can be those of a file of `total` bytes. */
  #fits(total: number): boolean {
    return this.total === 0 && this.#table.length * this.blockBytes <= total;
  }

  #set(): string {
    return this.#meta.set || this.#meta.address;
  }

  /**
   * Opens the files and sets the size of the one with the bytes. A browser may grant less than it reports: then the least
   * recently used models are evicted, one by one, until the file fits.
   */
  async #allot(total: number): Promise<void> {
    for (;;) {
      try {
        if (this.#journal === null) await this.#openToWrite();
        this.#check();
        if (total > 0) resize(this.#data as SyncHandle, total, this.#room);
        return;
      } catch (error) {
        if (!(error instanceof SluiceError) || error.code !== 'storage_full') throw error;
        if (await removeOldest(this.#folder, this.#set())) continue;
        if (this.#table.empty) await this.#remove();
        throw error;
      }
    }
  }

  /** Deletes the files of an entry without blocks, which stays open. */
  async #remove(): Promise<void> {
    this.#data?.close();
    this.#journal?.close();
    this.#data = this.#journal = null;
    await removeFiles(this.#folder, this.#key);
  }

  #change(change: Partial<Meta>): void {
    this.#journal?.change(change);
    this.#meta = this.#journal?.meta ?? { ...this.#meta, ...change };
  }

  #mustWrite(): void {
    this.#check();
    if (!this.writable) throw new Error('another tab writes this file of the cache');
  }

  /** Writer: drops all blocks, because the file has changed. */
  reset(): void {
    this.#mustWrite();
    for (const writer of this.#writers.values()) writer.end();
    this.#writers.clear();
    this.#table.reset();
    this.#journal?.dropBlocks();
    this.#mark(false);
    const unknown = { totalBytes: 0, etag: '', lastModified: '', commit: '', sha256: '' };
    this.#change({ ...unknown, verified: false });
    this.#data?.truncate(0);
    this.#watch.tell();
  }

  /**
   * Writer, after begin(): writes a block, from its first byte on. Several blocks may be written at once; an earlier writer of
   * the same block ends.
   */
  block(index: number): BlockWriter {
    this.#mustWrite();
    if (this.#journal === null) throw new Error('begin() was not called');
    if (!Number.isSafeInteger(index) || index < 0 || this.sizeOf(index) === 0)
      throw new Error(`the file has no block ${index}`);
    this.#writers.get(index)?.end();
    // Removes the old hash first: it doesn't belong to the new bytes.
    if (this.#table.hash(index) !== 0n) this.#clear(index);
    const writer = new BlockWriter(index, this.#target);
    this.#writers.set(index, writer);
    return writer;
  }

  #writeBytes(block: number, offset: number, bytes: Uint8Array): void {
    this.#mustWrite();
    writeAll(this.#data as SyncHandle, bytes, block * this.blockBytes + offset, this.#room);
  }

  #record(block: number, hash: bigint): void {
    this.#writers.delete(block);
    this.#table.expect(block, hash);
    this.#journal?.setHash(block, hash);
    if (this.#table.record(block, hash)) this.#change({ verified: true });
    this.#watch.tell();
  }

  /**
   * Reads a block into the views, which cover it exactly; they may be in shared memory. Checks its hash at the first read in
   * this session. False: the block is damaged, and was removed. It can be fetched again, and written if the file is writable:
   * a damaged complete file becomes writable if no other tab uses it.
   */
  async read(block: number, views: Uint8Array[]): Promise<boolean> {
    this.#check();
    if (!this.has(block)) return false;
    const hash = this.#table.hash(block);
    const checked = this.#table.checked(block);
    let good: boolean;
    try {
      good = await this.#fill(block * this.blockBytes, views, checked ? null : hash);
    } catch {
      good = false;
    }
    this.#check();
    if (good) this.#table.check(block, hash);
    if (!good) await this.#lose(block, hash);
    return good;
  }

  /** Whether the block's hash was checked in this session: only then parts of it can be read. */
  checked(block: number): boolean {
    return this.#table.checked(block);
  }

  /** Reads a part of a block that was checked, from the offset `at` in the file on, as read() does. */
  async readPart(at: number, views: Uint8Array[]): Promise<boolean> {
    this.#check();
    const block = Math.floor(at / this.blockBytes);
    if (!this.checked(block)) return false;
    const hash = this.#table.hash(block);
    const good = await this.#fill(at, views, null).catch(() => false);
    this.#check();
    if (!good) await this.#lose(block, hash);
    return good;
  }

  /** False: the bytes can't be read, or don't have this hash. (Null: it isn't compared.) */
  async #fill(at: number, views: Uint8Array[], hash: bigint | null): Promise<boolean> {
    if (this.#data !== null) {
      if (hash === null) return readViews(this.#data, at, views);
      const found = readHashed(this.#data, at, views);
      return found !== null && tableHash(found) === hash;
    }
    this.#file ??= await fileHandle(this.#folder, `${this.#key}.gguf`);
    if (this.#file === null || !(await readViewsOf(this.#file, at, views))) return false;
    return hash === null || tableHash(xxh64(views)) === hash;
  }

  /** Opens the packed copy, of a complete file. Null: there is none. */
  async openCopy(layout: number): Promise<PackedCopy | null> {
    if (this.#closed || !this.complete) return null;
    const { total } = this;
    const original = { layout, total, table: this.#table.hashes };
    return openPackedCopy(this.#folder, this.#key, original);
  }

  /** Removes a damaged block; also from the journal, if the write lock is free or ours. */
  #lose(block: number, hash: bigint): Promise<void> {
    this.#table.damage(block, hash);
    // One at a time: the first may make us the writer.
    const losing = this.#losing.then(() => this.#loseNow(block, hash));
    this.#losing = losing.catch(() => {});
    return losing;
  }

  /** Never rejects, except if a writer's disk is full. */
  async #loseNow(block: number, hash: bigint): Promise<void> {
    if (this.#table.hash(block) !== hash) return; // has changed meanwhile
    if (this.#journal !== null) return this.#clear(block);
    if (this.#watch.active || this.#closed) return;
    const write = await takeLockSoon(WRITE_LOCK + this.#key);
    if (write === null) return;
    if (this.#closed) return void write.release();
    try {
      await this.#clearAsReader(write, block, hash);
    } catch {
      // The block stays in the journal: the next session finds the damage.
    }
  }

  /** Becomes the writer of a complete file with a damaged block; or only clears the block, if other tabs read the file. */
  async #clearAsReader(write: Lock, block: number, hash: bigint): Promise<void> {
    const hadHandle = this.#data !== null;
    this.#write = write;
    try {
      await this.#openToWrite(BRIEFLY_MS);
      if (this.#table.hash(block) === hash) this.#clear(block);
    } catch (error) {
      this.#write = null;
      try {
        if (hadHandle && !this.#closed && this.#data === null && this.#file !== null)
          this.#adopt(await openToRead(this.#file));
        this.#mark(false);
        await this.#withJournal((journal) => {
          journal.change({ verified: false });
          journal.setHash(block, 0n);
        });
      } finally {
        await write.release();
      }
      throw error;
    }
  }

  /** Opens the journal for one change. The caller has the write lock. */
  async #withJournal(change: (journal: JournalHandle) => void): Promise<void> {
    this.#meta = (await withJournal(this.#folder, this.#key, change)) ?? this.#meta;
  }

  /** Removes a block from the journal. A verified file isn't verified without it. */
  #clear(block: number): void {
    const { verified } = this.#meta;
    this.#mark(false);
    if (verified) this.#change({ verified: false });
    this.#journal?.setHash(block, 0n);
    this.#table.clear(block, verified);
    this.#watch.tell();
  }

  /**
   * Changes the file's metadata in the journal. A writer does that at once; a reader of a complete file only if no other tab
   * is writing the journal. Never rejects.
   */
  note(change: Partial<Meta>): Promise<void> {
    if (this.#closed) return Promise.resolve();
    if (this.#write !== null) {
      try {
        this.#change(change);
      } catch {
        // The disk is full, or the metadata is too long: the old metadata stays.
      }
      return Promise.resolve();
    }
    if (this.#watch.active) return Promise.resolve();
    this.#noting = this.#noting.then(() => this.#noteAsReader(change)).catch(() => {});
    return this.#noting;
  }

  /** Resolves when a reader's changes of the journal are written or abandoned. close() doesn't wait for them. */
  get noted(): Promise<void> {
    return this.#noting;
  }

  async #noteAsReader(change: Partial<Meta>): Promise<void> {
    // A damaged block has made it a writer meanwhile.
    if (this.#write !== null) return this.#change(change);
    const write = await takeLockSoon(WRITE_LOCK + this.#key);
    if (write === null) return;
    try {
      await this.#withJournal((journal) => journal.change(change));
    } finally {
      await write.release();
    }
  }

  /**
   * For openEntry: watches for new blocks until the write lock is ours, and then becomes the writer. Resolves to null after
   * close(). Rejects if the files can't be opened for writing.
   */
  async follow(): Promise<BlockFile | null> {
    this.#watch.start();
    const { signal } = this.#closing;
    const write = await takeLock(WRITE_LOCK + this.#key, { signal });
    await this.#watch.stop();
    if (write === null) return null;
    if (this.#closed) {
      await write.release();
      return null;
    }
    this.#write = write;
    const before = this.#table.hashes;
    try {
      await this.#openUnlessNew();
    } catch (error) {
      if (this.#closed) return null;
      this.#write = null;
      await write.release();
      throw error;
    }
    this.#tellNew(before);
    return this;
  }

  async #openUnlessNew(): Promise<void> {
    const { state } = await readRecord(this.#folder, this.#key);
    if (state === 'newer') throw newerVersion();
    if (state === 'valid') return this.#openToWrite();
    this.#table.replace(new BigUint64Array(0));
    this.#meta = { ...this.#meta, totalBytes: 0, verified: false };
  }

  #found({ header, table }: Found): void {
    if (typeof header === 'string' || this.#closed) return;
    const before = this.#table.hashes;
    this.#meta = header.meta;
    this.#table.replace(table);
    this.#tellNew(before);
  }

  /** Calls onblock for the blocks that `before` didn't have. */
  #tellNew(before: BigUint64Array): void {
    this.#table.hashes.forEach((hash, block) => {
      if (hash !== 0n && before[block] !== hash && !this.#closed) this.onblock(block);
    });
  }

  /** Closes the handles and releases the locks, which takes a moment. An incomplete block is lost. May be called again. */
  close(): Promise<void> {
    return this.#release(this.#use, this.#write);
  }

  /** Never rejects. */
  async #release(...locks: (Lock | null)[]): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      for (const writer of this.#writers.values()) writer.end();
      this.#writers.clear();
      this.#watch.close();
      this.#data?.close();
      this.#journal?.close();
      this.#data = this.#journal = null;
      this.#closing.abort();
    }
    await Promise.all(locks.map((lock) => lock?.release().catch(() => {})));
  }

  /**
   * Closes the file and deletes it. If other tabs use it, only its blocks are dropped. A follower only closes it.
   */
  async drop(): Promise<void> {
    if (this.#closed) return;
    const following = this.#watch.active;
    void this.#release();
    await this.#noting;
    const write = this.#write ?? (following ? null : await takeLockSoon(WRITE_LOCK + this.#key));
    await this.#use.release();
    if (write === null) return;
    try {
      const use = await takeLock(USE_LOCK + this.#key, { ifAvailable: true });
      if (use !== null) {
        await removeFiles(this.#folder, this.#key).finally(() => use.release());
      } else {
        await removeIdleCopy(this.#folder, this.#key);
        this.#mark(false);
        await this.#withJournal((journal) => {
          journal.dropBlocks();
          journal.change({ verified: false });
        });
      }
    } finally {
      await write.release();
    }
  }
}

export function newerVersion(): SluiceError {
  return new SluiceError(
    'invalid_argument',
    'a newer version of Sluice keeps this model in the cache, in a form that this version does not know',
  );
}
