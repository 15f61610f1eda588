// One file of a model at an address: brings its bytes from what this device keeps and from the network, and keeps what
// comes.
import { SluiceError } from '../errors.js';
import type { Outlet } from '../outlet.js';
import type { SourceFile } from '../source-file.js';
import type { BlockFile } from '../store/block-file.js';
import type { BlockWriter } from '../store/block-writer.js';
import type { Entry } from '../store/entries.js';
import { makeSha256, type Sha256 } from '../store/hashes.js';
import { Connection, type Piece } from './connection.js';
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
  /** Where bytes are kept; null: nowhere. */
  #file: BlockFile | null = null;
  #turn: Promise<BlockFile | null> | null = null;
  readonly #writers = new Map<number, BlockWriter>();
  /** The connection that begins with the file's first missing byte. */
  #first: Connection | null = null;
  /** All bytes before this offset were given out. */
  #at = 0;
  /** Bytes from #at on that are here and not yet given out. */
  #left: Uint8Array<ArrayBuffer> | null = null;
  #sha: Sha256 | null = null;
  /** The sha256 is of the bytes before this offset. */
  #shaAt = 0;
  #total = 0;
  /** The total for which room was made; -1: none was. */
  #kept = -1;
  #exact = false;
  /** Some bytes came from the network in this load. */
  #fetched = false;
  /** Followers wait here for news of blocks. */
  #news: (() => void)[] = [];

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
    this.#remote = new Remote(
      spec.url,
      spec.headers,
      openEntry === null ? 'default' : 'no-store',
      net,
    );
  }

  /** This worker keeps what it downloads; else another tab does, or nothing is missing. */
  get #writes(): boolean {
    return this.#file?.writable === true && !this.how.probe;
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
  /** Whether its sha256 is known and has yet to be compared. */
  get unproven(): boolean {
    const { sha256 } = this.spec;
    if (sha256 === '') return false;
    const meta = this.#file?.meta;
    return !(meta?.verified === true && meta.sha256 === sha256);
  }

  // --- opening -------------------------------------------------------------------------------------

  async open(): Promise<void> {
    await this.#openEntry();
    if (this.#file?.complete === true && !this.#writes && this.how.refresh) await this.#askIfCurrent();
    const file = this.#file;
    if (file !== null && (file.complete || this.#turn !== null)) {
      while (file.total === 0 && this.#turn !== null) await this.#change();
      this.#know(file.total, true);
    } else {
      await this.#connect();
    }
    if (this.unproven) this.#sha = await makeSha256();
  }

  async #openEntry(): Promise<void> {
    const entry = await (this.openEntry?.() ?? null);
    if (entry === null) return;
    if (entry.kind === 'none') {
      this.report.note(`The model isn't kept on this device: ${entry.why}.`);
      return;
    }
    this.#file = entry.file;
    if (entry.kind !== 'follower') return;
    this.#turn = entry.turn;
    entry.file.onblock = () => this.#wake();
    void entry.turn.then((mine) => {
      this.#turn = null;
      if (mine !== null) {
        this.#file = mine;
      }
      this.#wake();
    });
  }

  #wake(): void {
    for (const wake of this.#news.splice(0)) wake();
  }

  /** Resolves at the next block that another tab has written, or when this one's turn has come. */
  async #change(): Promise<void> {
    const { signal } = this.net;
    await new Promise<void>((resolve) => {
      this.#news.push(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    signal.throwIfAborted();
  }

  #factsKept(file: BlockFile): Facts {
    const { etag, lastModified } = file.meta;
    return { total: file.total, exact: true, etag, lastModified };
  }

  /** Asks for the first block, to compare. If the file has changed, what is kept is dropped. */
  async #askIfCurrent(): Promise<void> {
    const file = this.#file as BlockFile;
    const asked = new Remote(this.spec.url, this.spec.headers, 'no-store', this.net);
    asked.expect(this.#factsKept(file));
    const { sha256 } = file.meta;
    const first = new Connection(asked, 0, Math.min(file.blockBytes, file.total));
    try {
      await first.open();
      if (sha256 === '' || this.spec.sha256 === '' || sha256 === this.spec.sha256) return;
    } catch (error) {
      if (!(error instanceof Changed)) throw error;
    } finally {
      first.close();
    }
    await file.drop();
    this.#file = null;
    await this.#openEntry();
  }

  /** Asks for the first byte that isn't here. If the file isn't the one that is kept, that is dropped. */
  async #connect(): Promise<void> {
    const file = this.#file;
    const begun = file !== null && file.total > 0;
    if (begun) this.#remote.expect(this.#factsKept(file));
    const at = begun ? this.#firstMissing(file) : 0;
    try {
      const first = this.#connection(at, begun ? at + rangeBytes(file.total, file.blockBytes) : at + LEAST_RANGE);
      await first.open();
      this.#first = first;
    } catch (error) {
      if (!(error instanceof Changed) || file === null) throw await this.#mended(error);
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

  #firstMissing(file: BlockFile): number {
    let block = 0;
    while (block < file.n_blocks && file.has(block)) ++block;
    return block * file.blockBytes;
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
    const file = this.#file;
    this.#file = null;
    await file?.drop();
    return new SluiceError(
      'download_failed',
      `the file on ${this.#remote.who} has changed while it was downloaded (${error.message}); load it again`,
      { cause: error },
    );
  }

  // --- what comes ----------------------------------------------------------------------------------

  /** Makes room for the whole file, once its size and that it is a model are known. */
  async #beginKeeping(): Promise<void> {
    const file = this.#file;
    if (file === null || !this.#writes || this.#kept === this.#total) return;
    this.#kept = this.#total;
    const { etag = '', lastModified = '' } = this.#remote.facts ?? {};
    const { sha256, commit } = this.spec;
    try {
      await file.begin({ total: this.#total, etag, lastModified, commit, sha256 });
      if (!this.#fetched) this.report.keeping();
    } catch (error) {
      await this.#giveUpKeeping(error);
    }
  }

  /** There is no room. The load goes on without keeping the model, unless the caller asked for that. */
  async #giveUpKeeping(error: unknown): Promise<void> {
    const full = error instanceof SluiceError && error.code === 'storage_full';
    const file = this.#file;
    this.#writers.clear();
    this.#file = null;
    await file?.drop();
    // Bytes that came in another order can't be compared with a sha256 any more.
    if (!full || this.how.strict || this.#sha !== null) throw error;
    this.report.note(`The model isn't kept on this device: ${error.message}.`);
  }

  /** Keeps the bytes. */
  async #keep({ at, bytes }: Piece): Promise<void> {
    this.report.fromNetwork(bytes.byteLength);
    if (this.#file === null && this.#sha !== null && at === this.#shaAt) {
      this.#sha.update(bytes);
      this.#shaAt += bytes.byteLength;
    }
    await this.#beginKeeping();
    this.#fetched = true;
    const file = this.#file;
    if (file === null || !this.#writes) return;
    try {
      for (let done = 0; done < bytes.byteLength;) {
        const block = Math.floor((at + done) / file.blockBytes);
        let writer = this.#writers.get(block);
        if (writer === undefined) {
          // The rest of a block that is here already
          if (file.has(block) || at + done > block * file.blockBytes) {
            done = Math.min((block + 1) * file.blockBytes - at, bytes.byteLength);
            continue;
          }
          writer = file.block(block);
          this.#writers.set(block, writer);
        }
        done += writer.push(bytes.subarray(done));
        if (writer.full) {
          this.#writers.delete(block);
          if (this.#sha !== null && this.#shaAt === block * file.blockBytes) await this.#catchUp();
        }
      }
    } catch (error) {
      await this.#giveUpKeeping(error);
    }
  }

  /** Computes the sha256 of the blocks that are here and follow. */
  async #catchUp(): Promise<void> {
    const file = this.#file;
    if (file === null || this.#sha === null) return;
    const buffer = new Uint8Array(file.blockBytes);
    for (;;) {
      const block = this.#shaAt / file.blockBytes;
      if (block >= file.n_blocks || !file.has(block)) return;
      const bytes = buffer.subarray(0, Math.min(file.blockBytes, file.total - this.#shaAt));
      if (!(await file.read(block, [bytes]))) return;
      this.#sha.update(bytes);
      this.#shaAt += bytes.byteLength;
      if (this.outlet.sated || this.#allGiven) this.report.verified(this.#shaAt);
    }
  }

  get #allGiven(): boolean {
    return this.#total > 0 && this.#at >= this.#total;
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

  async #nextOfHead(): Promise<Uint8Array<ArrayBuffer> | null> {
    for (;;) {
      const at = this.#at;
      const file = this.#file;
      if (this.#total > 0 && at >= this.#total) return null;
      const block = file === null ? 0 : Math.floor(at / file.blockBytes);
      if (file !== null && file.has(block)) {
        const bytes = await this.#readBlock(file, block);
        if (bytes !== null) return bytes.subarray(at - block * file.blockBytes);
      } else if (this.#turn !== null && file !== null) {
        await this.#change();
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
      if (this.#first?.at !== at) {
        this.#first?.close();
        const file = this.#file;
        const known = this.#remote.facts === null && file !== null && file.total > 0;
        if (known) this.#remote.expect(this.#factsKept(file));
        // After a damaged block only that one is fetched.
        const end = file?.has(Math.floor(at / file.blockBytes) + 1) === true;
        const to = end && file !== null ? at + file.blockBytes - (at % file.blockBytes) : at + LEAST_RANGE;
        this.#first = this.#connection(at, to);
      }
      const piece = await this.#first.next(this.outlet.copies);
      if (piece !== null) {
        if (piece.at < 4) refuseWebPage(piece.bytes, this.#first.contentType);
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
      await this.#prove();
    } catch (error) {
      throw await this.#mended(error);
    }
  }

  /** Of a server that didn't name the size. */
  async #toTheEnd(): Promise<void> {
    const stream = this.#first ?? this.#connection(this.#at, Infinity);
    await this.#drain(stream);
    if (this.#done || this.outlet.stopped.signal.aborted) return;
    this.#know(stream.at, true);
    await this.#beginKeeping();
  }

  /** Nothing more is wanted, neither by the engine nor for keeping. */
  get #done(): boolean {
    return this.outlet.sated && !this.#writes && this.#sha === null;
  }

  async #allBlocks(): Promise<void> {
    const given = new Set<number>();
    for (let damaged: number[] = []; ;) {
      const size = this.#blockSize;
      const blocks: number[] = [];
      // What #first brings begins within a block.
      const begin = this.#first !== null && this.#first.at === this.#at ? this.#at : 0;
      for (let b = Math.floor(this.#at / size); b * size < this.#total; ++b)
        if (!given.has(b)) blocks.push(b);
      if (blocks.length === 0 || this.#done) return;
      const file = this.#file;
      const here = (b: number): boolean =>
        file?.has(b) === true && !damaged.includes(b) && b * size >= begin;
      const kept = blocks.filter(here);
      // Another tab brings the others.
      const missing = this.#turn !== null ? damaged : blocks.filter((b) => !here(b));
      if (kept.length + missing.length === 0 && file !== null) await this.#change();
      const bad: number[] = [];
      await allOf(this.net, [this.#giveKept(kept, given, bad), this.#fetchBlocks(missing, given)]);
      damaged = bad;
    }
  }

  get #blockSize(): number {
    return this.#file?.blockBytes ?? 4 << 20;
  }

  /** Gives out blocks that are kept; those that are damaged are added to `bad`. */
  async #giveKept(blocks: readonly number[], given: Set<number>, bad: number[]): Promise<void> {
    for (const block of blocks) {
      const file = this.#file;
      this.net.signal.throwIfAborted();
      if (file === null || this.#done) return;
      const from = Math.max(block * file.blockBytes, this.#at);
      const to = Math.min((block + 1) * file.blockBytes, file.total);
      const spread =
        from === block * file.blockBytes ? this.outlet.spread(this.#base + from, this.#base + to) : null;
      if (spread === null) {
        const bytes = await this.#readBlock(file, block);
        if (bytes === null) bad.push(block);
        else await this.outlet.send(this.#base + from, bytes.subarray(from - block * file.blockBytes));
        if (bytes !== null) given.add(block);
        continue;
      }
      const { memory, stretches } = spread;
      const views = stretches.map(({ from: begin, to: end, ptr }) =>
        ptr === null ? new Uint8Array(end - begin) : new Uint8Array(memory.buffer, ptr, end - begin),
      );
      if (await file.read(block, views)) {
        this.report.fromCache(to - from);
        this.outlet.filled(this.#base + from, to - from);
        given.add(block);
      } else {
        bad.push(block);
      }
    }
  }

  /** Fetches these blocks, neighbours together, over several connections. */
  async #fetchBlocks(blocks: readonly number[], given: Set<number>): Promise<void> {
    if (blocks.length === 0) return;
    const size = this.#blockSize;
    const ranges = this.#rangesOf(blocks);
    const mark = (from: number, to: number): void => {
      for (let b = Math.floor(from / size); b * size < to; ++b) given.add(b);
    };
    const work = async (first: Connection | null): Promise<void> => {
      if (first !== null) {
        const { at } = first;
        await this.#drain(first);
        mark(at, first.at);
      }
      for (let range = ranges.shift(); range !== undefined; range = ranges.shift()) {
        if (this.#done) return;
        // A server without ranges sends all from here on.
        const to = this.#remote.ranges === false ? this.#total : range.to;
        if (this.#remote.ranges === false) ranges.length = 0;
        await this.#drain(this.#connection(range.from, to), given);
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
    const inOrder = this.#remote.ranges === false || (this.#file === null && this.#sha !== null);
    const n = inOrder ? 1 : Math.min(MOST_CONNECTIONS, ranges.length + (first === null ? 0 : 1));
    await allOf(
      this.net,
      Array.from({ length: n }, (_, i) => work(i === 0 ? first : null)),
    );
  }

  #rangesOf(blocks: readonly number[]): { from: number; to: number }[] {
    const size = this.#blockSize;
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
  async #drain(connection: Connection, given: ReadonlySet<number> = new Set()): Promise<void> {
    const size = this.#blockSize;
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
            given.size === 0 ? bytes.byteLength : Math.min((block + 1) * size - at, bytes.byteLength);
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

  // --- the end -------------------------------------------------------------------------------------

  /** Compares the sha256, if one is known; if it is wrong, what is kept is dropped. */
  async #prove(): Promise<void> {
    if (this.#sha === null) return;
    const { sha256 } = this.spec;
    this.#at = this.#total;
    await this.#catchUp();
    if (this.#shaAt !== this.#total) {
      throw new SluiceError(
        'download_corrupt',
        `the file on this device could not be read to its end (${this.#shaAt} of ${this.#total} bytes); load it again`,
      );
    }
    const found = this.#sha.hex();
    this.#sha = null;
    if (found === sha256) {
      await this.#file?.note({ verified: true, sha256 });
      return;
    }
    const file = this.#file;
    this.#file = null;
    await file?.drop();
    throw new SluiceError(
      'download_corrupt',
      `the file has the sha256 ${found}; ${sha256} was expected: it was damaged on its way, or it is another file. ` +
        'What came of it was deleted; load it again, or see whether the sha256 is right',
    );
  }

  /** How many bytes came, for a file that ended early. */
  get received(): number {
    return Math.max(this.#at, this.#first?.at ?? 0);
  }

  async close(): Promise<void> {
    this.#first?.close();
    const file = this.#file;
    this.#file = null;
    // Nothing came of it, or it is no model.
    const empty = file?.total === 0 && this.#turn === null;
    if (empty || (this.#writes && this.outlet.refused && this.#fetched)) await file?.drop();
    else file?.close();
  }
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
