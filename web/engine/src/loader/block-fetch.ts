// Fetches a file's missing blocks over several connections. Blocks with wanted bytes are fetched first, in the order in which
// the engine wants them.
import type { Outlet } from './outlet.js';
import type { Range } from '../shared/outstanding.js';
import { blockBytesFor } from './store/journal.js';
import { Connection, type Piece } from './net/connection.js';
import type { Keeper } from './keeper.js';
import { nextBlocks } from './net/next-blocks.js';
import { Changed, type Net, type Remote, Shorter } from './net/remote.js';
import { rangesOfRows } from './net/rows.js';

const MOST_CONNECTIONS = 4;
/** The most connections near the end of the download, so that the last bytes arrive nearly in order. */
const LAST_CONNECTIONS = 2;
/** Near the end: this share of the file is missing, or less. */
const END_SHARE = 0.1;
/** The largest share of the file that may be fetched twice: as single rows of the embedding, and later with their blocks. */
const ROWS_SHARE = 0.01;

/** The file, its source and its cache. */
export interface Fetched {
  total: number;
  /** Its offset in the model. */
  base: number;
  remote: Remote;
  keeper: Keeper;
  outlet: Outlet;
  keep(piece: Piece): Promise<void>;
  /** Called when bytes are wanted that were received before. Throws if they should have been cached. */
  checkKept(): void;
}

export class BlockFetch {
  /** Cached blocks that could not be read. */
  readonly damaged = new Set<number>();
  /** Missing blocks are being fetched. */
  busy = false;
  /** Bytes of each block but the last. */
  readonly #size: number;
  /** Blocks that were received. */
  readonly #came = new Set<number>();
  /** Blocks in flight: connections are receiving them. */
  readonly #flying = new Set<number>();
  /** The block at which fetching continues if no missing block is wanted. */
  #cursor = 0;
  /** Bytes received from connections. */
  #brought = 0;
  /** Bytes that were fetched as single rows, and the offsets of the rows that are being fetched. */
  #rowBytes = 0;
  readonly #alone = new Set<number>();

  constructor(readonly of: Fetched) {
    this.#size = of.keeper.file?.blockBytes ?? blockBytesFor(of.total);
  }

  get #net(): Net {
    return this.of.remote.net;
  }

  /** Nothing more is to be fetched: neither the engine nor the cache needs it, or the load was stopped. */
  get #done(): boolean {
    const { outlet, keeper } = this.of;
    return outlet.stopped.signal.aborted || (outlet.sated && !keeper.writes && !keeper.unproven);
  }

  /** Whether this block has to be fetched. */
  #lacks(block: number): boolean {
    if (this.#flying.has(block)) return false;
    const { file, follows, writes, needsOrder } = this.of.keeper;
    if (file?.has(block) === true) return false;
    // The cache takes every missing block. Without a cache only wanted bytes are fetched.
    if (file !== null && writes) return true;
    if (file !== null && follows && !this.damaged.has(block)) return false;
    const end = Math.min((block + 1) * this.#size, this.of.total);
    if (needsOrder) return end > this.of.keeper.hashedTo;
    return this.#wanted(block);
  }

  #wanted(block: number): boolean {
    const from = block * this.#size;
    const length = Math.min(this.#size, this.of.total - from);
    return this.of.outlet.wants(this.of.base + from, length);
  }

  #wantsWeights(block: number): boolean {
    const from = this.of.base + block * this.#size;
    return this.of.outlet.weights.any(from, from + this.#size);
  }

  /** The ranges of the file that are wanted, the most urgent first; null: blocks are fetched in the file's order. */
  #ordered(): Iterable<Range> | null {
    // Generating waits for the sha256 anyway, which is computed in the file's order.
    if (this.of.remote.ranges === false || this.of.keeper.unproven) return null;
    return this.#orderedOf();
  }

  *#orderedOf(): Generator<Range> {
    const { base, total, outlet } = this.of;
    const rows = outlet.rows.ordered.filter(({ from }) => !this.#alone.has(from - base));
    for (const place of [...rows, ...outlet.weights.ordered]) {
      const from = Math.max(place.from - base, 0);
      const to = Math.min(place.to - base, total);
      if (from < to) yield { from, to };
    }
  }

  /** Fetches all missing blocks, over several connections. False if none was missing. */
  async fetchAll(begun: Connection | null): Promise<boolean> {
    const { keeper } = this.of;
    let first = begun;
    let any = false;
    this.busy = true;
    try {
      for (;;) {
        const { file } = keeper;
        if (file !== null && file.blockBytes !== this.#size)
          throw new Changed('its blocks are others');
        if (this.#done) return any;
        if (first === null && this.#next() === null) {
          const complete = file === null || !keeper.follows || file.complete;
          if (complete) break;
          await keeper.change();
          continue;
        }
        const before = this.#brought;
        const begins = first !== null;
        const n = keeper.needsOrder || this.of.remote.ranges === false ? 1 : MOST_CONNECTIONS;
        await allOf(
          this.#net,
          Array.from({ length: n }, (_, i) => this.#work(i, i === 0 ? first : null)),
        );
        first = null;
        if (this.#brought > before) any = true;
        else if (!begins && !this.#done) throw this.#nothingCame();
      }
      return any;
    } finally {
      this.busy = false;
    }
  }

  #nothingCame(): Error {
    // A server without ranges has sent the whole file.
    if (this.of.remote.ranges === false)
      return new Shorter(`it has fewer than the ${this.of.total} bytes that were named`);
    return new Error('nothing was fetched of what is lacking');
  }

  #next(): { first: number; end: number } | null {
    return nextBlocks({
      total: this.of.total,
      size: this.#size,
      lacks: (block) => this.#lacks(block),
      ordered: this.#ordered(),
      cursor: this.#cursor,
    });
  }

  /** One of several connections: fetches ranges until no block is missing. */
  async #work(index: number, first: Connection | null): Promise<void> {
    if (first !== null && first.at < first.to) await this.#drain(first);
    first?.close();
    for (;;) {
      if (this.#done) return;
      if (index > 0 && this.of.remote.ranges === false) return;
      const next = this.#next();
      if (next === null || (index >= LAST_CONNECTIONS && this.#nearEnd)) return;
      const connection = this.#connectionFor(next);
      if (connection.at >= connection.to) return;
      const before = this.#brought;
      await this.#drain(connection);
      if (this.#brought === before) return;
    }
  }

  /** Little of the file is missing. */
  get #nearEnd(): boolean {
    let lacking = 0;
    for (let b = 0; b * this.#size < this.of.total; ++b) if (this.#lacks(b)) ++lacking;
    return lacking * this.#size < END_SHARE * this.of.total;
  }

  #connectionFor({ first, end }: { first: number; end: number }): Connection {
    const size = this.#size;
    let from = first * size;
    // A server without ranges sends everything up to the end.
    let to = this.of.remote.ranges === false ? this.of.total : Math.min(end * size, this.of.total);
    this.#cursor = end;
    for (let block = first; block < end; ++block)
      if (this.#came.has(block) && this.#wantsWeights(block)) this.of.checkKept();
    const { file, needsOrder } = this.of.keeper;
    if (file !== null) {
      from = this.of.keeper.writtenTo(first);
    } else if (needsOrder) {
      from = this.of.keeper.hashedTo;
    } else {
      const wanted = this.#wantedWithin(from, to);
      from = wanted.from;
      if (this.of.remote.ranges === true) to = wanted.to;
    }
    return new Connection(this.of.remote, from, to);
  }

  /** The range from the first to the last wanted byte within these bounds. */
  #wantedWithin(from: number, to: number): Range {
    const base = this.of.base;
    const { rows, weights } = this.of.outlet;
    const all = [...rows.within(base + from, base + to), ...weights.within(base + from, base + to)];
    return {
      from: Math.max(from, Math.min(...all.map((place) => place.from - base))),
      to: Math.min(to, Math.max(...all.map((place) => place.to - base))),
    };
  }

  /** Sends the bytes of a connection to the engine, and caches them. */
  async #drain(connection: Connection): Promise<void> {
    const begin = connection.at;
    const size = this.#size;
    const flying: number[] = [];
    // Adds the connection's blocks: more than were requested, if the server sends the whole file.
    const mark = (): void => {
      const { to } = connection;
      let block = flying.length === 0 ? Math.floor(begin / size) : (flying.at(-1) as number) + 1;
      for (; size > 0 && to < Infinity && block * size < to; ++block) {
        flying.push(block);
        this.#flying.add(block);
      }
    };
    try {
      mark();
      for (;;) {
        if (this.#done) return;
        const piece = await connection.next(this.of.outlet.copies);
        if (piece === null) return;
        mark();
        const { bytes } = piece;
        this.#brought += bytes.byteLength;
        const { outlet } = this.of;
        const offset = this.of.base + piece.at;
        outlet.sendRows(offset, bytes);
        // Claimed before they are cached: otherwise they could be read back and sent at the same time.
        const claim = outlet.claim(offset, offset + bytes.byteLength, false);
        await this.of.keep(piece);
        await outlet.sendClaimed(claim, offset, bytes);
      }
    } finally {
      for (const block of flying) {
        this.#flying.delete(block);
        if (Math.min((block + 1) * size, this.of.total) <= connection.at) this.#came.add(block);
      }
      connection.close();
    }
  }

  /** Fetches the rows by themselves if they are few; otherwise their blocks are fetched first. */
  async hurry(rows: readonly Range[]): Promise<void> {
    const { file, follows } = this.of.keeper;
    // Of a damaged file only whole blocks are taken, because only those are checked against a hash.
    if (
      this.of.remote.ranges !== true ||
      follows ||
      this.of.keeper.unproven ||
      this.damaged.size > 0
    )
      return;
    const size = this.#size;
    const far = rows.filter(
      ({ from }) => file === null || !this.#flying.has(Math.floor(from / size)),
    );
    const ranges = rangesOfRows(far);
    const bytes = ranges.reduce((sum, { from, to }) => sum + to - from, 0);
    if (file !== null && this.#rowBytes + bytes > ROWS_SHARE * this.of.total) return;
    this.#rowBytes += bytes;
    for (const { from } of far) this.#alone.add(from);
    const work = async (): Promise<void> => {
      for (let range = ranges.shift(); range !== undefined; range = ranges.shift())
        await this.#bringRows(range);
    };
    await allOf(this.#net, Array.from({ length: MOST_CONNECTIONS }, work));
    for (const { from } of far) this.#alone.delete(from);
  }

  async #bringRows({ from, to }: Range): Promise<void> {
    const { outlet, base, remote, keeper } = this.of;
    const connection = new Connection(remote, from, to);
    try {
      for (;;) {
        const piece = await connection.next(outlet.copies);
        if (piece === null) return;
        keeper.report.fromNetwork(piece.bytes.byteLength);
        outlet.sendRows(base + piece.at, piece.bytes);
      }
    } finally {
      connection.close();
    }
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
