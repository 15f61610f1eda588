// What the three threads say to each other. Types only, and the few sizes that both sides must agree on.
//
//   page          Engine: owns the workers, holds no bytes of the model
//   engine worker the wasm module, the session, the decode loop
//   loader worker fetch and files; speaks with the engine worker over a port of their own
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
   * The glue as the pool's threads get it: the fragment names the channel on which they tell of a trap, and the lock that
   * they hold; '' for none.
   */
  thread: string;
}

/** The part of the stats that only the engine worker knows. */
export type CoreStats = Omit<EngineStats, 'flavour' | 'loadMs' | 'finish' | 'notes'>;

/** Page to engine worker. */
export type ToEngine =
  | {
      type: 'open';
      /** Understand the header and stop: nothing is loaded. */
      probe: boolean;
      files: FlavourFiles;
      /** Worker threads with the engine worker itself. */
      threads: number;
      /** Load options as the core takes them, JSON. */
      options: string;
      /** Name of the lock that the worker holds while it lives; '' for none. */
      lifeline: string;
      port: MessagePort;
      /** Whether the loader can write into shared memory. */
      direct: boolean;
    }
  /** The flavour's code as the page compiled it while the worker started; null where it could not. */
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
  /** A session with this number, which has the tokens of another one; null: none. There is a session 0. */
  | { type: 'openSession'; session: number; from: number | null }
  | { type: 'truncate'; session: number; id: number; length: number }
  | { type: 'tokensOf'; session: number; id: number }
  | { type: 'closeSession'; session: number }
  | { type: 'tokenize'; id: number; text: string; special: boolean }
  | { type: 'detokenize'; id: number; ids: readonly number[] }
  | { type: 'cancel'; id: number }
  /** Ends the session and its threads; answered with 'closed'. Then the worker can be terminated at once. */
  | { type: 'close' };

/** Engine worker to page. `stats` come along wherever they may have changed. */
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
  /** The load failed or the module trapped: the worker is of no more use. */
  | { type: 'failed'; error: ErrorData }
  /** A run has begun, or has been at work for a while without a token. */
  | { type: 'stats'; id: number; stats: CoreStats }
  | { type: 'tokens'; id: number; tokens: Token[]; stats: CoreStats }
  | { type: 'done'; id: number; finish: Finish; stats: CoreStats }
  | { type: 'result'; id: number; value: string | number | number[] | Logits; stats: CoreStats }
  | { type: 'error'; id: number; error: ErrorData };

/** Where a loader reads from. */
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

/** Loader worker to page; all else goes to the engine worker. */
export interface FromLoader {
  type: 'alive';
}

/** Loader to engine worker. Bytes come in the file's order. */
export type LoaderToEngine =
  /** `total`: bytes of the whole file, 0 where unknown; `exact`: it can be relied on before the end. */
  | { type: 'opened'; total: number; exact: boolean; network: boolean }
  /** The next bytes of the file, in an array of their own. */
  | { type: 'bytes'; bytes: Uint8Array<ArrayBuffer> }
  /** So many bytes of the file, from `offset` on, are at their places. */
  | { type: 'filled'; offset: number; length: number }
  /** Nothing more comes; `received`: bytes of the file that came. */
  | { type: 'ended'; received: number }
  | { type: 'failed'; error: ErrorData };

/** Engine worker to loader, which gets either `fill` (where memory is shared) or `sendMore`, never both. */
export type EngineToLoader =
  /**
   * Write what is wanted of the file, in its order, to its places in the shared memory; answered with 'filled'. With
   * `once` the first writing uses the places up, however little it brings.
   */
  | { type: 'fill'; memory: WebAssembly.Memory; wants: Wants; once: boolean }
  /** Send so many more bytes at most; answered with 'bytes'. */
  | { type: 'sendMore'; length: number }
  /** Send no more; answered with 'ended'. */
  | { type: 'stop' };

/** Bytes that are sent and not yet taken at most, the last message excepted: what loading without shared memory costs beside the model. */
export const FEED_BYTES = 4 << 20;
