// The engine worker's side of the connection to a loader: asks for bytes, takes them, and checks how the stream ended.
import type { EngineHandle, HeaderHandle, SluiceModule } from '../../../wasm/module.js';
import { check } from './answers.js';
import { SluiceError, fromErrorData } from './errors.js';
import { Places, inFileOrder, type Wants } from './places.js';
import { FEED_BYTES, type LoaderToEngine, type EngineToLoader } from './protocol.js';

/** The part of a MessagePort that is used; tests have their own. */
export interface HostPort {
  postMessage(message: EngineToLoader): void;
  onmessage: ((event: MessageEvent<LoaderToEngine>) => void) | null;
}

export interface Opened {
  total: number;
  exact: boolean;
  network: boolean;
}

/** What a loader sends when it is asked for bytes, or when there are no more. */
type Delivery = Exclude<LoaderToEngine, { type: 'opened' | 'failed' }>;

export class Feed {
  /** Called after bytes were taken, or after the file ended without an error. */
  ontaken: () => void = () => {};
  /** Called once if the stream fails. */
  onerror: (error: unknown) => void = () => {};
  readonly opened: Promise<Opened>;

  #opened: Opened = { total: 0, exact: false, network: false };
  #stopped = false;
  /** Null until readHeader or drive; earlier messages wait in #early. */
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
      this.stop();
      this.onerror(error);
    }
  }

  /** Gives `take` the messages that wait, and all that come from now on. */
  #takeWith(take: (message: Delivery) => void): void {
    this.#take = take;
    for (const message of this.#early.splice(0)) {
      if (!this.#stopped) this.#deliver(message);
    }
  }

  /** Tells the loader to stop. Messages are ignored from now on. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.port.postMessage({ type: 'stop' });
  }

  /** Reads only a header; resolves when it is complete. */
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
      // Little at a time: bytes that are under way when the header is complete were fetched for nothing.
      this.port.postMessage({ type: 'sendMore', length: room });
    });
  }

  /** Loads an engine: the loader writes straight to the engine's places, or its chunks are copied there. */
  drive(engine: EngineHandle, memory: WebAssembly.Memory, direct: boolean): void {
    const shared = direct && !(memory.buffer instanceof ArrayBuffer);
    // The header's place is reused for each piece. After the header all places are known and granted at once, so the
    // stream never waits for the engine again.
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
        // Before the engine's work, so that the next bytes come meanwhile.
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

  /** The stream has ended. Throws if the engine lacks bytes. */
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
