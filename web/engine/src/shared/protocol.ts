// What the threads tell each other besides calls (calls.ts): the messages between the engine worker and its loader, which go
// through a MessagePort, and the data in arguments and items.
import type { ErrorData } from './errors.js';
import type { Note } from './notes.js';
import type { Wants } from './outstanding.js';
import type { EngineStats, Flavour, Token } from './types.js';
import type { WaitingFor } from './progress-types.js';

/** Where the engine worker finds the files of a flavour. */
export interface FlavourFiles {
  flavour: Flavour;
  /** Emscripten's JavaScript, an ES module. */
  glue: string;
  wasm: string;
  /**
   * The glue for the pool's threads. The fragment is the name of the channel on which they report a trap, and of the lock
   * that they hold; '' for none.
   */
  thread: string;
  /** What computes given texts, and looks inside a model; an ES module, which is the same for all flavours. */
  analysis: string;
}

/** Whether a flavour runs with threads. */
export function isThreaded(flavour: Flavour): boolean {
  return flavour.endsWith('-mt');
}

/** The part of the stats that only the engine worker knows. */
export type CoreStats = Omit<EngineStats, 'flavour' | 'loadMs' | 'finish' | 'notes'>;

/** The prompt of a chat or completion request. */
export type ChatPrompt =
  | {
      kind: 'chat';
      /** JSON. */
      messages: string;
      /** JSON; '' for none. */
      kwargs: string;
      /** '' for the file's own. */
      chatTemplate: string;
      /** Drops the oldest turns if the prompt leaves no room for an answer. */
      truncate: boolean;
      /** -1 the template's default, 0 off, 1 on. */
      thinking: -1 | 0 | 1;
    }
  | { kind: 'text'; text: string }
  | { kind: 'ids'; ids: readonly number[] };

/** The stored state that a request uses. */
export interface StateRequest {
  id: string;
  /** Bytes that all states may take. */
  limit: number;
}

/** A token of an answer. */
export interface ChatToken extends Token {
  reasoning?: boolean;
  /** The bytes of the token and of each in `top`, if the request wants `bytes`. */
  bytes?: number[];
  topBytes?: number[][];
}

/** What the engine reports about a chat's prompt. */
export interface ChatBegun {
  promptTokens: number;
  dropped: number;
  reasoning: boolean;
  warnings: Note[];
}

/** A model at addresses. */
export interface RemoteSource {
  kind: 'url';
  /** For parseAddress; for a split model all files in order, or any one of them. */
  addresses: string[];
  headers: [string, string][];
  /** Origins to which all headers go; `authorization` also goes to others. */
  hub: string;
  /** Lower case; one for each file, or none. */
  sha256: string[];
  /** Whether the model is cached; `asked`: the caller requires that. */
  cache: 'opfs' | 'none';
  asked: boolean;
  /** Ask the server whether the cached files are still current. */
  refresh: boolean;
  /** The page runs the caller's fetch (page/serve-fetch.ts); null: the worker fetches. */
  fetch: MessagePort | null;
}

/** What a loader worker reads. */
export type LoaderSource =
  | RemoteSource
  | { kind: 'blobs'; blobs: Blob[] }
  /** Of the file system; a split model's in their order. */
  | { kind: 'paths'; paths: string[] };

/** Times in milliseconds. */
export interface Patiences {
  /** A connection counts as broken after this time without a byte. */
  stallTimeout: number;
  /** Broken connections are retried for this time. */
  retryTimeout: number;
}

/** The progress of a download. */
export interface Course {
  /** Bytes received from the network, and bytes read from the cache. */
  fromNetwork: number;
  fromCache: number;
  /** What it waits for, a sentence; '' if it doesn't. */
  waiting: string;
  waitingFor: WaitingFor | null;
  /** Bytes of the model that are cached; 0 before their number is known, or if none are. */
  kept: number;
  /** All files have arrived, and are verified. */
  arrived: boolean;
  /** Bytes whose sha256 is computed, once the last byte has arrived; 0: not computing. */
  verified: number;
  /** Each note is sent once. */
  notes: Note[];
}

/** The progress of a download that has not begun. */
export const noCourse = (): Course => ({
  fromNetwork: 0,
  fromCache: 0,
  kept: 0,
  arrived: false,
  waiting: '',
  waitingFor: null,
  verified: 0,
  notes: [],
});

/**
 * How a loader can read a model's bytes.
 *   sequential: each byte once, in the file's order
 *   any_order: each byte once, in any order
 *   rereadable: any bytes, any number of times. Only then can a model be larger than its memory budget.
 */
export type Access = 'sequential' | 'any_order' | 'rereadable';

/** Loader to engine worker. Offsets are those of the whole model: its files end to end (`bases`). */
export type LoaderToEngine =
  /**
   * `sizes`: bytes of each file, 0 if unknown; `exact`: they are certainly right. `unproven`: a sha256 is not verified yet. If
   * the engine has all weights before 'proven', because they arrived with the header, it must not compute.
   */
  | {
      type: 'opened';
      sizes: number[];
      exact: boolean;
      network: boolean;
      access: Access;
      unproven: boolean;
    }
  /** Every known sha256 is verified. */
  | { type: 'proven' }
  /**
   * The bytes at `offset`, in an array of their own. `rows`: as in the 'want' that they answer. `packed`: whole chunks in the
   * packed layout.
   */
  | {
      type: 'bytes';
      offset: number;
      bytes: Uint8Array<ArrayBuffer>;
      rows: boolean;
      packed: boolean;
    }
  /** The `length` bytes from `offset` on are written into shared memory. `rows`, `packed`: as above. */
  | { type: 'filled'; offset: number; length: number; rows: boolean; packed: boolean }
  /** Whether the loader stores packed chunks. Before this message it stores none. */
  | { type: 'keepsPacked'; keeps: boolean }
  /** The loader has taken `length` bytes of packed chunks. */
  | { type: 'tookPacked'; length: number }
  /**
   * File `file` has ended after `received` bytes, and so have the files before it. The loader sends no more by itself. A
   * rereadable source still serves wants.
   */
  | { type: 'ended'; file: number; received: number }
  | { type: 'failed'; error: ErrorData };

/** Engine worker to loader. */
export type EngineToLoader =
  /**
   * Requests ranges. With `memory`, the loader writes them into it and answers 'filled'; otherwise it sends 'bytes', as far as
   * the credit allows. `bases`: the offset of each file whose header was read.
   *   once: the range is the next part of a header: send any part of it, from its first byte on.
   *   rows: the ranges are rows of the embedding that a prompt waits for: send them before all others. The same bytes may be
   *     wanted as weights, too; each want is answered.
   *   Otherwise the ranges are weights, in the order of execution. They are added after the earlier ones that have not
   *     arrived. Bytes that have arrived may be wanted again, at another address. The first such message says that the
   *     headers are read: it is sent even if nothing is wanted.
   * `layout`: the number of the packed layout if weights are streamed; otherwise 0.
   */
  | {
      type: 'want';
      memory: WebAssembly.Memory | null;
      wants: Wants;
      bases: number[];
      once: boolean;
      rows: boolean;
      layout: number;
    }
  /** A packed chunk to store. At most PACKED_BYTES are in flight. */
  | { type: 'packed'; offset: number; bytes: Uint8Array<ArrayBuffer> }
  /** The loader sent packed bytes that can't be chunks of this model: the packed copies must not be used again. */
  | { type: 'packedRefused' }
  /** Credit for `length` more bytes. The last message may exceed it. */
  | { type: 'sendMore'; length: number }
  /** The engine has all weights, and will read none again. */
  | { type: 'enough' }
  /** Send no more. */
  | { type: 'stop'; refused: Refusal };

/** Why the engine refuses a file. 'useless': no usable model; 'unfit': it doesn't fit the budget; 'no': it isn't refused. */
export type Refusal = 'no' | 'unfit' | 'useless';

/** Without shared memory, the most bytes in flight to the engine, apart from the last message. */
export const FEED_BYTES = 4 << 20;
/** The most bytes of packed chunks in flight to the loader. */
export const PACKED_BYTES = 16 << 20;
