// The loader's side of the connection to the engine worker: what is wanted, and giving the bytes. Straight into shared
// memory if there is any, otherwise as chunks that are transferred. The engine's credit limits the bytes of chunks that
// are under way.
import { Outstanding, joined, write, type Place, type Range } from './outstanding.js';
import type { EngineToLoader, LoaderToEngine, Refusal } from './protocol.js';

/** The part of a MessagePort that is used; tests have their own. */
export interface FeedPort {
  postMessage(message: LoaderToEngine, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<EngineToLoader>) => void) | null;
}

/** What is wanted next: bytes of a header, from `offset` on, or weights. Offsets are those of the whole model. */
export type Wish = { kind: 'header'; offset: number; length: number } | { kind: 'weights' };

/** Wanted bytes that somebody brings: nobody else does. */
export interface Claim {
  readonly rows: boolean;
  /** They are whole chunks, as the engine packs them. */
  readonly packed: boolean;
  readonly places: readonly Place[];
}

/** The most bytes of weights that hold() keeps from the engine. */
const KEYSTONE_BYTES = 64 << 10;

export class Outlet {
  /** Nothing more is wanted, and the reading is to end. */
  readonly stopped = new AbortController();
  /** Whether what is kept of the file shall be dropped: it is no model that can be used. */
  refused: Refusal = 'no';
  /** The engine has all, and wants nothing again; what is kept on the device may still lack bytes. */
  sated = false;
  /** Where each file of the model begins, as far as the engine knows. */
  bases: number[] = [0];
  /** Whether bytes are copied into shared memory, so that the buffer they came in can be reused. */
  copies = false;
  /** Weights that are wanted and have not come. */
  readonly weights = new Outstanding();
  /** Rows of the embedding, which are needed before all else. */
  readonly rows = new Outstanding();
  /** The layout of packed chunks; 0: nothing is read again for every pass. */
  layout = 0;
  /** Called with a chunk that the engine has packed. */
  onpacked: (offset: number, bytes: Uint8Array) => void = () => {};
  /** Called when the engine has refused packed chunks. */
  onrefused: () => void = () => {};

  #memory: WebAssembly.Memory | null = null;
  #header: { offset: number; length: number; ptr: number } | null = null;
  #begun = false;
  #credit = 0;
  /** Of these bytes the engine doesn't hear before release(), nor, if so, of rows. Null: it hears of all. */
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
    // Rows that come first say nothing of the weights, of which hold() picks some.
    if (!rows) this.#begun = true;
    (rows ? this.rows : this.weights).add(wants);
  }

  // --- waiting -------------------------------------------------------------------------------------

  /** Something has changed: those who wait for news() look again. */
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

  /** Nothing more is to be given to the engine. */
  get over(): boolean {
    return this.stopped.signal.aborted || this.sated;
  }

  /** What is wanted next; null if nothing more is. */
  async wish(): Promise<Wish | null> {
    // A small model may have come with its header: then nothing is wished for any more.
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

  // --- giving bytes --------------------------------------------------------------------------------

  /**
   * Gives those of the bytes at `offset` of the model that are wanted. Of a header they must begin with the first byte that
   * is wished for, and be no more. An array that is the whole of its buffer may be transferred away.
   */
  async send(offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const end = offset + bytes.byteLength;
    if (this.#header !== null) return this.#sendHeader(bytes);
    if (this.over) return;
    this.sendRows(offset, bytes);
    await this.sendClaimed(this.claim(offset, end, false), offset, bytes);
  }

  /** Gives the bytes of a claim as soon as they may be sent. */
  async sendClaimed(claim: Claim, offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (claim.places.length === 0) return;
    await this.ready();
    if (!this.over) this.give(claim, offset, bytes);
  }

  /** Gives the bytes only where they are wanted as rows. */
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

  /** Takes those of the bytes off the list that are wanted: the caller brings them. */
  claim(from: number, to: number, rows: boolean, packed = false): Claim {
    return { rows, packed, places: (rows ? this.rows : this.weights).take(from, to) };
  }

  /** The bytes of a claim can't be brought. */
  putBack({ rows, places }: Claim): void {
    (rows ? this.rows : this.weights).putBack(places);
    this.wake();
  }

  /** Gives the bytes of a claim, which are among `bytes`, those at `offset`. */
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
   * Where the bytes from `from` to `to` go in shared memory: the places of a claim, and `spare` for what is between them. It
   * must be large enough. Null without shared memory.
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

  /** The bytes of a claim are at their places in shared memory. */
  filled({ rows, packed, places }: Claim): void {
    if (this.over) return;
    for (const { from: offset, to } of joined(places)) {
      const length = to - offset;
      const message = { type: 'filled', offset, length, rows, packed } as const;
      this.#report({ from: offset, to }, rows, () => this.port.postMessage(message));
    }
  }

  // --- holding back --------------------------------------------------------------------------------

  /**
   * From now on the engine doesn't hear of some bytes that every pass needs, until release(): so there is no text before
   * the file was compared, though the prompt is computed as far as it can be. An engine that has all of them, which came with
   * the header, waits for release() by itself.
   */
  hold(): void {
    const { ordered } = this.weights;
    // Not the last bytes of the file that are wanted one after the other: they may be the embedding's table, of which single
    // rows are enough. If there are no others, the rows wait, too.
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

  /** All files are proven. Reports what was held back. */
  release(): void {
    if (this.#keystone === null) return;
    this.#keystone = null;
    this.port.postMessage({ type: 'proven' });
    for (const post of this.#held.splice(0)) post();
  }
}
