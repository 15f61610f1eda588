// The calls between the threads: what each is given, what it ends with, and which items come before its end. All messages of
// these calls follow from the maps here. A worker answers them with handlers (replies.ts), the page asks them
// (caller.ts). Each call ends exactly once: with a result or with an error, also after it was cancelled.
//
//   page          Engine: owns the workers. It reads sources in its own memory and Responses itself (page/page-loader.ts).
//   engine worker the wasm module, the sessions, the decode loop: EngineCalls
//   loader worker fetch and files: LoaderCalls. It sends bytes to the engine worker through a MessagePort (protocol.ts).
import type { ErrorData } from './errors.js';
import type {
  Attention,
  Choice,
  Lens,
  LensProgress,
  RawLogits,
  StatesAt,
  StatesOf,
} from './inside-types.js';
import type { Note } from './notes.js';
import type {
  ChatBegun,
  ChatPrompt,
  ChatToken,
  CoreStats,
  Course,
  FlavourFiles,
  LoaderSource,
  Patiences,
  StateRequest,
} from './protocol.js';
import type { Stops } from './stops.js';
import type { DecodeRate, Finish, Logits, ModelInfo } from './types.js';
import type { PromptProgress } from './progress-types.js';
import type { CachedModel, CacheRoom, KeptState, ModelFile, Verification } from './cache-types.js';
import type { FilledMask, Pooling } from './vector-types.js';

/** A call: its arguments, its result, and the items of its stream. `never` for none. */
export interface Call<Args, Result, Item = never> {
  args: Args;
  result: Result;
  item: Item;
}

/** What the engine worker reports of its model, from the header to its end. */
export type EngineNews =
  | { kind: 'header'; info: ModelInfo; notes: Note[] }
  | {
      kind: 'progress';
      loaded: number;
      total: number;
      layersReady: number;
      layersTotal: number;
    }
  /** All resident weights are loaded. */
  | { kind: 'ready' }
  /** `slots`: as EngineHandle.slots gives them. `bytesPerSecond`: the rate at which weights arrive. */
  | { kind: 'weights'; slots: Float64Array; bytesPerSecond: number }
  | { kind: 'notes'; notes: Note[] };

/** A run has done its first slice, or has run for a while without a token: the message has its figures. */
export interface FiguresItem {
  kind: 'figures';
}

/** What a run sends: the tokens of a slice, or what comes before the first. */
export type RunItem =
  | { kind: 'tokens'; tokens: ChatToken[] }
  /** The progress of a long prompt, before its first token. */
  | { kind: 'prompt'; progress: PromptProgress }
  /** A chat is being computed. */
  | ({ kind: 'begun' } & ChatBegun)
  | FiguresItem;

/** How a run ended. Its last figures come with the message. */
export interface RunEnd {
  finish: Finish;
}

/** What the engine worker does. Sessions have numbers that the page chooses; 0 is the engine's own. */
export interface EngineCalls {
  /** Loads a model, and reports on it as long as it lives. Ends only with the error that ended it. */
  open: Call<
    {
      /** Reads the header and stops: no weights are loaded. */
      probe: boolean;
      files: FlavourFiles;
      /** Threads that compute, including the engine worker. */
      threads: number;
      /** The core's load options, as JSON. */
      options: string;
      port: MessagePort;
      /** Whether the loader can write into shared memory. */
      direct: boolean;
      /** Whether the page wants news of the weights. */
      weights: boolean;
      /** Of the engine worker's calls. */
      stops: Stops;
    },
    never,
    EngineNews
  >;
  /** In place of `open`: measures how fast the threads decode. */
  measure: Call<{ files: FlavourFiles; threads: number }, Omit<DecodeRate, 'threads'>>;
  /** Ends the sessions and the threads. Then the worker can be terminated. */
  close: Call<null, undefined>;
  generate: Call<
    {
      session: number;
      prompt: string | readonly number[];
      /** The core's options for generating, as JSON. */
      options: string;
      /** Whether the page wants the prompt's progress. */
      progress: boolean;
    },
    RunEnd,
    RunItem
  >;
  /** Continues where the session's last run ended. */
  resume: Call<{ session: number; options: string }, RunEnd, RunItem>;
  /** Answers on a session; without one on one that the worker chooses, one at a time. */
  chat: Call<
    {
      session?: number | undefined;
      prompt: ChatPrompt;
      options: string;
      /** As in the options; null: no limit. */
      maxTokens: number | null;
      /** The most tokens of reasoning; -1: no limit. */
      thinkingTokens: number;
      bytes: boolean;
      progress: boolean;
      /** Only on a session that the worker chooses. */
      state: StateRequest | null;
    },
    RunEnd,
    RunItem
  >;
  logits: Call<
    { session: number; ids: readonly number[]; top: number; batch: number },
    Logits,
    FiguresItem
  >;
  /** Opens a session with this number and the tokens of session `from`; null: none. */
  openSession: Call<{ session: number; from: number | null }, undefined>;
  closeSession: Call<{ session: number }, undefined>;
  /** Returns how many tokens are left. */
  truncate: Call<{ session: number; length: number }, number>;
  tokensOf: Call<{ session: number }, number[]>;
  save: Call<{ session: number }, Blob>;
  /** Opens a session with this number from a file. Returns how many tokens it has. */
  restore: Call<{ session: number; file: Blob }, number>;
  tokenize: Call<{ text: string; special: boolean }, number[]>;
  /** The number of a prompt's tokens, its beginning-of-text token included. */
  countText: Call<{ text: string; special: boolean }, number>;
  countChat: Call<{ prompt: ChatPrompt }, { tokens: number; warnings: Note[] }>;
  detokenize: Call<{ ids: readonly number[] }, string>;
  /** The strings are JSON, or '' for none; `chatTemplate` is a template, '' for the file's own. */
  applyTemplate: Call<
    { messages: string; kwargs: string; chatTemplate: string; adaptContents: boolean },
    { text: string; warnings: Note[] }
  >;
  /** Computes vectors, which come as items. Returns the number of all tokens. */
  embed: Call<
    {
      /** Texts, or ids. */
      texts: readonly (string | readonly number[])[];
      pooling: Pooling | 'file';
      normalize: boolean;
      /** 0: all. */
      dimensions: number;
      kind: 'query' | 'document' | '';
      /** Before each text; null: what `kind` says. */
      prefix: string | null;
      truncate: boolean;
    },
    number,
    VectorsItem
  >;
  fillMask: Call<{ text: string; top: number }, FilledMask[]>;
  choice: Call<
    ChoiceArgs & { raw: Omit<RawLogits, 'entropy' | 'draws'>; before: readonly number[] },
    Choice
  >;
  choiceAt: Call<ChoiceArgs & { ids: readonly number[] }, Choice>;
  rawLogits: Call<{ ids: readonly number[]; from: number; top: number }, undefined, RawLogits[]>;
  /** Layers and positions ascend, each once. Undefined: all. */
  lens: Call<
    {
      ids: readonly number[];
      layers: readonly number[] | undefined;
      positions: readonly number[] | undefined;
      top: number;
    },
    Lens,
    LensProgress
  >;
  /** Of a position; undefined: of the last one. */
  attention: Call<{ ids: readonly number[]; position: number | undefined }, Attention>;
  /** Computes the states of each prompt, which come as items, in their order. */
  hiddenStates: Call<
    {
      /** Texts, or ids. */
      prompts: readonly (string | readonly number[])[];
      /** Undefined: all. */
      layers: readonly number[] | undefined;
      of: StatesOf;
      at: StatesAt;
    },
    undefined,
    Float32Array<ArrayBuffer>[]
  >;
  pieces: Call<{ ids: readonly number[] }, string[]>;
}

/** How a token is chosen. */
export interface ChoiceArgs {
  /** The core's options for generating, as JSON. */
  options: string;
  /** How many of the tokens before are the prompt's. */
  promptTokens: number;
  /** How many random numbers were drawn from the seed before. */
  draws: number;
  /** How many candidates are wanted. */
  most: number;
}

/** The next vectors, in the texts' order, and the tokens of each text. `computed`: tokens so far. */
export interface VectorsItem {
  vectors: Float32Array<ArrayBuffer>[];
  lengths: number[];
  computed: number;
}

/** What a loader worker reports while it reads. */
export type LoaderNews =
  | ({ kind: 'course' } & Course)
  /** A download into the cache begins. */
  | { kind: 'keeping' };

/** Names a model by its address, as for Engine.load, but absolute. */
export interface NamedModel {
  source: string;
  /** As hubOf gives it. */
  hub: string;
}

/** What a loader worker does: it reads a source for an engine worker, or answers the calls of `cache` and `states`. */
export interface LoaderCalls {
  /** Ends when the loader has done all: it can be terminated. Bytes and failures go through the port. */
  read: Call<
    {
      source: LoaderSource;
      patiences: Patiences;
      /** Only the header is wanted. */
      probe: boolean;
      port: MessagePort;
    },
    undefined,
    LoaderNews
  >;
  list: Call<null, CachedModel[]>;
  /** Bytes that were freed. */
  clear: Call<null, number>;
  find: Call<NamedModel, CachedModel | null>;
  has: Call<NamedModel, boolean>;
  delete: Call<NamedModel, boolean>;
  verify: Call<NamedModel, Verification, { checked: number; total: number }>;
  /** A path: that of the file. */
  export: Call<NamedModel, Blob | string>;
  pin: Call<NamedModel & { pinned: boolean }, undefined>;
  /** The models of a repository of a hub. */
  files: Call<NamedModel & { headers: [string, string][] }, ModelFile[]>;
  /** `bytes`: to free; null: only the figures are wanted. */
  room: Call<{ bytes: number | null }, CacheRoom>;
  listStates: Call<null, KeptState[]>;
  deleteState: Call<{ id: string }, boolean>;
  /** Evicts the least recently used states, until the others have `bytes` at most. Returns the bytes that were freed. */
  shrinkStates: Call<{ bytes: number }, number>;
}

/**
 * What the page does for a loader worker over a port of their own: it runs the caller's own fetch (page/serve-fetch.ts). The
 * loader numbers its requests.
 */
export interface FetchCalls {
  fetch: Call<
    {
      request: number;
      url: string;
      method: 'GET' | 'HEAD';
      headers: [string, string][];
      cache: RequestCache;
    },
    {
      kind: ResponseType;
      headers: [string, string][];
      hasBody: boolean;
    } & Pick<Response, 'status' | 'statusText' | 'url' | 'redirected'>
  >;
  /** The next piece of the body; null: its end. */
  piece: Call<{ request: number }, Uint8Array<ArrayBuffer> | null>;
  /** Ends a request. */
  drop: Call<{ request: number }, undefined>;
}

// --- what follows from the maps ------------------------------------------------------------------

/** A map of calls. */
export type CallMap<Calls> = Record<keyof Calls, Call<unknown, unknown, unknown>>;

/** The message that begins a call. `lifeline`: the name of the lock that the worker holds from now on, while it lives. */
export type CallMessage<Calls extends CallMap<Calls>, Name extends keyof Calls = keyof Calls> = {
  [N in Name]: { type: 'call'; id: number; name: N; args: Calls[N]['args']; lifeline?: string };
}[Name];

/** Page to worker. */
export type ToWorker<Calls extends CallMap<Calls>> =
  | CallMessage<Calls>
  /** The page ignores the call's items and its result from now on. */
  | { type: 'cancel'; id: number }
  /** Pauses a call while its reader's queue is full, and resumes it. */
  | { type: 'hold'; id: number; on: boolean };

/** The next item of a call's stream. `stats`: of an engine worker, its figures. */
export interface StreamMessage<Item> {
  type: 'stream';
  id: number;
  item: Item;
  stats?: CoreStats;
}

export interface ResultMessage<Result> {
  type: 'result';
  id: number;
  value: Result;
  stats?: CoreStats;
}

export interface ErrorMessage {
  type: 'error';
  id: number;
  error: ErrorData;
}

/** Worker to page. */
export type FromWorker<Calls extends CallMap<Calls>> =
  /** The worker holds its lifeline. */
  | { type: 'alive' }
  | StreamMessage<Calls[keyof Calls]['item']>
  | ResultMessage<Calls[keyof Calls]['result']>
  | ErrorMessage;

/** The flavour's code, which the page compiled while the engine worker started; null if it could not. */
export interface CodeMessage {
  type: 'code';
  code: WebAssembly.Module | null;
}

export type ToEngine = ToWorker<EngineCalls> | CodeMessage;
export type FromEngine = FromWorker<EngineCalls>;
export type ToLoader = ToWorker<LoaderCalls>;
