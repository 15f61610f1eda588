// Serves the engine's wants from sources with random access: the user's files, bytes in memory, and the cache. Rows of the
// embedding first, then weights in the order of execution, as often as they are wanted.
import type { Outlet } from './outlet.js';
import type { Place, Range } from '../shared/outstanding.js';
import type { SourceFile } from './source-file.js';

/** Concurrent reads. If reading is asynchronous, the next bytes are read while these are copied. */
const LANES = 3;
/** The most bytes of one read: into shared memory, and to be sent. An unchecked block of the cache is read whole. */
const MOST_BYTES = 4 << 20;
const MOST_SENT = 1 << 20;
/** How often opening a packed copy is retried that another load holds, and the pause before. */
const COPY_TRIES = 20;
const COPY_PAUSE_MS = 250;

interface ServerJob {
  file: SourceFile;
  base: number;
  /** The range to read, in the file. */
  range: Range;
  /** The part of it to send, in the file. */
  given: Range;
  rows: boolean;
  /** It is read from the file's packed copy. */
  packed: boolean;
}

export class Server {
  #busy = 0;
  readonly #ticks = new MessageChannel();
  readonly #ticking: (() => void)[] = [];
  /** Rows that were passed to a file's hurry(). */
  readonly #hurried = new WeakSet<Place>();
  #hurrying: Promise<void>[] = [];
  /** The engine was told that packed chunks are stored. */
  #keeps = false;

  constructor(
    readonly files: readonly SourceFile[],
    readonly outlet: Outlet,
  ) {
    this.#ticks.port1.onmessage = () => this.#ticking.shift()?.();
    outlet.onpacked = (offset, bytes) => {
      const where = this.#whereIs(offset);
      where?.file.copy?.keep(offset - where.base, bytes);
      this.#tellKeeps();
    };
    outlet.onrefused = () => {
      for (const { copy } of this.files) copy?.discard();
    };
  }

  /** Opens the packed copies of complete files, if weights are streamed. */
  async openCopies(tries = COPY_TRIES): Promise<void> {
    const { layout, over } = this.outlet;
    if (layout === 0 || over) return;
    await Promise.all(this.files.map((file) => file.openCopy(layout)));
    this.#tellKeeps();
    // A load that has just ended may still hold it.
    if (tries > 0 && this.files.some(({ network, copy }) => network && copy === null))
      setTimeout(() => void this.openCopies(tries - 1), COPY_PAUSE_MS);
  }

  #tellKeeps(): void {
    const keeps = this.files.some(({ copy }) => copy?.keeps === true);
    if (keeps === this.#keeps) return;
    this.#keeps = keeps;
    this.outlet.port.postMessage({ type: 'keepsPacked', keeps });
  }

  /** Serves until the engine wants nothing more. Rejects if something can't be read. */
  async run(): Promise<void> {
    try {
      await Promise.all(Array.from({ length: LANES }, () => this.#lane()));
      await Promise.all(this.#hurrying);
    } finally {
      this.#ticks.port1.close();
    }
  }

  /** Resolves when all wanted bytes that can be read were sent, or when nothing more is wanted. */
  async drained(): Promise<void> {
    const { outlet } = this;
    while (!outlet.over && (this.#busy > 0 || this.#next() !== null)) await outlet.news();
  }

  /** After all files' rest(): calls mend() for wanted bytes that can't be read, until nothing more is wanted. */
  async mendAll(): Promise<void> {
    const { outlet } = this;
    let tried: Place | null = null;
    while (!outlet.over) {
      await this.drained();
      if (outlet.over) return;
      const stuck = [...outlet.rows.ordered, ...outlet.weights.ordered].find(
        ({ from }) => this.#whereIs(from) !== null,
      );
      if (stuck !== undefined && stuck !== tried) {
        tried = stuck;
        await this.#whereIs(stuck.from)?.file.mend();
      } else {
        await outlet.news();
      }
    }
  }

  /** The file with this byte of the model; null if none has it. */
  #whereIs(at: number): { file: SourceFile; base: number; end: number } | null {
    const { bases } = this.outlet;
    const index = bases.findLastIndex((base) => base <= at);
    const file = this.files[index];
    const base = bases[index] ?? 0;
    if (file === undefined || at >= base + file.total) return null;
    return { file, base, end: bases[index + 1] ?? Infinity };
  }

  async #lane(): Promise<void> {
    const { outlet } = this;
    let spare: Uint8Array | null = null;
    while (!outlet.over) {
      const job = this.#next();
      if (job === null) {
        await Promise.race([outlet.news(), ...this.#hurrying]);
        continue;
      }
      ++this.#busy;
      try {
        await this.#do(job, () => (spare ??= new Uint8Array(MOST_BYTES)));
        // Lets messages in between: urgent rows, or 'stop'.
        await this.#tick();
      } finally {
        --this.#busy;
      }
      if (this.#busy === 0) outlet.wake();
    }
  }

  #tick(): Promise<void> {
    return new Promise((resolve) => {
      this.#ticking.push(resolve);
      this.#ticks.port2.postMessage(null);
    });
  }

  /** What to read next; null: nothing that is wanted can be read now. */
  #next(): ServerJob | null {
    const { rows, weights } = this.outlet;
    const late: Place[] = [];
    for (const place of rows.ordered) {
      const job = this.#jobFor(place, true);
      if (job !== null) return job;
      if (!this.#hurried.has(place)) late.push(place);
    }
    if (late.length > 0) this.#hurry(late);
    if (!this.outlet.admits) return null;
    for (const place of weights.ordered) {
      const job = this.#jobFor({ from: place.from, to: weights.endOfRun(place.from) }, false);
      if (job !== null) return job;
    }
    return null;
  }

  /** The job for a range of the model that is wanted without a gap. It ends at the file's end, and after `most` bytes. */
  #jobFor({ from, to }: Range, rows: boolean): ServerJob | null {
    const where = this.#whereIs(from);
    if (where === null) return null;
    const { file, base } = where;
    const end = Math.min(to, where.end) - base;
    const most = this.outlet.copies ? MOST_BYTES : MOST_SENT;
    const at = from - base;
    const copy = rows ? null : file.copy;
    const chunks = copy?.readable(at, end, most) ?? null;
    if (chunks !== null) return { file, base, range: chunks, given: chunks, rows, packed: true };
    // Ends before the next chunk that is in the copy: no part of that chunk may be read from the file.
    const last = copy?.after(at, end) ?? end;
    const range = file.readable(at, last, most);
    if (range === null) return null;
    const given =
      copy === null ? range : { from: Math.max(at, range.from), to: Math.min(last, range.to) };
    return { file, base, range, given, rows, packed: false };
  }

  async #do(
    { file, base, range, given, rows, packed }: ServerJob,
    spare: () => Uint8Array,
  ): Promise<void> {
    const { outlet } = this;
    const [from, to] = [base + range.from, base + range.to];
    const claim = outlet.claim(base + given.from, base + given.to, rows, packed);
    const views = outlet.views(claim, from, to, spare);
    const bytes = views === null ? new Uint8Array(to - from) : null;
    let good = false;
    try {
      const into = views ?? [bytes as Uint8Array];
      good = packed ? file.readCopy(range.from, into) : await file.read(range.from, into);
    } finally {
      if (!good) outlet.putBack(claim);
    }
    // A chunk that can't be read was removed from the copy.
    if (!good) return packed ? undefined : file.mend();
    if (outlet.over) return;
    if (bytes === null) outlet.filled(claim);
    else outlet.give(claim, from, bytes);
  }

  /** Tells the files which wanted rows can't be read yet. */
  #hurry(late: readonly Place[]): void {
    const { bases } = this.outlet;
    for (const place of late) this.#hurried.add(place);
    this.files.forEach((file, i) => {
      const base = bases[i] ?? 0;
      const end = bases[i + 1] ?? Infinity;
      const mine = late
        .filter(({ from }) => from >= base && from < end)
        .map(({ from, to }) => ({ from: from - base, to: to - base }));
      if (mine.length === 0) return;
      const work = file.hurry(mine).then(() => {
        this.#hurrying = this.#hurrying.filter((one) => one !== work);
      });
      // A lane, or run(), throws its error.
      work.catch(() => this.outlet.wake());
      this.#hurrying.push(work);
    });
  }
}
