// The engine worker's end of the line to a loader: grants room, takes bytes, judges how a stream ended.
import type { EngineHandle, HeaderHandle, SluiceModule } from '../../../wasm/module.js';
import { check } from './answers.js';
import { SluiceError, fromErrorData } from './errors.js';
import { Places, inFileOrder, type Wants } from './places.js';
import { FEED_BYTES, type LoaderToEngine, type EngineToLoader } from './protocol.js';

/** What is used of a MessagePort; tests bring their own. */
export interface HostPort {
  postMessage(message: EngineToLoader): void;
  onmessage: ((event: MessageEvent<LoaderToEngine>) => void) | null;
}

export interface Opened {
  total: number;
  exact: boolean;
  network: boolean;
}

/** What a loader says once it is asked for bytes, or once there are none. */
type Delivery = Exclude<LoaderToEngine, { type: 'opened' | 'failed' }>;

export class Feed {
  /** Called when bytes were taken, or when the file ended well. */
  ontaken: () => void = () => {};
  /** Called once, with what ended the stream badly. */
  onerror: (error: unknown) => void = () => {};
  readonly opened: Promise<Opened>;

  #opened: Opened = { total: 0, exact: false, network: false };
  #stopped = false;
  /** Null until readHeader or drive; what comes before waits in #early. */
  #take: ((message: Delivery) => void) | null = null;
  readonly #early: Delivery[] = [];

  constructor(readonly port: HostPort) {
    this.opened = new Promise((resolve, reject) => {
      port.onmessage = ({ data }) => {
        if (this.#stopped) return;
        if (data.type === 'opened') {
          this.#opened = { total: data.total, exact: data.exact, network: data.network };
          resolve(this.#opened);
        } else if (data.type === 'failed') {
          const error = fromErrorData(data.error);
          this.#stopped = true;
          reject(error);
          this.onerror(error);
        } else {
          this.#deliver(data);
        }
      };
    });
    // Who waits for it learns of a failure; who doesn't has onerror.
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
      this.stop();
      this.onerror(error);
    }
  }

  /** Takes all that comes from now on, and first what came before. */
  #takeWith(take: (message: Delivery) => void): void {
    this.#take = take;
    for (const message of this.#early.splice(0)) {
      if (!this.#stopped) this.#deliver(message);
    }
  }

  /** No more bytes are wanted. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.port.postMessage({ type: 'stop' });
  }

  /** Reads a header alone; resolves when it is complete. */
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
          this.port.postMessage({ type: 'sendMore', length: bytes.byteLength });
        }
        if (!header.done()) return;
        this.stop();
        module.release(ptr);
        resolve();
      });
      if (this.#stopped) return;
      // Little at a time: what is under way when the header is complete was fetched for nothing.
      this.port.postMessage({ type: 'sendMore', length: room });
    });
  }

  /** Loads an engine: lets the loader write into the engine's own places, or copies its chunks there. */
  drive(engine: EngineHandle, memory: WebAssembly.Memory, direct: boolean): void {
    const shared = direct && !(memory.buffer instanceof ArrayBuffer);
    // The header's place is used again for each piece. Behind the header all places are known at once: the stream
    // never waits for the engine again.
    const wanted = (): Wants => inFileOrder(engine.wants(Number.MAX_SAFE_INTEGER));
    const grant = (): void => {
      if (this.#stopped || engine.loaded()) return;
      const once = !engine.understood();
      this.port.postMessage({ type: 'fill', memory, wants: wanted(), once });
    };
    let at = 0;
    let places: Places | null = null;
    this.#takeWith((message) => {
      if (message.type === 'ended') {
        this.#end(engine, message.received);
      } else if (message.type === 'filled') {
        const header = !engine.understood();
        check(engine.filled(message.offset, message.length));
        // Before anything is made of it: meanwhile the next bytes come.
        if (header) grant();
        this.ontaken();
      } else if (message.type === 'bytes') {
        const { bytes } = message;
        for (let done = 0; done < bytes.byteLength && !engine.loaded();) {
          const header = !engine.understood();
          places ??= new Places(memory, wanted());
          const length = places.write(at, bytes.subarray(done));
          if (header) places = null;
          if (length === 0) break;
          check(engine.filled(at, length));
          at += length;
          done += length;
        }
        this.port.postMessage({ type: 'sendMore', length: bytes.byteLength });
        this.ontaken();
      }
    });
    if (this.#stopped) return;
    if (shared) grant();
    else this.port.postMessage({ type: 'sendMore', length: FEED_BYTES });
  }

  /** The stream ended before the engine had all it wanted. */
  #end(engine: EngineHandle, received: number): void {
    if (engine.loaded()) return;
    const { total } = engine.progress();
    if (this.#opened.network && engine.understood() && received < total) {
      throw new SluiceError(
        'download_failed',
        `the download ended after ${received} of ${total} bytes, which the file's header names; ` +
          'try again, or see whether the file on the server is complete',
      );
    }
    check(engine.endOfFile(received));
    this.ontaken();
  }
}
