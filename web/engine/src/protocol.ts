// The messages between the three threads.
//
//   page          Engine: owns the workers. It reads sources in its own memory and Responses itself (page-loader.ts).
//   engine worker the wasm module, the sessions, the decode loop
//   loader worker fetch and files; talks to the engine worker through a port of their own
import type { ErrorData } from './errors.js';
import type { Wants } from './places.js';
import type { EngineStats, Finish, Flavour, Logits, ModelInfo, Token } from './types.js';

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
}

/** Whether a flavour runs with threads. */
export function isThreaded(flavour: Flavour): boolean {
  return flavour.endsWith('-mt');
}

/** The part of the stats that only the engine worker knows. */
export type CoreStats = Omit<EngineStats, 'flavour' | 'loadMs' | 'finish' | 'notes'>;

/** Page to engine worker. */
export type ToEngine =
  | {
      type: 'open';
      /** Reads the header and stops: no weights are loaded. */
      probe: boolean;
      files: FlavourFiles;
      /** Threads that compute, including the engine worker. */
      threads: number;
      /** Load options as the core takes them, JSON. */
      options: string;
      /** The name of the lock that the worker holds while it lives; '' for none. */
      lifeline: string;
      port: MessagePort;
      /** Whether the loader can write into shared memory. */
      direct: boolean;
    }
  /** The flavour's code, which the page compiled while the worker started; null if it could not. */
  | { type: 'code'; code: WebAssembly.Module | null }
  | {
      type: 'generate';
      session: number;
      id: number;
      prompt: string | readonly number[];
      options: string;
    }
  | {
      type: 'logits';
      session: number;
      id: number;
      ids: readonly number[];
      top: number;
      batch: number;
    }
  /** Opens a session with this number and the tokens of session `from`; null: none. Session 0 is the engine's own. */
  | { type: 'openSession'; session: number; from: number | null }
  | { type: 'truncate'; session: number; id: number; length: number }
  | { type: 'tokensOf'; session: number; id: number }
  | { type: 'closeSession'; session: number }
  | { type: 'tokenize'; id: number; text: string; special: boolean }
  | { type: 'detokenize'; id: number; ids: readonly number[] }
  | { type: 'cancel'; id: number }
  /** Ends the sessions and the threads; answered with 'closed'. Then the worker can be terminated. */
  | { type: 'close' };

/** Engine worker to page. Messages contain `stats` if these may have changed. */
export type FromEngine =
  | { type: 'alive' }
  | { type: 'closed' }
  | { type: 'understood'; info: ModelInfo; notes: string[]; stats: CoreStats | null }
  | {
      type: 'progress';
      loaded: number;
      total: number;
      layersReady: number;
      layersTotal: number;
      stats: CoreStats;
    }
  | { type: 'ready'; stats: CoreStats }
  /** The load failed or the module trapped: the worker can't be used any more. */
  | { type: 'failed'; error: ErrorData }
  /** A run has done its first slice, or has run for a while without a token. */
  | { type: 'stats'; id: number; stats: CoreStats }
  | { type: 'tokens'; id: number; tokens: Token[]; stats: CoreStats }
  | { type: 'done'; id: number; finish: Finish; stats: CoreStats }
  | { type: 'result'; id: number; value: string | number | number[] | Logits; stats: CoreStats }
  | { type: 'error'; id: number; error: ErrorData };

/** What a loader worker reads. */
export type LoaderSource =
  { kind: 'url'; url: string; headers: [string, string][] } | { kind: 'blob'; blob: Blob };

/** Page to loader worker. */
export interface ToLoader {
  type: 'open';
  source: LoaderSource;
  /** Milliseconds without a byte that count as a failure. */
  stallTimeout: number;
  lifeline: string;
  port: MessagePort;
}

/** Loader worker to page; all other messages go to the engine worker. */
export interface FromLoader {
  type: 'alive';
}

/** Loader to engine worker. Bytes come in the file's order. */
export type LoaderToEngine =
  /** `total`: bytes of the whole file, 0 if unknown; `exact`: `total` is certainly right. */
  | { type: 'opened'; total: number; exact: boolean; network: boolean }
  /** The next bytes of the file, in an array of their own. */
  | { type: 'bytes'; bytes: Uint8Array<ArrayBuffer> }
  /** The `length` bytes of the file from `offset` on are at their places. */
  | { type: 'filled'; offset: number; length: number }
  /** Nothing more comes; `received`: bytes of the file that came. */
  | { type: 'ended'; received: number }
  | { type: 'failed'; error: ErrorData };

/** Engine worker to loader. A loader gets either `fill` (if memory is shared) or `sendMore`, never both. */
export type EngineToLoader =
  /**
   * Write the wanted bytes of the file, in its order, to their places in the shared memory; answered with 'filled'. With
   * `once` the places are good for one write, however short.
   */
  | { type: 'fill'; memory: WebAssembly.Memory; wants: Wants; once: boolean }
  /** Send up to `length` more bytes; answered with 'bytes'. The last message may exceed them. */
  | { type: 'sendMore'; length: number }
  /** Send no more; answered with 'ended'. */
  | { type: 'stop' };

/** Without shared memory, the most bytes that are sent and not yet taken, apart from the last message. */
export const FEED_BYTES = 4 << 20;
