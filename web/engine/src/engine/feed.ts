// The engine worker's side of the connection to a loader: requests ranges, takes their bytes, and checks how the file ended.
import type { EngineHandle, HeaderHandle, SluiceModule } from '../../../../wasm/module.js';
import { check } from './module-answers.js';
import { SluiceError, toldError } from '../shared/errors.js';
import { Outstanding, joined, write, type Wants } from '../shared/outstanding.js';
import { FEED_BYTES, PACKED_BYTES } from '../shared/protocol.js';
import type { EngineToLoader, LoaderToEngine, Refusal } from '../shared/protocol.js';

/** The part of a MessagePort that is used; tests have their own. */
export interface HostPort {
  postMessage(message: EngineToLoader, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<LoaderToEngine>) => void) | null;
}

/** What the loader says of its source. */
export type Opened = Omit<LoaderToEngine & { type: 'opened' }, 'type'>;

/** What a loader sends when it is asked for bytes, or when there are no more. */
type Delivery = Exclude<LoaderToEngine, { type: 'opened' | 'failed' }>;

const USELESS: ReadonlySet<string> = new Set([
  'bad_file',
  'unsupported_model',
  'unsupported_type',
  // The engine's own: the file is shorter than its header says.
  'download_failed',
]);

/** How an error refuses the file. Nothing of a useless file is kept; of an unfit file only what was cached before. */
export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof SluiceError)) return 'no';
  if (USELESS.has(error.code)) return 'useless';
  return error.code === 'budget_too_small' ? 'unfit' : 'no';
}

export class Feed {
  /** Called after bytes were taken, after their sha256 was verified, or after the file ended without an error. */
  ontaken: () => void = () => {};
  /** Called once if the stream fails. */
  onerror: (error: unknown) => void = () => {};
  readonly opened: Promise<Opened>;

  #opened: Opened = {
    sizes: [0],
    exact: false,
    network: false,
    access: 'sequential',
    unproven: false,
  };
  #proven = false;
  #stopped = false;
  #brought = 0;
  /** Set by drive. */
  #ask: () => void = () => {};
  /** Null until readHeader or drive; earlier messages wait in #early. */
  #take: ((message: Delivery) => void) | null = null;
  readonly #early: Delivery[] = [];

  constructor(readonly port: HostPort) {
    this.opened = new Promise((resolve, reject) => {
      port.onmessage = ({ data }) => {
        if (this.#stopped) return;
        if (data.type === 'opened') {
          this.#opened = data;
          resolve(this.#opened);
        } else if (data.type === 'failed') {
          const error = toldError(data.error);
          this.#stopped = true;
          reject(error);
          this.onerror(error);
        } else {
          this.#deliver(data);
        }
      };
    });
    // If nobody waits for it, a failure is not unhandled: onerror gets it, too.
    this.opened.catch(() => {});
  }

  #deliver(message: Delivery): void {
    if (this.#take === null) {
      this.#early.push(message);
      return;
    }
    try {
      this.#take(message);
    } catch (error) {
      this.stop(refusalOf(error));
      this.onerror(error);
    }
  }

  /** Passes the queued messages to `take`, and all later ones. */
  #takeWith(take: (message: Delivery) => void): void {
    this.#take = take;
    for (const message of this.#early.splice(0)) {
      if (!this.#stopped) this.#deliver(message);
    }
  }

  /** Tells the loader to stop. Later messages are ignored. `refused`: how the file is refused, if it is the reason. */
  stop(refused: Refusal = 'no'): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.port.postMessage({ type: 'stop', refused });
  }

  /** The engine has all weights, and will read none again. The loader may still have bytes to store. */
  enough(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.port.postMessage({ type: 'enough' });
  }

  /** Reads only the headers; resolves when all are complete. */
  readHeader(
    header: HeaderHandle,
    module: SluiceModule,
    memory: WebAssembly.Memory,
  ): Promise<void> {
    const room = 1 << 16;
    const ptr = module.allocate(room);
    if (ptr === 0) throw new SluiceError('out_of_memory', 'no memory for reading the header');
    return new Promise((resolve, reject) => {
      this.onerror = reject;
      // Small requests: bytes in flight when the header is complete were fetched for nothing.
      const ask = (): void => {
        const wants = Float64Array.of(header.position(), 0, room);
        const bases = basesOf(header);
        this.port.postMessage({
          type: 'want',
          memory: null,
          wants,
          bases,
          once: true,
          rows: false,
          layout: 0,
        });
        this.port.postMessage({ type: 'sendMore', length: room });
      };
      this.#takeWith((message) => {
        if (message.type === 'ended') {
          check(header.endOfFile());
        } else if (message.type === 'bytes') {
          const { bytes } = message;
          for (let at = 0; at < bytes.byteLength && !header.done(); at += room) {
            const part = bytes.subarray(at, at + room);
            new Uint8Array(memory.buffer, ptr, part.byteLength).set(part);
            check(header.push(ptr, part.byteLength));
          }
        }
        if (!header.done()) return ask();
        this.stop();
        module.release(ptr);
        resolve();
      });
      if (!this.#stopped) ask();
    });
  }

  /**
   * Loads an engine, and later serves its requests for streamed weights. The loader writes straight into the engine's slots, or
   * its chunks are copied there. All ranges that the engine wants are requested at once, so the loader never waits for it.
   * `packing`: the number of the packed layout.
   */
  drive(engine: EngineHandle, memory: WebAssembly.Memory, direct: boolean, packing: number): void {
    const shared = direct && !(memory.buffer instanceof ArrayBuffer);
    const places = { weights: new Outstanding(), rows: new Outstanding() };
    let header = true;
    let layout: number | null = null;
    const want = (wants: Wants, rows: boolean): void => {
      const once = !engine.hasLayout();
      // Sent even if empty: it tells the loader that the headers are complete.
      const first = header && !once && !rows;
      if (wants.length === 0 && !first) return;
      if (!shared) {
        // The header's last range may be only partly received, and its buffer is gone.
        if (header) places.weights.clear();
        (rows ? places.rows : places.weights).add(wants);
      }
      header = once;
      const bases = basesOf(engine);
      const into = shared ? memory : null;
      if (!once) layout ??= this.#opened.access === 'rereadable' && rereads(engine) ? packing : 0;
      this.port.postMessage({
        type: 'want',
        memory: into,
        wants,
        bases,
        once,
        rows,
        layout: layout ?? 0,
      });
    };
    this.#ask = () => {
      if (this.#stopped || engine.loaded()) return;
      want(engine.rowWants(), true);
      want(engine.wants(Number.MAX_SAFE_INTEGER), false);
    };
    let keeps = false;
    let room = PACKED_BYTES;
    const filled = (offset: number, length: number, rows: boolean, packed: boolean): void => {
      this.#brought += length;
      if (rows) return check(engine.rowsFilled(offset, length));
      const header = !engine.hasLayout();
      const answer = engine.filled(offset, length, packed);
      if (packed && answer !== '') this.port.postMessage({ type: 'packedRefused' });
      check(answer);
      if (keeps) room -= this.#passOn(engine.takePacked(), memory, room);
      // Before the tokenizer is built, so that the next bytes arrive meanwhile.
      this.#ask();
      if (header && engine.hasLayout()) check(engine.buildTokenizer());
    };
    this.#takeWith((message) => {
      if (message.type === 'ended') {
        this.#end(engine, message);
      } else if (message.type === 'filled') {
        filled(message.offset, message.length, message.rows, message.packed);
        this.ontaken();
      } else if (message.type === 'proven') {
        this.#proven = true;
        this.ontaken();
      } else if (message.type === 'keepsPacked') {
        keeps = message.keeps;
        engine.keepsPacked(keeps);
      } else if (message.type === 'tookPacked') {
        room += message.length;
      } else if (message.type === 'bytes') {
        const { offset, bytes, rows, packed } = message;
        const wanted = rows ? places.rows : places.weights;
        const taken = wanted.take(offset, offset + bytes.byteLength);
        write(memory, taken, offset, bytes);
        for (const { from, to } of joined(taken)) filled(from, to - from, rows, packed);
        this.port.postMessage({ type: 'sendMore', length: bytes.byteLength });
        this.ontaken();
      }
    });
    if (this.#stopped) return;
    this.#ask();
    if (!shared) this.port.postMessage({ type: 'sendMore', length: FEED_BYTES });
  }

  /**
   * Sends packed chunks to the loader, of `most` bytes together at most. A later pass may pack the others again. `chunks`: what
   * EngineHandle.takePacked returned. Returns the number of bytes sent.
   */
  #passOn(chunks: Float64Array, memory: WebAssembly.Memory, most: number): number {
    let sum = 0;
    for (let i = 0; i < chunks.length; i += 3) {
      const [offset = 0, ptr = 0, length = 0] = chunks.subarray(i, i + 3);
      if (sum + length > most) continue;
      sum += length;
      const bytes = new Uint8Array(length);
      bytes.set(new Uint8Array(memory.buffer, ptr, length));
      this.port.postMessage({ type: 'packed', offset, bytes }, [bytes.buffer]);
    }
    return sum;
  }

  /** Requests the ranges that the engine newly wants: after a step, and when a session is cancelled or deleted. */
  ask(): void {
    this.#ask();
  }

  /** Bytes of weights and headers received so far. */
  get brought(): number {
    return this.#brought;
  }

  /** Every sha256 was verified, or none has to be. */
  get proven(): boolean {
    return this.#proven || !this.#opened.unproven;
  }

  /** More bytes may arrive. */
  get open(): boolean {
    return !this.#stopped;
  }

  /** A file has ended. Throws if the engine lacks bytes. */
  #end(engine: EngineHandle, { file, received }: LoaderToEngine & { type: 'ended' }): void {
    if (engine.loaded()) return;
    const total = endOf(engine);
    const base = basesOf(engine)[file] ?? 0;
    if (this.#opened.network && engine.hasLayout() && base + received < total) {
      throw new SluiceError(
        'download_failed',
        `the download ended after ${base + received} of ${total} bytes, which the file's header names; ` +
          'try again, or see whether the file on the server is complete',
      );
    }
    check(engine.endOfFile(base + received));
    this.ontaken();
  }
}

/** Whether some of the weights are streamed: read again for every pass. */
export function rereads(engine: EngineHandle): boolean {
  return engine.slots().some((field, i) => i % 6 === 4 && field === 1);
}

/** Where the last of the model's files ends. */
function endOf(of: Pick<EngineHandle, 'files'>): number {
  const [begin = 0, bytes = 0] = of.files().slice(-2);
  return begin + bytes;
}

/** The offset of each of the model's files whose header was read. */
function basesOf(of: Pick<EngineHandle, 'files'>): number[] {
  return Array.from(of.files().filter((_, i) => i % 2 === 0));
}
