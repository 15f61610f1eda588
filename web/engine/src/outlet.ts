// The loader's side of the connection to the engine worker: what is wanted, and giving the bytes. Straight into shared
// memory if there is any, otherwise as chunks that are transferred. The engine's credit limits the bytes of chunks that
// are under way.
import { Places, inFileOrder, type Stretch } from './places.js';
import type { EngineToLoader, LoaderToEngine } from './protocol.js';

/** The part of a MessagePort that is used; tests have their own. */
export interface FeedPort {
  postMessage(message: LoaderToEngine, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<EngineToLoader>) => void) | null;
}

/** What is wanted next: bytes of a header, from `offset` on, or all weights. Offsets are those of the whole model. */
export type Wish = { kind: 'header'; offset: number; length: number } | { kind: 'weights' };

export class Outlet {
  /** Nothing more is wanted, and the reading is to end. */
  readonly stopped = new AbortController();
  /** Whether what is kept of the file shall be dropped: it is no model that can be used. */
  refused = false;
  /** The engine has all; what is kept on the device may still lack bytes. */
  sated = false;
  /** Where each file of the model begins, as far as the engine knows. */
  bases: number[] = [0];
  /** Whether bytes are copied into shared memory, so that the buffer they came in can be reused. */
  copies = false;
  /** Holds back the report of the last bytes, so that the engine can't be ready before release(). */
  holding = false;

  #places: Places | null = null;
  #memory: WebAssembly.Memory | null = null;
  #wish: Wish | null = null;
  #credit = 0;
  #held: (() => void) | null = null;
  readonly #waiting: (() => void)[] = [];

  constructor(readonly port: FeedPort) {
    port.onmessage = ({ data }) => {
      switch (data.type) {
        case 'want': {
          this.#places = new Places(inFileOrder(data.wants));
          this.#memory = data.memory;
          this.bases = data.bases;
          this.copies = data.memory !== null;
          const { begin: offset, end } = this.#places;
          this.#wish = data.once
            ? { kind: 'header', offset, length: end - offset }
            : { kind: 'weights' };
          break;
        }
        case 'sendMore':
          this.#credit += data.length;
          break;
        case 'enough':
          this.sated = true;
          break;
        case 'stop':
          this.refused = data.refused;
          this.stop();
          return;
      }
      this.#wake();
    };
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #news(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** No more bytes are wanted. */
  stop(): void {
    this.stopped.abort();
    this.#wake();
  }

  get #over(): boolean {
    return this.stopped.signal.aborted;
  }

  /** What is wanted next; null if nothing more is. */
  async wish(): Promise<Wish | null> {
    while (this.#wish === null && !this.#over) await this.#news();
    return this.#over ? null : this.#wish;
  }

  /** Resolves when bytes may be sent, or when no more are wanted. */
  async ready(): Promise<void> {
    if (this.copies || this.sated) return;
    while (this.#credit <= 0 && !this.#over && !this.sated) await this.#news();
  }

  /** Resolves when the engine has said that it has all, or that it wants nothing more. */
  async verdict(): Promise<void> {
    while (!this.sated && !this.#over) await this.#news();
  }

  /** Whether the engine wants any of these bytes. */
  wants(offset: number, length: number): boolean {
    if (this.sated || this.#places === null) return false;
    return this.#places.stretches(offset, offset + length).some(({ ptr }) => ptr !== null);
  }

  /**
   * Gives the bytes at `offset` of the model. Bytes of a header must be those that are wished for, no more. An array that
   * is the whole of its buffer may be transferred away.
   */
  async send(offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    if (this.#over || !this.wants(offset, bytes.byteLength)) return;
    // These bytes take the place of those that are held back; their credit may be needed.
    this.#letGo();
    await this.ready();
    if (this.#over || this.sated) return;
    if (this.#wish?.kind === 'header') this.#wish = null;
    const length = bytes.byteLength;
    if (this.#memory !== null) {
      this.#places?.write(this.#memory, offset, bytes);
      return this.#report(() =>
        this.port.postMessage({ type: 'filled', offset, length, rows: false }),
      );
    }
    const whole = length === bytes.buffer.byteLength ? bytes : bytes.slice();
    this.#credit -= length;
    this.#report(() =>
      this.port.postMessage({ type: 'bytes', offset, bytes: whole, rows: false }, [whole.buffer]),
    );
  }

  /** Where the bytes from `from` to `to` go in shared memory; null if they must be sent. */
  spread(from: number, to: number): { memory: WebAssembly.Memory; stretches: Stretch[] } | null {
    if (this.#memory === null || this.#places === null || this.sated) return null;
    return { memory: this.#memory, stretches: this.#places.stretches(from, to) };
  }

  /** The bytes are at their places in shared memory. */
  filled(offset: number, length: number): void {
    if (this.#over || this.sated || !this.wants(offset, length)) return;
    this.#report(() => this.port.postMessage({ type: 'filled', offset, length, rows: false }));
  }

  #letGo(): void {
    const held = this.#held;
    this.#held = null;
    held?.();
  }

  #report(post: () => void): void {
    this.#letGo();
    if (this.holding) this.#held = post;
    else post();
  }

  /** Reports what was held back. */
  release(): void {
    this.holding = false;
    this.#letGo();
  }
}
