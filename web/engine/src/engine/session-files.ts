// In the engine worker: saves sessions to Blobs and restores them, a piece at a time, while runs continue.
import type {
  EngineHandle,
  SessionHandle,
  SessionReaderHandle,
  SessionWriterHandle,
} from '../../../../wasm/module.js';
import { check } from './module-answers.js';
import type { EngineCalls } from '../shared/calls.js';
import { SluiceError } from '../shared/errors.js';
import type { Reply } from '../shared/replies.js';
import type { OpenModule } from './module.js';

const PIECE_BYTES = 128 << 10;
const SLICE_MS = 5;

export interface FilesHooks {
  /** Takes a session that was restored, with its number. The handle belongs to the host from now on. */
  restored(session: number, handle: SessionHandle): void;
  /** There is work again. */
  wake(): void;
}

/** A session that is being saved or restored. */
interface FileJob {
  readonly reply: Pick<Reply<never>, 'fail' | 'oncancel'>;
  /** Does a piece of the work; false: it waits. */
  step(): boolean;
  /** Frees its memory. */
  end(): void;
}

export class SessionFiles {
  readonly #jobs: FileJob[] = [];

  constructor(
    readonly opened: OpenModule,
    readonly engine: EngineHandle,
    readonly hooks: FilesHooks,
  ) {}

  /** Something is being saved or restored. */
  get busy(): boolean {
    return this.#jobs.length > 0;
  }

  /** Saves a session as it is now; it may continue at once. */
  save(session: SessionHandle, reply: Reply<Blob>): void {
    const copy = session.clone();
    if (copy === null)
      throw new SluiceError(
        'busy',
        'this session is generating; wait for its end, or stop it first',
      );
    let writer: SessionWriterHandle | null = null;
    const pieces: Blob[] = [];
    const step = (): boolean => {
      if (writer === null) {
        writer = new this.opened.module.SessionWriter();
        check(writer.open(copy));
      }
      const written = writer;
      const n = this.#withMemory((ptr) => {
        const bytes = written.next(ptr, PIECE_BYTES);
        // A piece becomes a Blob at once, which the browser may keep out of its memory.
        if (bytes > 0) pieces.push(new Blob([this.#bytesAt(ptr, bytes).slice()]));
        return bytes;
      });
      if (n > 0) return true;
      this.#remove(job);
      reply.end(new Blob(pieces));
      return true;
    };
    const end = (): void => {
      writer?.delete();
      copy.delete();
    };
    const job: FileJob = { reply, step, end };
    this.#add(job);
  }

  /** Restores the session with this number from a file. */
  restore({ session, file }: EngineCalls['restore']['args'], reply: Reply<number>): void {
    let reader: SessionReaderHandle | null = null;
    let at = 0;
    let reading = false;
    let ended = false;
    let piece: Uint8Array<ArrayBuffer> | null = null;
    let failure: unknown;
    const read = async (): Promise<void> => {
      reading = true;
      try {
        piece = new Uint8Array(await file.slice(at, at + PIECE_BYTES).arrayBuffer());
      } catch (cause) {
        failure = new SluiceError('bad_file', `the session can't be read: ${String(cause)}`, {
          cause,
        });
      }
      reading = false;
      if (!ended) this.hooks.wake();
    };
    const step = (): boolean => {
      reader ??= new this.opened.module.SessionReader(this.engine, file.size, null);
      if (failure !== undefined) throw failure;
      const taking = reader;
      if (piece !== null && piece.length > 0) {
        const bytes = piece;
        piece = null;
        at += bytes.length;
        this.#withMemory((ptr) => {
          this.#bytesAt(ptr, bytes.length).set(bytes);
          check(taking.push(ptr, bytes.length));
        });
      }
      if (at < file.size && piece === null) {
        if (!reading) void read();
        return false;
      }
      // All was read, or the Blob has fewer bytes than it says.
      check(taking.finish());
      const handle = taking.take() as SessionHandle;
      this.#remove(job);
      this.hooks.restored(session, handle);
      reply.end(handle.tokens().length);
      return true;
    };
    const end = (): void => {
      ended = true;
      reader?.delete();
    };
    const job: FileJob = { reply, step, end };
    this.#add(job);
  }

  /** Works for some milliseconds, between the slices of runs; false: all jobs wait. */
  slice(): boolean {
    const until = performance.now() + SLICE_MS;
    let worked = false;
    while (this.#piece()) {
      worked = true;
      if (performance.now() >= until) break;
    }
    return worked;
  }

  /** Does a piece of the first job that doesn't wait. */
  #piece(): boolean {
    for (const job of [...this.#jobs]) {
      try {
        const known = this.engine.identify();
        check(known);
        // identify() waits for weights; when they arrive, the host calls slice() again.
        if (known !== '') return false;
        if (job.step()) return true;
      } catch (error) {
        if (!(error instanceof SluiceError)) throw error;
        this.#remove(job);
        job.reply.fail(error);
        return true;
      }
    }
    return false;
  }

  /** Frees all memory. */
  end(): void {
    for (const job of this.#jobs.splice(0)) job.end();
  }

  #add(job: FileJob): void {
    job.reply.oncancel = () => this.#remove(job);
    this.#jobs.push(job);
    this.hooks.wake();
  }

  #remove(job: FileJob): void {
    const index = this.#jobs.indexOf(job);
    if (index < 0) return;
    this.#jobs.splice(index, 1);
    job.end();
    if (!this.busy) this.engine.stopIdentifying();
    else this.hooks.wake();
  }

  #bytesAt(ptr: number, length: number): Uint8Array {
    return new Uint8Array(this.opened.memory.buffer, ptr, length);
  }

  #withMemory<T>(work: (ptr: number) => T): T {
    const ptr = this.opened.module.allocate(PIECE_BYTES);
    if (ptr === 0)
      throw new SluiceError(
        'out_of_memory',
        'there is no memory left to save or restore a session',
      );
    try {
      return work(ptr);
    } finally {
      this.opened.module.release(ptr);
    }
  }
}
