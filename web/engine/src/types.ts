/// <reference lib="esnext.disposable" preserve="true" />
// The public types: what goes in and what comes out of the library.
import type { ErrorData } from './errors.js';
import type { Flavour, GenerateOptions, KvType } from './option-table.js';

export type {
  Flavour,
  GenerateOptions,
  KvType,
  LoadOptions,
  MemoryOptions,
  ProbeOptions,
  SourceOptions,
} from './option-table.js';

/**
 * Where a model comes from. Sources without a byte are `bad_file`.
 * - An address; relative ones are resolved against the page's; without a user name or a password.
 * - A file that the user chose: `File`, `Blob`, `FileSystemFileHandle`.
 * - Bytes in memory, of a `Uint8Array` only its own. They are copied as they are needed: they stay the caller's, and must
 *   stay as they are until `ready`.
 * - A `Response`, whose body is used up, by `probe` too. It is read on the page's thread: an address spares the page that.
 *   Its length is taken for a hint.
 */
export type ModelSource =
  string | URL | Blob | FileSystemFileHandle | ArrayBuffer | Uint8Array | Response;

export interface LoadProgress {
  /** 'header' until the file is understood, then 'download' (network) or 'load' (local), at last 'ready'. */
  phase: 'header' | 'download' | 'load' | 'ready';
  /** Bytes of the file that came so far. */
  loaded: number;
  /** Bytes of the whole file; 0 while unknown. */
  total: number;
  bytesPerSecond: number;
  source: 'network' | 'file' | 'memory';
  layersReady: number;
  /** 0 until the header is understood. */
  layersTotal: number;
}

/**
 * A prompt: a text (encoded with what the model wants in front) or token ids, taken as they are. Half of a surrogate pair
 * that stands alone in a text becomes U+FFFD.
 */
export type Prompt = string | readonly number[];

export interface Token {
  id: number;
  /** Never half a character, never part of a stop string; may be ''. */
  text: string;
  /** Of the raw logits, whatever the sampling. */
  logprob: number;
  /** With `topLogprobs`: [id, log-probability], best first. */
  top?: [number, number][];
}

/**
 * A timeline of an engine's model: its tokens, what they left in every layer, its run. Sessions share the model; those
 * that generate at once take turns, and each gets the text that it would get alone.
 */
export interface Session extends AsyncDisposable {
  /** As the engine's; `busy` while this session generates. What the prompt shares with its tokens is not computed again. */
  generate(prompt: Prompt, options?: GenerateOptions): AsyncIterableIterator<Token, undefined>;
  /** Another session with the same tokens; their state is shared until one of the two goes on. `busy` while this one generates. */
  clone(): Session;
  /** Forgets all but the first `length` tokens. `busy` while this session generates. */
  truncate(length: number): Promise<void>;
  /** The ids whose state it has: prompts and what was written, the last token excepted. */
  tokens(): Promise<number[]>;
  /** Ends what it generates and gives its memory back. May be called again. `await using` calls it at the block's end. */
  close(): Promise<void>;
  /** As the engine's, of this session's last run. */
  readonly stats: EngineStats;
}

/** How a generation ended. */
export type Finish = 'eos' | 'length' | 'stop' | 'aborted' | 'context';

export interface TokenizeOptions {
  /** Special tokens written out in the text count as such. */
  special?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

export interface DetokenizeOptions {
  signal?: AbortSignal | undefined;
}

export interface LogitsOptions {
  /** How many of the best tokens to name. Default 10. */
  top?: number | undefined;
  /** Tokens computed at once; 0, the default, is all. The result is the same to the last bit. */
  batch?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface Logits {
  /** FNV-1a (64 bits, hexadecimal) over the last position's logits. */
  hash: string;
  /** [id, log-probability], best first. */
  top: [number, number][];
}

/** Figures of the engine and of the generation that runs or ran last; up to date while it runs. */
export interface EngineStats {
  flavour: Flavour;
  kernels: string;
  /** That there are. */
  threads: number;
  /** Of them, those that decode now: without a number asked for, as many as are measured to be fastest. */
  decodeThreads: number;
  contextSize: number;
  /** From the call of `load` until all weights were there; 0 before. */
  loadMs: number;
  /** From the start of the generation to its first token, without `waitedMs`. */
  ttftMs: number;
  /** That the last generation waited for weights that had not arrived. */
  waitedMs: number;
  promptTokens: number;
  /** Of these, taken from the cache. */
  reusedTokens: number;
  /** Without `waitedMs`. */
  promptTokensPerSecond: number;
  /** Generated. */
  tokens: number;
  tokensPerSecond: number;
  /** Weights that have arrived, KV cache and activations held now. */
  residentBytes: number;
  streamedBytes: number;
  /** Weight bytes read to decode one token. */
  bytesPerToken: number;
  /** All of the engine's memory. */
  heapBytes: number;
  /** Of the last generation; exact up to 2^53. */
  seed: number;
  /** How the last generation ended; null before. */
  finish: Finish | null;
  /** What a user should know: why there are fewer threads, a context beyond the model's own, an unknown pre-tokenizer, ... */
  notes: string[];
}

/** Bytes that a model takes with the given options. */
export interface MemoryPlan {
  contextSize: number;
  kvType: KvType;
  weights: number;
  /** For the whole context; it is allocated as the context fills. */
  kv: number;
  /** Of the longest prompt. */
  activations: number;
  constant: number;
  /** Held with an empty context: the weights and the constant. */
  start: number;
  /** Held at most, with the context full. */
  total: number;
}

/** A value of a file's metadata; of a list, its first elements. */
export type MetadataValue =
  | string
  | number
  | boolean
  | null
  | { array: string; count: number; first: (string | number | boolean | null)[] };

export interface TensorInfo {
  name: string;
  type: string;
  /** shape[0] is the row length. */
  shape: number[];
  bytes: number;
  offset: number;
}

/** What a file's header says: `sluice inspect --json`, with `bytes` and `fits`. What the file does not name is null. */
export interface ModelInfo {
  architecture: string | null;
  name: string | null;
  parameters: number;
  /** Of the GGUF format. */
  version: number;
  /** Of the whole file. */
  bytes: number;
  fileBytes: number;
  dataOffset: number;
  dataBytes: number;
  /** That the model was trained for. */
  contextLength: number | null;
  layers: number | null;
  embedding: number | null;
  feedForward: number | null;
  heads: number | null;
  kvHeads: number | null;
  headDim: number | null;
  vocab: number | null;
  tokenizer: {
    model: string | null;
    pre: string | null;
    tokens: number;
    bos: number | null;
    eos: number | null;
  };
  /** By the name of the type ('Q8_0'). */
  types: Record<string, { tensors: number; bytes: number }>;
  /** null where the file can't be run at all. */
  memory: MemoryPlan | null;
  /** Whether Sluice computes this kind of model. */
  supported: boolean;
  /** Whether `load` with the same options can work in this browser. */
  fits: boolean;
  /** Why it is not supported or doesn't fit. */
  error?: ErrorData;
  /** What a user should know of it: a context beyond the model's own, an unknown pre-tokenizer, ... */
  notes: string[];
  metadata: Record<string, MetadataValue>;
  tensors: TensorInfo[];
}
