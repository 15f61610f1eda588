// The messages between the three threads.
//
//   page          Engine: owns the workers. It reads sources in its own memory and Responses itself (page-loader.ts).
//   engine worker the wasm module, the sessions, the decode loop
//   loader worker fetch and files; talks to the engine worker through a port of their own
import type { ErrorData } from './errors.js';
import type { Note } from './notes.js';
import type { Wants } from './outstanding.js';
import type {
  DecodeRate,
  EngineStats,
  Finish,
  Flavour,
  Logits,
  ModelInfo,
  PromptProgress,
  Token,
  WaitingFor,
} from './types.js';

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

/** What a chat or another request of its kind is answered to. */
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
      /** -1 as the template likes, 0 off, 1 on. */
      thinking: -1 | 0 | 1;
    }
  | { kind: 'text'; text: string }
  | { kind: 'ids'; ids: readonly number[] };

/** The state of a conversation that the device keeps. */
export interface StateRequest {
  id: string;
  /** Bytes that all states may take. */
  limit: number;
}

/** A token of an answer. */
export interface ChatToken extends Token {
  reasoning?: boolean;
  /** What it stands for, and each of `top`, if the request wants `bytes`. */
  bytes?: number[];
  topBytes?: number[][];
}

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
      /** Whether the page wants to hear of the weights. */
      weights: boolean;
    }
  /** In place of 'open': measures how fast the threads decode; answered with 'measured'. */
  | { type: 'measure'; files: FlavourFiles; threads: number; lifeline: string }
  /** The flavour's code, which the page compiled while the worker started; null if it could not. */
  | { type: 'code'; code: WebAssembly.Module | null }
  | {
      type: 'generate';
      session: number;
      id: number;
      prompt: string | readonly number[];
      options: string;
      /** Whether the page wants to hear how far the prompt is. */
      progress: boolean;
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
  /** Goes on where the session's last run ended. */
  | { type: 'resume'; session: number; id: number; options: string }
  | { type: 'save'; session: number; id: number }
  /** Opens a session with this number from a file. */
  | { type: 'restore'; session: number; id: number; file: Blob }
  | { type: 'closeSession'; session: number }
  /** `count`: only the number of tokens is wanted, with the one that the model wants before a prompt. */
  | { type: 'tokenize'; id: number; text: string; special: boolean; count: boolean }
  | { type: 'countChat'; id: number; prompt: ChatPrompt }
  | { type: 'detokenize'; id: number; ids: readonly number[] }
  /** The strings are JSON, or '' for none; `chatTemplate` is a template, '' for the file's own. */
  | {
      type: 'applyTemplate';
      id: number;
      messages: string;
      kwargs: string;
      chatTemplate: string;
      adaptContents: boolean;
    }
  /** Answers on a session that the worker chooses. One at a time. */
  | {
      type: 'chat';
      id: number;
      prompt: ChatPrompt;
      /** Generate options as the core takes them, JSON. */
      options: string;
      /** As in the options; null: no limit. */
      maxTokens: number | null;
      /** Reasoning is ended after so many tokens; -1: no limit. */
      thinkingTokens: number;
      bytes: boolean;
      progress: boolean;
      state: StateRequest | null;
    }
  | { type: 'cancel'; id: number }
  /** Whether a run is to rest: its reader has enough tokens for now. */
  | { type: 'hold'; id: number; on: boolean }
  /** Ends the sessions and the threads; answered with 'closed'. Then the worker can be terminated. */
  | { type: 'close' };

/** What the engine says of a prompt. */
export interface ChatBegun {
  promptTokens: number;
  dropped: number;
  reasoning: boolean;
  warnings: Note[];
}

/** Engine worker to page. Messages contain `stats` if these may have changed. */
export type FromEngine =
  | { type: 'alive' }
  | { type: 'closed' }
  | { type: 'has_tokenizer'; info: ModelInfo; notes: Note[]; stats: CoreStats | null }
  | {
      type: 'progress';
      loaded: number;
      total: number;
      layersReady: number;
      layersTotal: number;
      stats: CoreStats;
    }
  | { type: 'ready'; stats: CoreStats }
  /** `slots`: as EngineHandle.slots gives them. `bytesPerSecond`: with which weights arrive. */
  | { type: 'weights'; slots: Float64Array; bytesPerSecond: number }
  | { type: 'measured'; rate: Omit<DecodeRate, 'threads'> }
  | { type: 'notes'; notes: Note[] }
  /** The load failed or the module trapped: the worker can't be used any more. */
  | { type: 'failed'; error: ErrorData }
  /** A run has done its first slice, or has run for a while without a token. */
  | { type: 'stats'; id: number; stats: CoreStats }
  /** Of a prompt that takes long, before its first token. */
  | { type: 'prompt'; id: number; progress: PromptProgress }
  | { type: 'tokens'; id: number; tokens: ChatToken[]; stats: CoreStats }
  /** A request of the type 'chat' is being computed. `dropped`: messages. `reasoning`: the model has marks for it. */
  | ({ type: 'chatBegun'; id: number } & ChatBegun)
  | { type: 'done'; id: number; finish: Finish; stats: CoreStats }
  | {
      type: 'result';
      id: number;
      value: string | number | number[] | Blob | Logits;
      stats: CoreStats;
      notes?: Note[];
    }
  | { type: 'error'; id: number; error: ErrorData };

/** A model at addresses. */
export interface RemoteSource {
  kind: 'url';
  /** As parseAddress takes them; of a split model, all files in order, or any one. */
  addresses: string[];
  headers: [string, string][];
  /** Origins to which all headers go; `authorization` also goes to others. */
  hub: string;
  /** Lower case; one for each file, or none. */
  sha256: string[];
  /** Whether it is kept on the device; `asked`: the caller said so. */
  cache: 'opfs' | 'none';
  asked: boolean;
  /** Ask the server whether what is kept is still current. */
  refresh: boolean;
  /** The page fetches (PageFetch). */
  fetch: MessagePort | null;
}

/** What a loader worker reads. */
export type LoaderSource = RemoteSource | { kind: 'blobs'; blobs: Blob[] };

/** Times in milliseconds. */
export interface Patiences {
  /** Without a byte, a connection counts as lost. */
  stallTimeout: number;
  /** For so long lost connections are tried again. */
  retryTimeout: number;
}

/** Page to loader worker. */
export interface ToLoader {
  type: 'open';
  source: LoaderSource;
  patiences: Patiences;
  /** Only the header is wanted. */
  probe: boolean;
  lifeline: string;
  port: MessagePort;
}

/** How a download goes on. */
export interface Course {
  /** Bytes that came from the network, and from what this device keeps. */
  fromNetwork: number;
  fromCache: number;
  /** What it waits for, a sentence; '' if it doesn't. */
  waiting: string;
  waitingFor: WaitingFor | null;
  /** Bytes of the model that this device keeps; 0 before their number is known, or if it keeps none. */
  kept: number;
  /** All files have come, and are proven. */
  arrived: boolean;
  /** Bytes that the sha256 was computed of after the last byte had come; 0: it isn't. */
  verified: number;
  /** Each once. */
  notes: Note[];
}

/** Loader worker to page; all other messages go to the engine worker. */
export type FromLoader =
  | { type: 'alive' }
  | ({ type: 'course' } & Course)
  /** A download into the cache begins. */
  | { type: 'keeping' }
  /** The loader has done all; it can be terminated. */
  | { type: 'over' };

/**
 * How a loader can bring a model's bytes.
 *   stream: each once, in the file's order
 *   ranges: each once, in any order
 *   again: any, as often as they are wanted. Only so can a model be larger than the memory that it gets.
 */
export type Access = 'sequential' | 'any_order' | 'rereadable';

/** Loader to engine worker. Offsets are those of the whole model: its files end to end (`bases`). */
export type LoaderToEngine =
  /**
   * `sizes`: bytes of each file, 0 if unknown; `exact`: they are certainly right. `unproven`: a sha256 has yet to be compared.
   * Before 'proven' comes the engine may have all weights, if they come with the header: then nothing may be computed.
   */
  | {
      type: 'opened';
      sizes: number[];
      exact: boolean;
      network: boolean;
      access: Access;
      unproven: boolean;
    }
  /** Each sha256 that is known was compared and is right. */
  | { type: 'proven' }
  /**
   * The bytes at `offset`, in an array of their own. `rows`: as they were wanted. `packed`: whole chunks, as the engine packs
   * them.
   */
  | {
      type: 'bytes';
      offset: number;
      bytes: Uint8Array<ArrayBuffer>;
      rows: boolean;
      packed: boolean;
    }
  /** The `length` bytes from `offset` on are at their places. `rows`, `packed`: as above. */
  | { type: 'filled'; offset: number; length: number; rows: boolean; packed: boolean }
  /** Whether chunks are kept that the engine has packed. Before this message none are. */
  | { type: 'keepsPacked'; keeps: boolean }
  /** So many bytes of packed chunks were taken. */
  | { type: 'tookPacked'; length: number }
  /**
   * File `file` ended after `received` bytes; so did those before it. Nothing more comes by itself. With `again`, the whole
   * file is known, and the loader goes on to serve wants.
   */
  | { type: 'ended'; file: number; received: number }
  | { type: 'failed'; error: ErrorData };

/** Engine worker to loader. */
export type EngineToLoader =
  /**
   * Bring the wanted bytes: into the shared memory, answered with 'filled', or if `memory` is null as far as the credit
   * goes, answered with 'bytes'. `bases`: the offset at which each file begins, as far as the headers that were read say.
   *   once: they are the next bytes of a header: bring any part of them from the first on.
   *   rows: they are rows of the embedding, for which a prompt waits: bring them before all others. The same bytes may be
   *     wanted as weights as well; each want is answered.
   *   Otherwise they are weights, in the order of execution. They are wanted besides those that were wanted before and have
   *     not come, and after them. Bytes that have come may be wanted again, at another place. The first such message says
   *     that the headers are read: it comes even if nothing is wanted.
   * `layout`: the number of the packing's layout, if weights are read again for every pass; 0: they aren't.
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
  /** A chunk that the engine has packed, for keeping. At most PACKED_BYTES of them are under way. */
  | { type: 'packed'; offset: number; bytes: Uint8Array<ArrayBuffer> }
  /** Packed bytes came that can't be chunks of this model: nothing of the packed copies is to be used again. */
  | { type: 'packedRefused' }
  /** Send up to `length` more bytes. The last message may exceed them. */
  | { type: 'sendMore'; length: number }
  /** The engine has all weights, and will want nothing again. */
  | { type: 'enough' }
  /** Send no more. */
  | { type: 'stop'; refused: Refusal };

/** Why the engine wants nothing of a file: 'useless': it is no model that can be used; 'unfit': not with this budget. */
export type Refusal = 'no' | 'unfit' | 'useless';

/** Without shared memory, the most bytes that are sent and not yet taken, apart from the last message. */
export const FEED_BYTES = 4 << 20;
/** The most bytes of packed chunks that are under way to the loader. */
export const PACKED_BYTES = 16 << 20;
