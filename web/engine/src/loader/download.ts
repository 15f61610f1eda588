// One file of a model at an address: reads its bytes from the cache and from the network, and caches those from the network.
import { SluiceError } from '../shared/errors.js';
import { failedAt } from '../shared/facts.js';
import type { Outlet } from './outlet.js';
import type { Range } from '../shared/outstanding.js';
import type { Access } from '../shared/protocol.js';
import type { SourceFile } from './source-file.js';
import type { BlockFile } from './store/block-file.js';
import type { Entry } from './store/entries.js';
import type { PackedCopy } from './store/packed-copy.js';
import { cutViews } from './store/views.js';
import { BlockFetch } from './block-fetch.js';
import { Connection, type Piece } from './net/connection.js';
import { Keeper } from './keeper.js';
import type { Report } from './report.js';
import type { FileSpec } from './net/file-spec.js';
import { FIRST_RANGE } from './net/next-blocks.js';
import { Changed, type RemoteFacts, type Net, Remote, Shorter } from './net/remote.js';
import { asRefreshed, emptyFile, refuseWebPage } from './net/why.js';

export class Download implements SourceFile {
  readonly #remote: Remote;
  readonly #keeper: Keeper;
  /** The connection that begins with the file's first missing byte. */
  #first: Connection | null = null;
  /** All bytes before this offset were returned or sent. */
  #at = 0;
  /** Bytes from #at on that were read, and not yet returned or sent. */
  #left: Uint8Array<ArrayBuffer> | null = null;
  #total = 0;
  #exact = false;
  /** Blocks whose bytes were reported, as from the network or from the cache. */
  readonly #counted = new Set<number>();
  #fetch: BlockFetch | null = null;
  /** The engine was told that the source is rereadable. */
  #promised = false;

  /**
   * `openEntry`: opens the cache entry; null: the file isn't cached. `strict`: the load fails if the disk is full; `refresh`:
   * asks the server whether the cached file is current; `probe`: nothing is cached.
   */
  constructor(
    readonly spec: FileSpec,
    readonly net: Net,
    readonly outlet: Outlet,
    readonly report: Report,
    readonly openEntry: (() => Promise<Entry>) | null,
    readonly how: { strict: boolean; refresh: boolean; probe: boolean },
  ) {
    const { url, headers } = spec;
    this.#remote = new Remote(url, headers, openEntry === null ? 'default' : 'no-store', net);
    this.#keeper = new Keeper(spec, net, report, how);
    this.#keeper.onnews = () => outlet.wake();
  }

  get total(): number {
    return this.#total;
  }
  get exact(): boolean {
    return this.#exact;
  }
  get network(): boolean {
    return true;
  }
  get access(): Access {
    if (this.#keeper.file !== null) return 'rereadable';
    const once = this.#remote.ranges === true && this.#total > 0 && !this.unproven;
    return once ? 'any_order' : 'sequential';
  }
  get name(): string {
    return `the file that ${this.#remote.who} sent`;
  }
  get unproven(): boolean {
    return this.#keeper.unproven;
  }
  get copy(): PackedCopy | null {
    return this.#keeper.copy;
  }
  /** Bytes of it that are cached. */
  get kept(): number {
    return this.#keeper.file?.stored() ?? 0;
  }
  /** How many bytes were received, for the error of a file that ended early. */
  get received(): number {
    return Math.max(this.#at, this.#first?.at ?? 0);
  }

  // --- opening -------------------------------------------------------------------------------------

  async open(): Promise<void> {
    const keeper = this.#keeper;
    await keeper.open(this.openEntry);
    if (keeper.file?.complete === true && this.how.refresh) await this.#askIfCurrent();
    while (keeper.follows && keeper.file?.total === 0) await keeper.change();
    const kept = keeper.factsKept();
    if (kept !== null) this.#remote.expect(kept);
    if (kept !== null && (keeper.file?.complete === true || keeper.follows))
      this.#know(kept.total, true);
    else await this.#connect();
    await keeper.beginHashing();
    // Only cached bytes can be read again, so disk space is reserved before the engine is told so.
    if (keeper.writes && keeper.file?.total === 0)
      this.#left = (await this.#nextOfHead(true))?.slice() ?? null;
    this.#promised = this.access === 'rereadable';
  }

  /** Requests the first block, to compare the answer's headers. If the file has changed, the cached one is deleted. */
  async #askIfCurrent(): Promise<void> {
    const keeper = this.#keeper;
    const { url, headers, sha256 } = this.spec;
    const file = keeper.file as BlockFile;
    const asked = new Remote(url, headers, 'no-store', this.net);
    asked.expect(keeper.factsKept() as RemoteFacts);
    const first = new Connection(asked, 0, Math.min(file.blockBytes, file.total));
    try {
      await first.open();
      if (file.meta.sha256 === '' || sha256 === '' || file.meta.sha256 === sha256) return;
    } catch (error) {
      if (!(error instanceof Changed)) throw asRefreshed(error);
    } finally {
      first.close();
    }
    await keeper.drop();
    await keeper.open(this.openEntry);
  }

  /** Requests the first byte that isn't cached. If the file has changed, the cached one is deleted. */
  async #connect(): Promise<void> {
    const { file } = this.#keeper;
    try {
      this.#first = this.#missingFrom(file, 0);
      await this.#first.open();
    } catch (error) {
      if (!(error instanceof Changed) || file === null) throw await this.#mended(error);
      // No byte was sent yet: start again.
      file.reset();
      this.#remote.facts = null;
      this.#first = this.#connection(0, FIRST_RANGE);
      try {
        await this.#first.open();
      } catch (again) {
        throw await this.#mended(again);
      }
    }
    const { total, exact } = this.#remote.facts as RemoteFacts;
    this.#know(total, exact);
  }

  /** A connection for the first bytes from `at` on that aren't cached. It ends before the next cached block. */
  #missingFrom(file: BlockFile | null, at: number): Connection {
    if (file === null || file.total === 0) return this.#connection(at, at + FIRST_RANGE);
    const size = file.blockBytes;
    let block = Math.floor(at / size);
    while (block < file.blockCount && file.has(block)) ++block;
    const from = Math.max(at, block * size);
    const most = from + FIRST_RANGE;
    while (block < file.blockCount && !file.has(block) && block * size < most) ++block;
    return this.#connection(from, Math.min(block * size, most));
  }

  #connection(from: number, to: number): Connection {
    const total = this.#remote.facts?.total ?? 0;
    return new Connection(this.#remote, from, total > 0 ? Math.min(to, total) : to);
  }

  #know(total: number, exact: boolean): void {
    this.#total = total;
    this.#exact = exact;
  }

  /** The error for the user. If the file has changed, the cached one is deleted. */
  async #mended(error: unknown): Promise<unknown> {
    if (!(error instanceof Changed)) return error;
    await this.#keeper.drop();
    return new SluiceError(
      'download_failed',
      `the file on ${this.#remote.who} has changed while it was downloaded (${error.message}); load it again`,
      { facts: failedAt(this.spec.url, 'changed'), cause: error },
    );
  }

  get #base(): number {
    return this.outlet.bases[this.spec.part] ?? 0;
  }

  // --- the header ----------------------------------------------------------------------------------

  async head(at: number, most: number): Promise<Uint8Array<ArrayBuffer> | null> {
    if (at !== this.#at) throw new Error(`head() goes on at ${this.#at}, not at ${at}`);
    if (this.#left === null || this.#left.byteLength === 0) this.#left = await this.#nextOfHead();
    if (this.#left === null) {
      if (at === 0) throw emptyFile(this.name);
      return null;
    }
    const bytes = this.#left.subarray(0, most);
    this.#left = this.#left.subarray(bytes.byteLength);
    this.#at += bytes.byteLength;
    return bytes;
  }

  async #nextOfHead(again = this.outlet.copies): Promise<Uint8Array<ArrayBuffer> | null> {
    for (;;) {
      const at = this.#at;
      const { file, follows } = this.#keeper;
      if (this.#total > 0 && at >= this.#total) return null;
      const block = file === null ? 0 : Math.floor(at / file.blockBytes);
      if (file !== null && file.has(block)) {
        const bytes = await this.#readBlock(file, block);
        if (bytes !== null) return bytes.subarray(at - block * file.blockBytes);
      } else if (follows) {
        await this.#keeper.change();
        continue;
      }
      const piece = await this.#fetchAt(at, again);
      return piece?.bytes ?? null;
    }
  }

  /** Closes the connection while other files are read. It is opened again when it is needed. */
  pause(): void {
    if (this.#remote.ranges === true) this.#first?.close();
  }

  /** Null: the block is damaged. */
  async #readBlock(file: BlockFile, block: number): Promise<Uint8Array<ArrayBuffer> | null> {
    const from = block * file.blockBytes;
    const bytes = new Uint8Array(Math.min(file.blockBytes, file.total - from));
    if (!(await file.read(block, [bytes]))) return null;
    this.#count(file, block);
    return bytes;
  }

  /** Reports a block that was read from the cache, once. */
  #count(file: BlockFile, block: number): void {
    if (this.#counted.has(block)) return;
    this.#counted.add(block);
    this.report.fromCache(file.sizeOf(block));
  }

  /** The next bytes from the network, at `at`. */
  async #fetchAt(at: number, again: boolean): Promise<Piece | null> {
    try {
      let first = this.#first;
      // It may have reached the end of its range, but not of the file.
      if (first === null || first.at !== at || (first.at >= first.to && this.#total > 0)) {
        first?.close();
        const { file } = this.#keeper;
        const block = file === null ? 0 : Math.floor(at / file.blockBytes);
        const missing = file?.has(block) !== true;
        first = missing ? this.#missingFrom(file, at) : this.#connection(at, at + FIRST_RANGE);
        this.#first = first;
      }
      const piece = await first.next(again);
      if (piece !== null) {
        if (piece.at < 4) refuseWebPage(piece.bytes, first.contentType);
        await this.#keep(piece);
      }
      return piece;
    } catch (error) {
      throw await this.#mended(error);
    }
  }

  // --- the weights ---------------------------------------------------------------------------------

  /** Fetches the missing blocks, wanted ones first. Resolves when the sha256 is verified, if one is known. */
  async rest(): Promise<void> {
    try {
      // With a packed copy nothing may be sent that wasn't requested: it might be a part of a chunk.
      if (this.#left !== null && this.#left.byteLength > 0 && this.copy === null) {
        await this.outlet.send(this.#base + this.#at, this.#left);
        this.#at += this.#left.byteLength;
      }
      this.#left = null;
      // A server that didn't name the size: the stream's end is the file's.
      if (this.#total === 0) await this.#toTheEnd();
      else await this.#blocks.fetchAll(this.#takeFirst());
      if (this.#keeper.follows) this.net.onwaited();
      if (this.#total > 0) this.#at = this.#total;
      let last = false;
      while (this.#total > 0 && !(await this.#keeper.prove(this.#total, last)))
        last = !(await this.#blocks.fetchAll(null));
    } catch (error) {
      // The engine has all that there is. Whether the file is whole, its header says.
      if (error instanceof Shorter && !this.unproven) await this.#keeper.forget();
      else throw await this.#mended(error);
    }
  }

  get #blocks(): BlockFetch {
    this.#fetch ??= new BlockFetch({
      total: this.#total,
      base: this.#base,
      remote: this.#remote,
      keeper: this.#keeper,
      outlet: this.outlet,
      keep: (piece) => this.#keep(piece),
      checkKept: () => this.#checkKept(),
    });
    return this.#fetch;
  }

  #takeFirst(): Connection | null {
    const first = this.#first;
    this.#first = null;
    return first;
  }

  /** Downloads up to the stream's end, from a server that didn't name the size. */
  async #toTheEnd(): Promise<void> {
    const stream = this.#first ?? this.#connection(this.#at, Infinity);
    try {
      for (;;) {
        if (this.#done || this.outlet.stopped.signal.aborted) return;
        const piece = await stream.next(this.outlet.copies);
        if (piece === null) break;
        await this.#keep(piece);
        const { at, bytes } = piece;
        await this.outlet.send(this.#base + at, bytes);
        this.#at = at + bytes.byteLength;
      }
    } finally {
      stream.close();
    }
    if (this.#done || this.outlet.stopped.signal.aborted) return;
    const after = this.#base + stream.at;
    const end = this.outlet.bases[this.spec.part + 1] ?? Infinity;
    // The header names more bytes: the file is truncated, and isn't cached as a complete one.
    if (this.outlet.wants(after, end - after)) return;
    this.#know(stream.at, true);
    await this.#keeper.begin({ ...(this.#remote.facts as RemoteFacts), total: stream.at });
  }

  /** Neither the engine nor the cache needs more bytes. */
  get #done(): boolean {
    return this.outlet.sated && !this.#keeper.writes && !this.unproven;
  }

  // --- what is kept --------------------------------------------------------------------------------

  readable(from: number, to: number, most: number): Range | null {
    const { file } = this.#keeper;
    if (file === null || file.total === 0) return null;
    const size = file.blockBytes;
    const end = Math.min(to, file.total);
    for (let block = Math.floor(from / size); block * size < end; ++block) {
      if (!file.has(block)) continue;
      const begin = block * size;
      const after = begin + file.sizeOf(block);
      // The first read of a block reads all of it, to check its hash.
      if (!file.checked(block)) return { from: begin, to: after };
      const first = Math.max(from, begin);
      const last = Math.min(end, first + most);
      // Across block borders, so that the engine gets whole chunks: those can be stored as it packs them.
      let to = after;
      while (to < last && file.checked(to / size)) to += file.sizeOf(to / size);
      return { from: first, to: Math.min(to, last) };
    }
    return null;
  }

  async read(from: number, views: Uint8Array[]): Promise<boolean> {
    const { file } = this.#keeper;
    if (file === null) return false;
    const size = file.blockBytes;
    const to = from + views.reduce((sum, { length }) => sum + length, 0);
    for (let at = from; at < to;) {
      const end = Math.min(to, (Math.floor(at / size) + 1) * size);
      if (!(await this.#readIn(file, at, cutViews(views, at - from, end - from)))) return false;
      at = end;
    }
    return true;
  }

  /** Reads bytes of one block. */
  async #readIn(file: BlockFile, from: number, views: Uint8Array[]): Promise<boolean> {
    const block = Math.floor(from / file.blockBytes);
    let good = false;
    try {
      good = file.checked(block) ? await file.readPart(from, views) : await file.read(block, views);
    } catch (error) {
      // Otherwise the cache entry was given up meanwhile, because the disk is full.
      if (this.#keeper.file === file) throw error;
    }
    if (good) this.#count(file, block);
    else if (this.#keeper.file === file) this.#blocks.damaged.add(block);
    return good;
  }

  async openCopy(layout: number): Promise<void> {
    await this.#keeper.openCopy(layout);
  }

  readCopy(from: number, views: Uint8Array[]): boolean {
    const { file, copy } = this.#keeper;
    if (file === null || copy === null || !copy.read(from, views)) return false;
    const to = from + views.reduce((sum, { length }) => sum + length, 0);
    const size = file.blockBytes;
    for (let block = Math.floor(from / size); block * size < to; ++block) this.#count(file, block);
    return true;
  }

  /** Bytes are wanted again. Throws storage_full if they aren't cached, though the engine was told that they can be reread. */
  #checkKept(): void {
    if (this.#keeper.file !== null || !this.#promised) return;
    throw new SluiceError(
      'storage_full',
      'there was no room left for all of the model on this device, and it does not fit in the memory that it was given; ' +
        'free space on the disk, or remove models that you do not need, and load it again',
    );
  }

  async mend(): Promise<void> {
    this.#checkKept();
    // Otherwise fetchAll is running, and fetches the damaged blocks, too.
    if (!this.#blocks.busy) await this.#orMended(this.#blocks.fetchAll(null));
  }

  async hurry(rows: readonly Range[]): Promise<void> {
    if (this.#total > 0) await this.#orMended(this.#blocks.hurry(rows));
  }

  async #orMended(work: Promise<unknown>): Promise<void> {
    try {
      await work;
    } catch (error) {
      throw await this.#mended(error);
    }
  }

  async #keep(piece: Piece): Promise<void> {
    await this.#keeper.keep(piece, this.#remote.facts as RemoteFacts);
    const { file } = this.#keeper;
    if (file === null) return;
    const size = file.blockBytes;
    const end = piece.at + piece.bytes.byteLength;
    for (let block = Math.floor(piece.at / size); block * size < end; ++block)
      this.#counted.add(block);
  }

  async close(): Promise<void> {
    this.#first?.close();
    await this.#keeper.close(this.outlet.refused);
  }
}
