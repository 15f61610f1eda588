// The stored states of conversations: the tokens of each and their state, so that they needn't be computed again.
//
// The state with the id ID is the file KEY.state. KEY is the first 32 hexadecimal digits of the SHA-256 of ID as UTF-8.
//
//   0     8     magic 'SLUICEST'
//   8     4     version: 1
//   12    4     the most bytes that a piece can have
//   16    4     bytes of the id
//   20          the id
//   1016  8     the first 8 bytes of the SHA-256 of the bytes 0..1015
//   1024        the pieces (core/session/session_file.h), one after the other. All but the last have the most bytes.
//
// Numbers are little-endian. The head is written once, and so is a complete piece; an incomplete last one is truncated and
// written again. The core checks each piece when it is read: after a crash or damage the state ends before the first invalid
// piece. The file's modification time is the time of the last use.
import { locksHeld, takeLock, words } from '../../platform/here.js';
import {
  STATE_LOCK,
  type Folder,
  type FileHandle,
  type SyncHandle,
  type Lock,
} from '../../platform/platform.js';
import { SluiceError } from '../../shared/errors.js';
import type { KeptState } from '../../shared/cache-types.js';
import { fileHandle, isNamed, openToWrite, readFile, removeFile, takeLockSoon } from './files.js';

export const PIECES_AT = 1024;
export const PIECE_POSITIONS = 256;
const HASH_AT = 1016;
const ID_AT = 20;
const VERSION = 1;
const MAGIC = new TextEncoder().encode('SLUICEST');
/** The format of a piece (core/session/session_file.h): bytes of its header and its hash, and offsets in the header. */
const PIECE = { header: 88, hash: 8, tokensAt: 48, computedAt: 52 };
const PIECE_MAGIC = new TextEncoder().encode('SLUICEPC');
const MOST_PIECE_BYTES = 2 ** 31;

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
}

export async function stateKey(id: string): Promise<string> {
  const hash = await sha256(new TextEncoder().encode(id));
  return Array.from(hash.subarray(0, 16), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

interface StateHead {
  id: string;
  pieceBytes: number;
}

async function writeHead({ id, pieceBytes }: StateHead): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(PIECES_AT);
  const view = new DataView(bytes.buffer);
  const name = new TextEncoder().encode(id);
  bytes.set(MAGIC);
  view.setUint32(8, VERSION, true);
  view.setUint32(12, pieceBytes, true);
  view.setUint32(16, name.length, true);
  bytes.set(name, ID_AT);
  bytes.set((await sha256(bytes.slice(0, HASH_AT))).subarray(0, PIECES_AT - HASH_AT), HASH_AT);
  return bytes;
}

/** Null unless it is a valid head, of the state that the file's name stands for. The bytes may be arbitrary. */
async function readHead(bytes: Uint8Array<ArrayBuffer>, key: string): Promise<StateHead | null> {
  if (bytes.length < PIECES_AT || MAGIC.some((byte, i) => bytes[i] !== byte)) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const hash = await sha256(bytes.slice(0, HASH_AT));
  if (bytes.subarray(HASH_AT, PIECES_AT).some((byte, i) => byte !== hash[i])) return null;
  const pieceBytes = view.getUint32(12, true);
  const length = view.getUint32(16, true);
  if (view.getUint32(8, true) !== VERSION || length > HASH_AT - ID_AT) return null;
  const least = PIECE.header + PIECE.hash + 4 * PIECE_POSITIONS;
  if (pieceBytes <= least || pieceBytes > MOST_PIECE_BYTES) return null;
  const id = new TextDecoder().decode(bytes.subarray(ID_AT, ID_AT + length));
  return (await stateKey(id)) === key ? { id, pieceBytes } : null;
}

/** What a piece says of itself. Null if these are not the first bytes of one. */
function pieceHead(bytes: Uint8Array): { tokens: number; computed: number } | null {
  if (bytes.length < PIECE.header || PIECE_MAGIC.some((byte, i) => bytes[i] !== byte)) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tokens = view.getUint32(PIECE.tokensAt, true);
  const computed = view.getUint32(PIECE.computedAt, true);
  return computed > tokens || computed > PIECE_POSITIONS ? null : { tokens, computed };
}

/** How many positions a file of this size has: all pieces are complete but the last, which says how many it has. */
async function positionsIn(handle: FileHandle, size: number, pieceBytes: number): Promise<number> {
  const last = Math.max(0, Math.ceil((size - PIECES_AT) / pieceBytes) - 1);
  const at = PIECES_AT + last * pieceBytes;
  const head = pieceHead(await readFile(handle, at, at + PIECE.header));
  return last * PIECE_POSITIONS + (head?.computed ?? 0);
}

/** Takes the lock of a state. Null if another tab holds it for longer than `patience` milliseconds. */
export function lockState(key: string, patience: number): Promise<Lock | null> {
  return takeLock(STATE_LOCK + key, { signal: AbortSignal.timeout(patience) });
}

interface StateItem extends KeptState {
  key: string;
}

/** The states, the least recently used first. Unreadable files come before all others, with the id ''. */
async function listItems(folder: Folder): Promise<StateItem[]> {
  const items: StateItem[] = [];
  for await (const [name] of folder.entries()) {
    const [, key] = /^([0-9a-f]{32})\.state$/.exec(name) ?? [];
    const handle = key === undefined ? null : await fileHandle(folder, name);
    if (key === undefined || handle === null) continue;
    try {
      const { size, lastModified } = await handle.getFile();
      const head = await readHead(await readFile(handle, 0, PIECES_AT), key);
      items.push(
        head === null
          ? { key, id: '', bytes: size, tokens: 0, used: 0 }
          : {
              key,
              id: head.id,
              bytes: size,
              used: lastModified,
              tokens: await positionsIn(handle, size, head.pieceBytes),
            },
      );
    } catch (error) {
      // It was removed meanwhile.
      if (!isNamed(error, 'NotFoundError')) throw error;
    }
  }
  return items.sort((a, b) => a.used - b.used);
}

/** The most recently used first. */
export async function listStates(folder: Folder): Promise<KeptState[]> {
  const items = (await listItems(folder)).reverse().filter(({ id }) => id !== '');
  return items.map(({ id, bytes, tokens, used }) => ({ id, bytes, tokens, used }));
}

/** Removes a state's file. Returns the bytes that were freed. The caller has its lock. */
export function removeState(folder: Folder, key: string): Promise<number> {
  return removeFile(folder, `${key}.state`);
}

/** Removes a state. False if there is none. `busy` while it is in use. */
export async function deleteState(folder: Folder, id: string): Promise<boolean> {
  const key = await stateKey(id);
  const lock = await takeLockSoon(STATE_LOCK + key);
  if (lock === null)
    throw new SluiceError(
      'busy',
      `the state '${id.slice(0, 60)}' is in use: an answer is being written; stop that, and try again`,
    );
  try {
    return (await removeState(folder, key)) > 0;
  } finally {
    await lock.release();
  }
}

function bytesOf(items: readonly StateItem[]): number {
  return items.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Removes states that aren't in use, in this order, until `bytes` are removed. Returns the bytes that were freed. */
async function removeFirst(
  folder: Folder,
  items: readonly StateItem[],
  bytes: number,
): Promise<number> {
  let freed = 0;
  let gone = 0;
  for (const { key, bytes: size } of items) {
    if (gone >= bytes) break;
    const lock = await takeLock(STATE_LOCK + key, { ifAvailable: true });
    if (lock === null) continue;
    try {
      freed += await removeState(folder, key);
      gone += size;
    } finally {
      await lock.release();
    }
  }
  return freed;
}

/**
 * Evicts the least recently used states that aren't in use, until the rest has `bytes` at most. `keep`: the key of one that
 * stays and doesn't count. Returns the bytes that were freed.
 */
export async function shrinkStates(folder: Folder, bytes: number, keep = ''): Promise<number> {
  const items = (await listItems(folder)).filter(({ key }) => key !== keep);
  return removeFirst(folder, items, bytesOf(items) - bytes);
}

/** As shrinkStates(), until `bytes` are freed. */
export async function freeStates(folder: Folder, bytes: number): Promise<number> {
  return removeFirst(folder, await listItems(folder), bytes);
}

/** Bytes of the states that aren't in use. */
export async function idleStateBytes(folder: Folder): Promise<number> {
  const items = await listItems(folder);
  const held = await locksHeld(items.map(({ key }) => STATE_LOCK + key));
  return bytesOf(items.filter(({ key }) => !held.has(STATE_LOCK + key)));
}

/** What a file claims, unchecked: its tokens, and how many of them have their state in it. */
export interface StateClaim {
  tokens: number[];
  computed: number;
}

/** A state's file, open. The caller has its lock. */
export class StateFile {
  private constructor(
    readonly handle: SyncHandle,
    readonly file: FileHandle,
    readonly pieceBytes: number,
  ) {}

  /** Null if there is none that can be read. */
  static async open(folder: Folder, key: string): Promise<StateFile | null> {
    const file = await fileHandle(folder, `${key}.state`);
    if (file === null) return null;
    const head = await readHead(await readFile(file, 0, PIECES_AT), key);
    return head === null ? null : new StateFile(await openToWrite(file), file, head.pieceBytes);
  }

  /** The file of a state with pieces of this size: the existing one, or a new one. */
  static async make(
    folder: Folder,
    key: string,
    head: StateHead,
  ): Promise<{ state: StateFile; fresh: boolean }> {
    const file = await folder.getFileHandle(`${key}.state`, { create: true });
    const found = await readHead(await readFile(file, 0, PIECES_AT), key);
    const fresh = found?.pieceBytes !== head.pieceBytes;
    const bytes = await writeHead(head);
    const state = new StateFile(await openToWrite(file), file, head.pieceBytes);
    if (fresh) {
      try {
        state.handle.truncate(0);
        state.write(bytes, 0);
      } catch (error) {
        state.close();
        throw error;
      }
    }
    return { state, fresh };
  }

  /** The number of pieces; the last one may be incomplete. */
  get pieces(): number {
    return Math.ceil(Math.max(0, this.handle.getSize() - PIECES_AT) / this.pieceBytes);
  }

  place(piece: number): number {
    return PIECES_AT + piece * this.pieceBytes;
  }

  /** Bytes of a piece. */
  sizeOf(piece: number): number {
    return Math.min(this.pieceBytes, this.handle.getSize() - this.place(piece));
  }

  /** `length` bytes from `at` on, fewer only at the file's end. */
  read(at: number, length: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(Math.max(0, length));
    let done = 0;
    while (done < bytes.length) {
      const n = this.handle.read(bytes.subarray(done), { at: at + done });
      if (n <= 0) break;
      done += n;
    }
    return bytes.subarray(0, done);
  }

  /** Throws storage_full if the disk is full. */
  write(bytes: Uint8Array, at: number): void {
    try {
      for (let done = 0; done < bytes.length;) {
        const n = this.handle.write(bytes.subarray(done), { at: at + done });
        if (n <= 0) throw new DOMException('nothing was written', 'QuotaExceededError');
        done += n;
      }
    } catch (cause) {
      if (!isNamed(cause, 'QuotaExceededError')) throw cause;
      throw new SluiceError('storage_full', `${words.disk} has no room for it`, { cause });
    }
  }

  /** Reads what the pieces claim. Only sizes are checked: the core checks the rest when it reads the pieces. */
  claim(): StateClaim {
    const claim: StateClaim = { tokens: [], computed: 0 };
    for (let piece = 0; piece < this.pieces; ++piece) {
      const room = this.sizeOf(piece);
      const most = PIECE.header + 4 * PIECE_POSITIONS;
      const bytes = this.read(this.place(piece), Math.min(most, room));
      const head = pieceHead(bytes);
      if (head === null || PIECE.header + 4 * head.tokens > bytes.length) break;
      const { tokens, computed } = head;
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      for (let i = 0; i < tokens; ++i) claim.tokens.push(view.getInt32(PIECE.header + 4 * i, true));
      claim.computed += computed;
      if (computed < PIECE_POSITIONS) break;
    }
    return claim;
  }

  close(): void {
    this.handle.close();
  }

  /** A mark that changes if another tab writes the file. To be called after close(). */
  async mark(): Promise<string> {
    const { size, lastModified } = await this.file.getFile();
    return `${size} ${lastModified}`;
  }
}
