// One file of a model at an address: brings its bytes from what this device keeps and from the network, and keeps what
// comes.
import { SluiceError } from '../errors.js';
import { failedAt } from '../facts.js';
import type { Note } from '../notes.js';
import type { Outlet } from '../outlet.js';
import type { Range } from '../outstanding.js';
import type { Access } from '../protocol.js';
import type { SourceFile } from '../source-file.js';
import type { BlockFile } from '../store/block-file.js';
import type { Entry } from '../store/entries.js';
import type { PackedCopy } from '../store/packed-copy.js';
import { cutViews } from '../store/views.js';
import { BlockFetch } from './block-fetch.js';
import { Connection, type Piece } from './connection.js';
import { Keeper } from './keeper.js';
import { FIRST_RANGE } from './next-blocks.js';
import { Changed, type RemoteFacts, type Net, Remote } from './remote.js';
import { asRefreshed, emptyFile, refuseWebPage } from './why.js';

/** A file to download. */
export interface FileSpec {
  /** The address that is fetched. */
  url: string;
  headers: [string, string][];
  /** Bytes; 0: unknown. */
  total: number;
  /** Lower case; '' if unknown. */
  sha256: string;
  /** The commit that the address names, or ''. */
  commit: string;
  names: string[];
  /** Of a split model: the address of its first file, or '', and which file of how many this is. */
  set: string;
  part: number;
  parts: number;
}

/** Counts of bytes, and what the user is told. */
export interface Report {
  fromNetwork(bytes: number): void;
  fromCache(bytes: number): void;
  /** Bytes that a sha256 was computed of. */
  verified(bytes: number): void;
  note(note: Note): void;
  keeping(): void;
}

export class Download implements SourceFile {
  readonly #remote: Remote;
  readonly #keeper: Keeper;
  /** The connection that begins with the file's first missing byte. */
  #first: Connection | null = null;
  /** All bytes before this offset were given out. */
  #at = 0;
  /** Bytes from #at on that are here and not yet given out. */
  #left: Uint8Array<ArrayBuffer> | null = null;
  #total = 0;
  #exact = false;
  /** Blocks that were counted: they came over the network, or from what was kept before. */
  readonly #counted = new Set<number>();
  #fetch: BlockFetch | null = null;
  /** The engine was told that bytes can be read again. */
  #promised = false;

  /**
   * `openEntry`: opens what is kept, or null for nothing. `strict`: without room the load fails; `refresh`: ask whether what
   * is kept is current; `probe`: nothing is kept.
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
  /** Bytes of it that this device keeps. */
  get kept(): number {
    return this.#keeper.file?.stored() ?? 0;
  }
  /** How many bytes came, for a file that ended early. */
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
    // Only what is kept can be read again, so there must be room before anything is promised.
    if (keeper.writes && keeper.file?.total === 0)
      this.#left = (await this.#nextOfHead(true))?.slice() ?? null;
    this.#promised = this.access === 'rereadable';
  }

  /** Asks for the first block, to compare. If the file has changed, what is kept is dropped. */
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

  /** Asks for the first byte that isn't here. If the file isn't the one that is kept, that is dropped. */
  async #connect(): Promise<void> {
    const { file } = this.#keeper;
    try {
      this.#first = this.#missingFrom(file, 0);
      await this.#first.open();
    } catch (error) {
      if (!(error instanceof Changed) || file === null) throw await this.#mended(error);
      // Nothing was given out yet: begin anew.
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

  /** A connection for the first bytes from `at` on that aren't kept. It brings none that are. */
  #missingFrom(file: BlockFile | null, at: number): Connection {
    if (file === null || file.total === 0) return this.#connection(at, at + FIRST_RANGE);
    const size = file.blockBytes;
    let block = Math.floor(at / size);
    while (block < file.n_blocks && file.has(block)) ++block;
    const from = Math.max(at, block * size);
    const most = from + FIRST_RANGE;
    while (block < file.n_blocks && !file.has(block) && block * size < most) ++block;
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

  /** Errors as the user gets them. Of a file that has changed nothing is kept. */
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

  /** Frees the connection while other files are read. It is made anew when it is needed. */
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

  /** Counts a block that comes from what is kept, once. */
  #count(file: BlockFile, block: number): void {
    if (this.#counted.has(block)) return;
    this.#counted.add(block);
    this.report.fromCache(file.sizeOf(block));
  }

  /** The next bytes from the network, at `at`. */
  async #fetchAt(at: number, again: boolean): Promise<Piece | null> {
    try {
      let first = this.#first;
      // It may have brought its part, which isn't the end of the file.
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

  /** Fetches what is lacking, in the order in which it is wanted. Resolves when the sha256 is compared, if one is known. */
  async rest(): Promise<void> {
    try {
      // With a packed copy nothing must come that isn't asked for: it might be a part of a chunk.
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
      throw await this.#mended(error);
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

  /** Of a server that didn't name the size. */
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
    // The header names more bytes: what ended so isn't the whole file, and isn't kept as such.
    if (this.outlet.wants(after, end - after)) return;
    this.#know(stream.at, true);
    await this.#keeper.begin({ ...(this.#remote.facts as RemoteFacts), total: stream.at });
  }

  /** Nothing more is wanted, neither by the engine nor for keeping. */
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
      // At its first reading the whole block is read, for its hash.
      if (!file.checked(block)) return { from: begin, to: after };
      const first = Math.max(from, begin);
      const last = Math.min(end, first + most);
      // Over the blocks' borders, so that the engine gets whole chunks, which can be kept as it packs them.
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
      // Else nothing is kept any more, because there is no room.
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

  /** Bytes that have come are wanted, and can't be read. Throws storage_full if the engine was told that they can. */
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
    // Else it comes with what is lacking.
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
