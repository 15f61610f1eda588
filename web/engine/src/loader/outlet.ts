// The loader's side of the connection to the engine worker: tracks the wanted ranges, and delivers their bytes. With shared
// memory, bytes are written straight into it. Otherwise chunks are transferred, and the engine's credit limits the bytes in
// flight.
import { Outstanding, joined, write, type Place, type Range } from '../shared/outstanding.js';
import type { EngineToLoader, LoaderToEngine, Refusal } from '../shared/protocol.js';

/** The part of a MessagePort that is used; tests have their own. */
export interface FeedPort {
  postMessage(message: LoaderToEngine, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<EngineToLoader>) => void) | null;
}

/** What is wanted next: bytes of a header, from `offset` on, or weights. Offsets are those of the whole model. */
export type Wish = { kind: 'header'; offset: number; length: number } | { kind: 'weights' };

/** Wanted ranges that a reader has claimed: no other reader delivers them. */
export interface Claim {
  readonly rows: boolean;
  /** They are whole chunks in the packed layout. */
  readonly packed: boolean;
  readonly places: readonly Place[];
}

/** The most bytes of weights that hold() withholds from the engine. */
const KEYSTONE_BYTES = 64 << 10;

export class Outlet {
  /** Fires when nothing more is wanted: all reads end. */
  readonly stopped = new AbortController();
  /** Whether and why the engine has refused the file: decides whether its cache entry is deleted. */
  refused: Refusal = 'no';
  /** The engine has all weights, and will read none again; the cache may still lack blocks. */
  sated = false;
  /** The offset of each file in the model, as far as the engine knows. */
  bases: number[] = [0];
  /** Whether bytes are copied into shared memory, so that the buffer they came in can be reused. */
  copies = false;
  /** Weights that are wanted and have not arrived. */
  readonly weights = new Outstanding();
  /** Rows of the embedding, which are needed before all else. */
  readonly rows = new Outstanding();
  /** The layout of packed chunks; 0: no weights are streamed. */
  layout = 0;
  /** Called with a chunk that the engine has packed. */
  onpacked: (offset: number, bytes: Uint8Array) => void = () => {};
  /** Called when the engine has refused packed chunks. */
  onrefused: () => void = () => {};

  #memory: WebAssembly.Memory | null = null;
  #header: { offset: number; length: number; ptr: number } | null = null;
  #begun = false;
  #credit = 0;
  /** The engine isn't told of these bytes before release(), and with `rows` of no rows. Null: it is told of all. */
  #keystone: (Range & { rows: boolean }) | null = null;
  readonly #held: (() => void)[] = [];
  readonly #waiting: (() => void)[] = [];

  constructor(readonly port: FeedPort) {
    port.onmessage = ({ data }) => {
      switch (data.type) {
        case 'want':
          this.#want(data);
          break;
        case 'sendMore':
          this.#credit += data.length;
          break;
        case 'packed':
          this.onpacked(data.offset, data.bytes);
          if (!this.over) port.postMessage({ type: 'tookPacked', length: data.bytes.length });
          return;
        case 'packedRefused':
          this.onrefused();
          return;
        case 'enough':
          this.sated = true;
          break;
        case 'stop':
          this.refused = data.refused;
          this.stop();
          return;
      }
      this.wake();
    };
  }

  #want({ wants, memory, bases, once, rows, layout }: EngineToLoader & { type: 'want' }): void {
    this.#memory = memory;
    this.bases = bases;
    this.copies = memory !== null;
    if (once) {
      const [offset = 0, ptr = 0, length = 0] = wants;
      this.#header = { offset, ptr, length };
      return;
    }
    this.#header = null;
    this.layout = layout;
    // Wanted rows alone don't count: hold() picks from the wanted weights.
    if (!rows) this.#begun = true;
    (rows ? this.rows : this.weights).add(wants);
  }

  // --- waiting -------------------------------------------------------------------------------------

  /** Something has changed: resolves all calls of news(). */
  wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Resolves at the next message from the engine, or wake(). */
  news(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** No more bytes are wanted. */
  stop(): void {
    this.stopped.abort();
    this.wake();
  }

  /** Nothing more is to be sent to the engine. */
  get over(): boolean {
    return this.stopped.signal.aborted || this.sated;
  }

  /** What is wanted next; null if nothing more is. */
  async wish(): Promise<Wish | null> {
    // A small model may have arrived with its header: then nothing more is wanted.
    while (this.#header === null && !this.#begun && !this.over) await this.news();
    if (this.stopped.signal.aborted) return null;
    return this.#header === null ? { kind: 'weights' } : { kind: 'header', ...this.#header };
  }

  /** Whether weights may be sent. */
  get admits(): boolean {
    return this.copies || this.#credit > 0;
  }

  /** Resolves when bytes may be sent, or when no more are wanted. */
  async ready(): Promise<void> {
    while (!this.admits && !this.over) await this.news();
  }

  /** Resolves when the engine has said that it has all, or that it wants nothing more. */
  async verdict(): Promise<void> {
    while (!this.over) await this.news();
  }

  /** Whether the engine waits for any of these bytes. */
  wants(offset: number, length: number): boolean {
    const end = offset + length;
    return !this.over && (this.weights.any(offset, end) || this.rows.any(offset, end));
  }

  // --- delivering bytes ----------------------------------------------------------------------------

  /**
   * Delivers the wanted ones of the bytes at `offset` of the model. Bytes of a header must begin at the wish's offset, and be
   * no more than its length. An array that fills its whole buffer may be transferred away.
   */
  async send(offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const end = offset + bytes.byteLength;
    if (this.#header !== null) return this.#sendHeader(bytes);
    if (this.over) return;
    this.sendRows(offset, bytes);
    await this.sendClaimed(this.claim(offset, end, false), offset, bytes);
  }

  /** Delivers the bytes of a claim as soon as they may be sent. */
  async sendClaimed(claim: Claim, offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (claim.places.length === 0) return;
    await this.ready();
    if (!this.over) this.give(claim, offset, bytes);
  }

  /** Delivers only those of the bytes that are wanted as rows. */
  sendRows(offset: number, bytes: Uint8Array<ArrayBuffer>): void {
    const end = offset + bytes.byteLength;
    if (this.over || !this.rows.any(offset, end)) return;
    const claim = { rows: true, packed: false, places: this.rows.take(offset, end) };
    // A copy: the bytes may be wanted as weights, too.
    this.give(claim, offset, this.copies ? bytes : bytes.slice());
  }

  async #sendHeader(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.ready();
    const header = this.#header;
    if (this.over || header === null) return;
    this.#header = null;
    const { offset, ptr } = header;
    const place = { from: offset, to: offset + bytes.byteLength, ptr, order: 0 };
    this.give({ rows: false, packed: false, places: [place] }, offset, bytes);
  }

  /** Removes the wanted ones of these bytes from the list: the caller must deliver them. */
  claim(from: number, to: number, rows: boolean, packed = false): Claim {
    return { rows, packed, places: (rows ? this.rows : this.weights).take(from, to) };
  }

  /** Undoes a claim whose bytes can't be read: they are wanted again. */
  putBack({ rows, places }: Claim): void {
    (rows ? this.rows : this.weights).putBack(places);
    this.wake();
  }

  /** Delivers the bytes of a claim. `bytes`: those of the model at `offset`, which include them. */
  give({ rows, packed, places }: Claim, offset: number, bytes: Uint8Array<ArrayBuffer>): void {
    const memory = this.#memory;
    if (memory !== null) {
      write(memory, places, offset, bytes);
      return this.filled({ rows, packed, places });
    }
    for (const { from, to } of joined(places)) {
      const all = to - from === bytes.buffer.byteLength;
      const part = all ? bytes : bytes.slice(from - offset, to - offset);
      const message = { type: 'bytes', offset: from, bytes: part, rows, packed } as const;
      this.#report({ from, to }, rows, () => {
        this.#credit -= to - from;
        this.port.postMessage(message, [part.buffer]);
      });
    }
  }

  /**
   * The views to read the bytes from `from` to `to` into: the claim's destinations in shared memory, and `spare` for the bytes
   * between them, which must be large enough. Null without shared memory.
   */
  views({ places }: Claim, from: number, to: number, spare: () => Uint8Array): Uint8Array[] | null {
    if (this.#memory === null) return null;
    const { buffer } = this.#memory;
    const views: Uint8Array[] = [];
    let at = from;
    let used = 0;
    const skip = (end: number): void => {
      if (end > at) views.push(spare().subarray(used, used + (end - at)));
      used += end - at;
    };
    for (const place of places) {
      skip(place.from);
      views.push(new Uint8Array(buffer, place.ptr, place.to - place.from));
      at = place.to;
    }
    skip(to);
    return views;
  }

  /** Reports that the bytes of a claim are written into shared memory. */
  filled({ rows, packed, places }: Claim): void {
    if (this.over) return;
    for (const { from: offset, to } of joined(places)) {
      const length = to - offset;
      const message = { type: 'filled', offset, length, rows, packed } as const;
      this.#report({ from: offset, to }, rows, () => this.port.postMessage(message));
    }
  }

  // --- withholding bytes ---------------------------------------------------------------------------

  /**
   * Withholds some bytes that every pass needs until release(): so no text is generated before the sha256 is verified, though
   * the prompt is computed as far as possible. An engine that got all bytes with the header waits for release() by itself.
   */
  hold(): void {
    const { ordered } = this.weights;
    // Doesn't withhold the last contiguous wanted bytes: they may be the embedding's table, of which single rows are enough.
    // If all are contiguous, rows are withheld, too.
    let end = ordered.length - 1;
    while (end > 0 && ordered[end - 1]?.to === ordered[end]?.from) --end;
    const { from, to } = ordered[Math.floor(0.75 * end)] ?? { from: 0, to: 0 };
    this.#keystone = { from: Math.max(from, to - KEYSTONE_BYTES), to, rows: end <= 0 };
  }

  #report({ from, to }: Range, rows: boolean, post: () => void): void {
    const key = this.#keystone;
    const holds = key !== null && (rows ? key.rows : from < key.to && key.from < to);
    if (holds) this.#held.push(post);
    else post();
  }

  /** All files are verified: reports what was withheld. */
  release(): void {
    if (this.#keystone === null) return;
    this.#keystone = null;
    this.port.postMessage({ type: 'proven' });
    for (const post of this.#held.splice(0)) post();
  }
}
