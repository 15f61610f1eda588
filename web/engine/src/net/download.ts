// One file of a model at an address: brings its bytes from what this device keeps and from the network, and keeps what
// comes.
import { SluiceError } from '../errors.js';
import type { Outlet } from '../outlet.js';
import type { SourceFile } from '../source-file.js';
import type { BlockFile } from '../store/block-file.js';
import type { Entry } from '../store/entries.js';
import { Connection, type Piece } from './connection.js';
import { Keeper } from './keeper.js';
import { Changed, type Facts, type Net, Remote } from './remote.js';
import { emptyFile, refuseWebPage } from './why.js';

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
  note(text: string): void;
  keeping(): void;
}

const MOST_CONNECTIONS = 4;
const LEAST_RANGE = 16 << 20;
const MOST_RANGE = 64 << 20;

/** Bytes that one request asks for, in whole blocks. */
export function rangeBytes(total: number, block: number): number {
  const usual = Math.min(Math.max(Math.ceil(total / 16), LEAST_RANGE), MOST_RANGE);
  return Math.ceil(usual / block) * block;
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
  get name(): string {
    return `the file that ${this.#remote.who} sent`;
  }
  get unproven(): boolean {
    return this.#keeper.unproven;
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
  }

  /** Asks for the first block, to compare. If the file has changed, what is kept is dropped. */
  async #askIfCurrent(): Promise<void> {
    const keeper = this.#keeper;
    const { url, headers, sha256 } = this.spec;
    const file = keeper.file as BlockFile;
    const asked = new Remote(url, headers, 'no-store', this.net);
    asked.expect(keeper.factsKept() as Facts);
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
      this.#first = this.#connection(0, LEAST_RANGE);
      try {
        await this.#first.open();
      } catch (again) {
        throw await this.#mended(again);
      }
    }
    const { total, exact } = this.#remote.facts as Facts;
    this.#know(total, exact);
  }

  /** A connection for the first bytes from `at` on that aren't kept. It brings none that are. */
  #missingFrom(file: BlockFile | null, at: number): Connection {
    if (file === null || file.total === 0) return this.#connection(at, at + LEAST_RANGE);
    const size = file.blockBytes;
    let block = Math.floor(at / size);
    while (block < file.n_blocks && file.has(block)) ++block;
    const from = Math.max(at, block * size);
    const most = from + rangeBytes(file.total, size);
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
      { cause: error },
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
    if (this.unproven && this.#left.byteLength <= most)
      this.#left = await this.#lookAhead(this.#left);
    const bytes = this.#left.subarray(0, most);
    this.#left = this.#left.subarray(bytes.byteLength);
    this.#at += bytes.byteLength;
    return bytes;
  }

  /**
   * The bytes and those that follow them. If none do, the file ends with its header, or nearly: then its sha256 is compared
   * now, before the engine has all.
   */
  async #lookAhead(here: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
    // The next read may use its buffer again.
    const bytes = here.slice();
    const begin = this.#at;
    this.#at += bytes.byteLength;
    const next = await this.#nextOfHead();
    const end = this.#at;
    this.#at = begin;
    if (next !== null) {
      const both = new Uint8Array(bytes.byteLength + next.byteLength);
      both.set(bytes);
      both.set(next, bytes.byteLength);
      return both;
    }
    if (this.#total === 0) {
      this.#know(end, true);
      await this.#keeper.begin({ ...(this.#remote.facts as Facts), total: end });
    }
    await this.#keeper.prove(this.#total);
    return bytes;
  }

  async #nextOfHead(): Promise<Uint8Array<ArrayBuffer> | null> {
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
      const piece = await this.#fetchAt(at);
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
    this.report.fromCache(bytes.byteLength);
    return bytes;
  }

  /** The next bytes from the network, at `at`. */
  async #fetchAt(at: number): Promise<Piece | null> {
    try {
      let first = this.#first;
      // It may have brought its part, which isn't the end of the file.
      if (first === null || first.at !== at || (first.at >= first.to && this.#total > 0)) {
        first?.close();
        const { file } = this.#keeper;
        const block = file === null ? 0 : Math.floor(at / file.blockBytes);
        const missing = file?.has(block) !== true;
        first = missing ? this.#missingFrom(file, at) : this.#connection(at, at + LEAST_RANGE);
        this.#first = first;
      }
      const piece = await first.next(this.outlet.copies);
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

  /** Gives out all bytes that follow the header, and keeps all. Resolves when the sha256 is compared, if one is known. */
  async rest(): Promise<void> {
    try {
      if (this.#left !== null && this.#left.byteLength > 0) {
        await this.outlet.send(this.#base + this.#at, this.#left);
        this.#at += this.#left.byteLength;
      }
      this.#left = null;
      // A server that didn't name the size: the stream's end is the file's.
      if (this.#total === 0) await this.#toTheEnd();
      else await this.#allBlocks();
      if (this.#keeper.follows) this.net.onwaiting('');
      if (this.#total > 0) await this.#keeper.prove(this.#total);
    } catch (error) {
      throw await this.#mended(error);
    }
  }

  /** Of a server that didn't name the size. */
  async #toTheEnd(): Promise<void> {
    const stream = this.#first ?? this.#connection(this.#at, Infinity);
    await this.#drain(stream);
    if (this.#done || this.outlet.stopped.signal.aborted) return;
    const after = this.#base + stream.at;
    const end = this.outlet.bases[this.spec.part + 1] ?? Infinity;
    // The header names more bytes: what ended so isn't the whole file, and isn't kept as such.
    if (this.outlet.wants(after, end - after)) return;
    this.#know(stream.at, true);
    await this.#keeper.begin({ ...(this.#remote.facts as Facts), total: stream.at });
  }

  /** Nothing more is wanted, neither by the engine nor for keeping. */
  get #done(): boolean {
    return this.outlet.sated && !this.#keeper.writes && !this.unproven;
  }

  async #allBlocks(): Promise<void> {
    const keeper = this.#keeper;
    const size = keeper.file?.blockBytes ?? 4 << 20;
    /** Blocks that were given out, or are about to be. */
    const given = new Set<number>();
    for (let damaged: readonly number[] = []; ;) {
      const { file, follows } = keeper;
      if (file !== null && file.blockBytes !== size) throw new Changed('its blocks are others');
      const blocks: number[] = [];
      for (let b = Math.floor(this.#at / size); b * size < this.#total; ++b)
        if (!given.has(b)) blocks.push(b);
      if (blocks.length === 0) this.#at = this.#total;
      if (blocks.length === 0 || this.#done) return;
      // What #first brings may begin within a block.
      const begin = this.#first !== null && this.#first.at === this.#at ? this.#at : 0;
      const kept = blocks.filter(
        (b) => file?.has(b) === true && !damaged.includes(b) && b * size >= begin,
      );
      // Another tab brings the others.
      const missing = follows ? damaged : blocks.filter((b) => !kept.includes(b));
      if (kept.length + missing.length === 0) await keeper.change();
      for (const block of kept) given.add(block);
      const bad: number[] = [];
      await allOf(this.net, [
        this.#giveKept(kept, given, bad),
        this.#fetchBlocks(missing, size, given),
      ]);
      damaged = bad;
    }
  }

  /** Gives out blocks that are kept. Those that can't be are taken from `given`; damaged ones are added to `bad`. */
  async #giveKept(blocks: readonly number[], given: Set<number>, bad: number[]): Promise<void> {
    const { file } = this.#keeper;
    for (const block of blocks) {
      this.net.signal.throwIfAborted();
      if (this.#done) return;
      let good = false;
      try {
        good = file !== null && this.#keeper.file === file && (await this.#giveBlock(file, block));
      } catch (error) {
        if (this.#keeper.file === file) throw error;
      }
      if (good) continue;
      given.delete(block);
      // Else nothing is kept any more, because there is no room.
      if (this.#keeper.file === file) bad.push(block);
    }
  }

  /** False: the block is damaged. */
  async #giveBlock(file: BlockFile, block: number): Promise<boolean> {
    const begin = block * file.blockBytes;
    const from = Math.max(begin, this.#at);
    const to = Math.min(begin + file.blockBytes, file.total);
    const spread = from > begin ? null : this.outlet.spread(this.#base + from, this.#base + to);
    if (spread === null) {
      const bytes = await this.#readBlock(file, block);
      if (bytes !== null) await this.outlet.send(this.#base + from, bytes.subarray(from - begin));
      return bytes !== null;
    }
    const { memory, stretches } = spread;
    const views = stretches.map((stretch) => {
      const length = stretch.to - stretch.from;
      return stretch.ptr === null
        ? new Uint8Array(length)
        : new Uint8Array(memory.buffer, stretch.ptr, length);
    });
    if (!(await file.read(block, views))) return false;
    this.report.fromCache(to - from);
    this.outlet.filled(this.#base + from, to - from);
    return true;
  }

  /** Fetches these blocks, neighbours together, over several connections. */
  async #fetchBlocks(blocks: readonly number[], size: number, given: Set<number>): Promise<void> {
    if (blocks.length === 0) return;
    const ranges = this.#rangesOf(blocks, size);
    const mark = (from: number, to: number): void => {
      for (let b = Math.floor(from / size); b * size < to; ++b) given.add(b);
    };
    const work = async (first: Connection | null): Promise<void> => {
      if (first !== null) {
        const { at } = first;
        await this.#drain(first, size, given);
        mark(at, first.at);
      }
      for (let range = ranges.shift(); range !== undefined; range = ranges.shift()) {
        if (this.#done) return;
        // A server without ranges sends all from here on.
        const to = this.#remote.ranges === false ? this.#total : range.to;
        if (this.#remote.ranges === false) ranges.length = 0;
        await this.#drain(this.#connection(range.from, to), size, given);
        mark(range.from, to);
      }
    };
    const first = this.#first;
    this.#first = null;
    if (first !== null) {
      // It brings the beginning of the first range, or all.
      while (ranges[0] !== undefined && ranges[0].from < first.to) {
        if (ranges[0].to <= first.to) ranges.shift();
        else ranges[0].from = first.to;
      }
    }
    const inOrder = this.#remote.ranges === false || this.#keeper.needsOrder;
    const n = inOrder ? 1 : Math.min(MOST_CONNECTIONS, ranges.length + (first === null ? 0 : 1));
    await allOf(
      this.net,
      Array.from({ length: n }, (_, i) => work(i === 0 ? first : null)),
    );
  }

  #rangesOf(blocks: readonly number[], size: number): { from: number; to: number }[] {
    const most = rangeBytes(this.#total, size);
    const ranges: { from: number; to: number }[] = [];
    for (const block of blocks) {
      const from = Math.max(block * size, this.#at);
      const to = Math.min((block + 1) * size, this.#total);
      const last = ranges.at(-1);
      if (last !== undefined && last.to === from && to - last.from <= most) last.to = to;
      else ranges.push({ from, to });
    }
    return ranges;
  }

  /** Gives out and keeps what a connection brings, but no block that was given out before. */
  async #drain(
    connection: Connection,
    size = 0,
    given: ReadonlySet<number> = new Set(),
  ): Promise<void> {
    try {
      for (;;) {
        if (this.#done || this.outlet.stopped.signal.aborted) return;
        const piece = await connection.next(this.outlet.copies);
        if (piece === null) return;
        await this.#keep(piece);
        const { at, bytes } = piece;
        for (let done = 0; done < bytes.byteLength;) {
          const block = Math.floor((at + done) / size);
          const end =
            given.size === 0
              ? bytes.byteLength
              : Math.min((block + 1) * size - at, bytes.byteLength);
          if (!given.has(block))
            await this.outlet.send(this.#base + at + done, bytes.subarray(done, end));
          done = end;
        }
        if (this.#total === 0) this.#at = at + bytes.byteLength;
      }
    } finally {
      connection.close();
    }
  }

  async #keep(piece: Piece): Promise<void> {
    await this.#keeper.keep(piece, this.#remote.facts as Facts);
  }

  async close(): Promise<void> {
    this.#first?.close();
    await this.#keeper.close(this.outlet.refused);
  }
}

/** The error of a server that can't be asked whether what is kept is current. */
function asRefreshed(error: unknown): unknown {
  if (!(error instanceof SluiceError)) return error;
  const { code, message, status } = error;
  return new SluiceError(code, `${message}. What is kept on this device loads without refresh`, {
    cause: error,
    ...(status === undefined ? {} : { status }),
  });
}

/** Waits for all. The first error ends the others, and is thrown when they have ended. */
async function allOf(net: Net, works: Promise<void>[]): Promise<void> {
  const errors: unknown[] = [];
  const watched = works.map((work) =>
    work.catch((error: unknown) => {
      errors.push(error);
      net.fail();
    }),
  );
  await Promise.all(watched);
  if (errors.length > 0) throw errors[0];
}
