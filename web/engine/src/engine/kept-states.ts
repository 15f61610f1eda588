// In the engine worker: the conversation states that this device stores. A request that names a state restores the prefix that
// it shares with the prompt. After the answer the new pieces are written, in slices, from a clone, while other requests run.
import type {
  EngineHandle,
  PromptHandle,
  SessionHandle,
  SessionWriterHandle,
} from '../../../../wasm/module.js';
import { check } from './module-answers.js';
import { SluiceError } from '../shared/errors.js';
import type { Facts } from '../shared/facts.js';
import type { OpenModule } from './module.js';
import { makeNote, type Note } from '../shared/notes.js';
import { deferred } from '../shared/promises.js';
import type { StateRequest } from '../shared/protocol.js';
import { sized } from '../shared/sized.js';
import { openFolder } from '../platform/here.js';
import type { Folder, Lock } from '../platform/platform.js';
import {
  PIECES_AT,
  PIECE_POSITIONS,
  StateFile,
  lockState,
  removeState,
  shrinkStates,
  stateKey,
} from '../loader/store/state-files.js';

const PART_BYTES = 128 << 10;
const SLICE_MS = 5;
/** Milliseconds to wait for the lock: the tab that holds it may just be closing. */
const LOCK_MS = 500;
/** The most states whose files' contents are remembered. */
const REMEMBERED = 16;

export interface KeptHooks {
  note(note: Note): void;
  /** There is work for slice(). */
  wake(): void;
  /** The engine may want weights. */
  ask(): void;
  /** The error is not about a state: the module has trapped. */
  broken(error: unknown): void;
}

/** A locked state: this engine may read and write it, from the start of a request until the state after its answer is written. */
export interface Hold extends StateRequest {
  key: string;
  folder: Folder;
}

function reasonOf(error: unknown): Facts {
  if (!(error instanceof SluiceError)) return { reason: 'unreadable' };
  const { code, facts } = error;
  return code === 'storage_full' || code === 'out_of_memory'
    ? { ...facts, reason: code }
    : { reason: 'unreadable' };
}

interface Shared {
  /** How many requests and writers use the lock. */
  users: number;
  writers: number;
  /** Resolves when the last reader of the file has finished. */
  read: Promise<void>;
  lock: Promise<Lock | null>;
}

/** The contents of a file, as they were last read and checked, or written. */
interface Known {
  tokens: Int32Array;
  mark: string;
}

interface Owned {
  delete(): void;
}

/** A session whose state is being written, or waits for that. */
interface Writing {
  readonly session: SessionHandle;
  writer: SessionWriterHandle | null;
  /** The write was abandoned: its session and writer are freed. */
  gone: boolean;
}

function sharedLength(a: Int32Array, b: Int32Array): number {
  const most = Math.min(a.length, b.length);
  let n = 0;
  while (n < most && a[n] === b[n]) ++n;
  return n;
}

export class KeptStates {
  readonly #locks = new Map<string, Shared>();
  /** By key; resolves when the lock is free again. */
  readonly #releasing = new Map<string, Promise<void>>();
  readonly #known = new Map<string, Known>();
  /** The module's objects that end() frees. */
  readonly #owned = new Set<Owned>();
  readonly #files = new Set<StateFile>();
  /** Continuations that wait for a slice. */
  readonly #waiting: (() => void)[] = [];
  readonly #writings = new Set<Writing>();
  /** The last write: states are written one after the other. */
  #writing: Promise<void> = Promise.resolve();
  #until = 0;
  #over = false;

  constructor(
    readonly opened: OpenModule,
    readonly engine: EngineHandle,
    readonly hooks: KeptHooks,
  ) {}

  /** Some work waits for a slice. */
  get busy(): boolean {
    return this.#waiting.length > 0;
  }

  /** Resumes the waiting work, for some milliseconds each. */
  slice(): void {
    for (const go of this.#waiting.splice(0)) go();
  }

  /** Ends all work; nothing is freed. */
  stop(): void {
    this.#over = true;
    this.#waiting.length = 0;
  }

  /** Stops, and frees all memory. */
  end(): void {
    this.stop();
    for (const one of this.#owned) one.delete();
    for (const file of this.#files) file.close();
    for (const { lock } of this.#locks.values()) void lock.then((held) => held?.release());
  }

  /** Locks a state. Null if it can't be stored: a note tells why. Otherwise keep() or release() must follow. */
  async hold(request: StateRequest): Promise<Hold | null> {
    let hold: Hold | null = null;
    try {
      const folder = await this.#live(openFolder());
      if ('why' in folder) return this.#not(folder.why, { reason: folder.reason });
      const key = await this.#live(stateKey(request.id));
      for (let freed; (freed = this.#releasing.get(key)) !== undefined;) await this.#live(freed);
      const shared = this.#locks.get(key) ?? {
        users: 0,
        writers: 0,
        read: Promise.resolve(),
        lock: lockState(key, LOCK_MS),
      };
      this.#locks.set(key, shared);
      shared.users += 1;
      hold = { ...request, key, folder };
      if ((await this.#live(shared.lock)) !== null) return hold;
      this.release(hold);
      return this.#not('another tab uses it', { reason: 'in_use' });
    } catch (error) {
      // The lock could not be requested: the next request tries again.
      if (hold !== null) this.release(hold);
      return this.#failed(error);
    }
  }

  release({ key }: Hold): void {
    const shared = this.#locks.get(key);
    if (shared === undefined || --shared.users > 0) return;
    this.#locks.delete(key);
    const freed = shared.lock
      .then((lock) => lock?.release())
      .catch(() => {}) // it was never held, or is lost already
      .then(() => void this.#releasing.delete(key));
    this.#releasing.set(key, freed);
  }

  /**
   * A session with the prefix that the state shares with the prompt, if a reply can reuse more than `least()` tokens of it;
   * otherwise null. `live`: whether the request still runs, so that its prompt exists. `makeRoom` is called before memory is
   * allocated.
   */
  async restore(
    hold: Hold,
    prompt: PromptHandle,
    least: () => number,
    live: () => boolean,
    makeRoom: () => void,
  ): Promise<SessionHandle | null> {
    const shared = this.#locks.get(hold.key);
    // The last answer is still being written: a session in memory has what the file will have.
    if (shared === undefined || shared.writers > 0) return null;
    // A request that was cancelled may still be reading.
    const before = shared.read;
    const { promise, resolve } = deferred();
    shared.read = promise;
    try {
      await this.#live(before);
      return await this.#read(hold, prompt, least, live, makeRoom);
    } finally {
      resolve();
    }
  }

  /** See restore(). One request at a time reads the file. */
  async #read(
    hold: Hold,
    prompt: PromptHandle,
    least: () => number,
    live: () => boolean,
    makeRoom: () => void,
  ): Promise<SessionHandle | null> {
    let session: SessionHandle | null = null;
    let wanted = 0;
    try {
      const file = await this.#live(StateFile.open(hold.folder, hold.key));
      if (file === null) return null;
      this.#files.add(file);
      try {
        if (!live()) return null;
        const { tokens, computed } = file.claim();
        wanted = Math.min(prompt.sharedWritten(tokens), computed);
        // The prompt's last token is always computed, so one token more is not worth it.
        if (wanted <= least() + 1 || !(await this.#identified(live))) return null;
        const { module } = this.opened;
        makeRoom();
        session = this.#own(new module.Session(this.engine));
        for (let piece = 0; piece * PIECE_POSITIONS < wanted; ++piece)
          if (!(await this.#take(file, piece, session, live))) break;
        if (!live()) return null;
      } finally {
        this.#close(file);
      }
      this.#remember(hold.key, session.tokens(), await this.#live(file.mark()));
      if (!live() || prompt.reusable(session) <= least()) return null;
      const { length } = session.tokens();
      if (wanted < length) session.truncate(wanted);
      this.#owned.delete(session);
      const found = session;
      session = null;
      return found;
    } catch (error) {
      return this.#failed(error);
    } finally {
      if (session !== null && !this.#over) this.#free(session);
    }
  }

  /** Writes the session's state, then frees the session and releases the lock. */
  keep(hold: Hold, session: SessionHandle): void {
    const one: Writing = { session: this.#own(session), writer: null, gone: false };
    this.#writings.add(one);
    const shared = this.#locks.get(hold.key) as Shared;
    shared.writers += 1;
    const write = async (): Promise<void> => {
      try {
        await this.#write(hold, one);
      } catch (error) {
        this.#known.delete(hold.key);
        this.#failed(error);
      } finally {
        this.#writings.delete(one);
        if (!this.#over) {
          this.#free(session);
          shared.writers -= 1;
          this.release(hold);
        }
      }
    };
    this.#writing = this.#writing.then(write);
  }

  /** Abandons all writes, so that their memory is free at once. False: there were none. */
  spare(): boolean {
    const any = this.#writings.size > 0;
    for (const one of this.#writings) {
      one.gone = true;
      if (one.writer !== null) this.#free(one.writer);
      this.#free(one.session);
    }
    this.#writings.clear();
    return any;
  }

  /** Reads a piece into a session. False if the piece is not valid, or the request has ended. */
  async #take(
    file: StateFile,
    piece: number,
    session: SessionHandle,
    live: () => boolean,
  ): Promise<boolean> {
    const bytes = file.sizeOf(piece);
    const reader = this.#own(new this.opened.module.SessionReader(this.engine, bytes, session));
    try {
      for (let at = 0; at < bytes;) {
        await this.#pause();
        if (!live()) return false;
        const part = file.read(file.place(piece) + at, Math.min(PART_BYTES, bytes - at));
        if (part.length === 0) return false;
        this.#withMemory((ptr) => {
          this.#bytesAt(ptr, part.length).set(part);
          check(reader.push(ptr, part.length));
        });
        at += part.length;
      }
      check(reader.finish());
      return true;
    } catch (error) {
      // The piece is damaged or of another model, or memory ran out: the session keeps the pieces before.
      if (error instanceof SluiceError) return false;
      throw error;
    } finally {
      if (!this.#over) this.#free(reader);
    }
  }

  async #write({ id, key, folder, limit }: Hold, one: Writing): Promise<void> {
    const still = async <T>(promise: Promise<T>): Promise<T> => {
      const value = await this.#live(promise);
      if (one.gone) throw new SluiceError('out_of_memory', 'an answer needed its memory');
      return value;
    };
    await still(Promise.resolve());
    const { session } = one;
    const count = session.pieces();
    if (count === 0) return;
    await still(this.#identified(() => !one.gone));
    const pieceBytes = session.pieceBytes();
    const tokens = session.tokens();
    const last = this.#pieceWriter(session, count - 1);
    const bytes = PIECES_AT + (count - 1) * pieceBytes + last.bytes();
    this.#free(last);
    if (bytes > limit) {
      await still(removeState(folder, key));
      const message = `it takes ${sized(bytes)}, and the limit is ${sized(limit)}`;
      const facts = { neededBytes: bytes, availableBytes: limit };
      throw new SluiceError('storage_full', message, { facts });
    }
    await still(shrinkStates(folder, limit - bytes, key));
    const making = StateFile.make(folder, key, { id, pieceBytes });
    const { state: file, fresh } = await this.#live(making);
    this.#files.add(file);
    let piece = 0;
    try {
      const known = this.#known.get(key);
      if (!fresh && known !== undefined && known.mark === (await still(file.mark())))
        piece = Math.floor(sharedLength(known.tokens, tokens) / PIECE_POSITIONS);
      // Truncated first, so that the file is valid at any time: it ends where writing has got to.
      file.handle.truncate(file.place(piece));
      for (; piece < count; ++piece) {
        await still(Promise.resolve());
        const writer = this.#pieceWriter(session, piece);
        one.writer = writer;
        for (let at = file.place(piece), n = 1; n > 0; at += n) {
          await still(this.#pause());
          n = this.#withMemory((ptr) => {
            const n = writer.next(ptr, PART_BYTES);
            if (n > 0) file.write(this.#bytesAt(ptr, n).slice(), at);
            return n;
          });
        }
        this.#free(writer);
        one.writer = null;
      }
      file.handle.flush();
    } catch (error) {
      // Frees the disk space of a piece that could not be written.
      if (!this.#over) file.handle.truncate(file.place(piece));
      throw error;
    } finally {
      this.#close(file);
    }
    this.#remember(key, tokens, await this.#live(file.mark()));
  }

  #pieceWriter(session: SessionHandle, piece: number): SessionWriterHandle {
    const writer = this.#own(new this.opened.module.SessionWriter());
    check(writer.openPiece(session, piece));
    return writer;
  }

  /** Computes the model's identity, and waits for the weights that it needs. False: it isn't wanted any more. */
  async #identified(live: () => boolean): Promise<boolean> {
    for (;;) {
      if (!live()) {
        this.engine.stopIdentifying();
        return false;
      }
      const known = this.engine.identify();
      check(known);
      if (known === '') return true;
      this.hooks.ask();
      await this.#turn();
    }
  }

  /** Waits for the next slice, without scheduling it. */
  async #turn(): Promise<void> {
    await new Promise<void>((go) => this.#waiting.push(go));
    this.#until = performance.now() + SLICE_MS;
  }

  /** If this slice's time is up, schedules the next one and waits for it. */
  async #pause(): Promise<void> {
    if (performance.now() < this.#until) return;
    this.hooks.wake();
    await this.#turn();
  }

  /** The promise's value; never resolves if the engine has ended meanwhile. */
  async #live<T>(promise: Promise<T>): Promise<T> {
    const value = await promise;
    return this.#over ? new Promise<T>(() => {}) : value;
  }

  #remember(key: string, tokens: Int32Array, mark: string): void {
    this.#known.delete(key);
    this.#known.set(key, { tokens, mark });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= REMEMBERED) break;
      this.#known.delete(oldest);
    }
  }

  #own<T extends Owned>(one: T): T {
    this.#owned.add(one);
    return one;
  }

  #free(one: Owned): void {
    if (this.#owned.delete(one)) one.delete();
  }

  #close(file: StateFile): void {
    if (this.#files.delete(file)) file.close();
  }

  #not(why: string, facts: Facts): null {
    const text = `The state of this conversation is not kept on this device: ${why}. After a reload it is computed again.`;
    this.hooks.note(makeNote('state_not_kept', text, facts));
    return null;
  }

  #failed(error: unknown): null {
    if (this.#over) return null;
    if (error instanceof SluiceError || error instanceof DOMException || error instanceof TypeError)
      return this.#not(error.message, reasonOf(error));
    this.hooks.broken(error);
    return null;
  }

  #bytesAt(ptr: number, length: number): Uint8Array {
    return new Uint8Array(this.opened.memory.buffer, ptr, length);
  }

  #withMemory<T>(work: (ptr: number) => T): T {
    const ptr = this.opened.module.allocate(PART_BYTES);
    if (ptr === 0) throw new SluiceError('out_of_memory', 'there is no memory left for that');
    try {
      return work(ptr);
    } finally {
      this.opened.module.release(ptr);
    }
  }
}
