/// <reference lib="esnext.disposable" preserve="true" />
// The public types: the arguments and results of the library's calls.
import type { ErrorData } from './errors.js';
import type { Note } from './notes.js';
import type { Flavour, GenerateOptions, KvType } from './option-table.js';
import type { Makes, Pooling } from './vectors/types.js';

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
 * The source of a model. Sources without a byte are `bad_file`.
 * - An address, which may be relative to the page's. It must not contain a user name or a password. `hf:owner/repo`,
 *   `hf:owner/repo:Q4_0` or `hf:owner/repo:file.gguf`, each with `@revision` if need be, and pages of the hub name its
 *   files. The address of one file of a split model (`-00001-of-00003.gguf`) stands for all of them.
 * - A file that the user chose: `File`, `Blob`, `FileSystemFileHandle`.
 * - A list of addresses or of files: those of a split model, in order.
 * - Bytes in memory; of a `Uint8Array`, only the bytes that it views. They are copied as they are needed. They belong to
 *   the caller, who must not change them until `ready`, or until the engine is closed if some weights are streamed
 *   (`engine.info.memory.rereadBytes`).
 * - A `Response`. Its body is consumed, also by `probe`. It is read on the page's thread; an address is read by a worker.
 *   Its length is a hint.
 */
export type ModelSource =
  | string
  | URL
  | Blob
  | FileSystemFileHandle
  | ArrayBuffer
  | Uint8Array
  | Response
  | readonly (string | URL)[]
  | readonly (Blob | FileSystemFileHandle)[];

/** 'server': it asks to wait, or can't serve now; 'network': the connection is broken; 'tab': another tab downloads the model. */
export type WaitingFor = 'server' | 'network' | 'tab';

export interface LoadProgress {
  /**
   * 'header' until the header is read, then 'download' (network) or 'load' (local), 'verify' while a sha256 is computed after
   * the last byte, at last 'ready'. A download may continue after Engine.ready, until Engine.arrived: under a `memoryBudget`,
   * and if there is a table of which single rows are enough.
   */
  phase: 'header' | 'download' | 'load' | 'verify' | 'ready';
  /** Bytes of the model that have arrived; after Engine.ready, those that are cached. */
  loaded: number;
  /** Bytes of the whole file, but for a table of which only rows are read (a download brings it, too); 0 if unknown. */
  total: number;
  /** Of the last few seconds. */
  bytesPerSecond: number;
  /** 'cache': no byte was needed from the network so far. */
  source: 'network' | 'cache' | 'file' | 'memory';
  /** Bytes that were read from the cache. */
  cachedBytes: number;
  /** What the download waits for, in words; '' while it doesn't wait. */
  waiting: string;
  /** The same as a code; null while it doesn't wait. */
  waitingFor: WaitingFor | null;
  layersReady: number;
  /** 0 until the header is read. */
  layersTotal: number;
}

/**
 * A prompt: a text, encoded with the tokens that the model expects before it, or token ids, used as they are. A lone
 * surrogate in a text becomes U+FFFD.
 */
export type Prompt = string | readonly number[];

/** How far a prompt is computed. */
export interface PromptProgress {
  /**
   * Tokens, those that were reused included. All tokens are computed together, layer by layer: so this is the share of the work
   * that is done, times the number of tokens. It never falls.
   */
  computed: number;
  /** Tokens of the prompt. */
  total: number;
  /** Of these, the ones whose state the session had already. */
  reused: number;
  /** @deprecated The same as `reused`; goes with the next version. */
  cached: number;
  /** At the rate so far; null until that is known. */
  secondsLeft: number | null;
  /** It waits for weights that have not arrived yet. */
  waiting: boolean;
}

/**
 * A stream of items for one reader; leaving the loop over it ends the work. (The AsyncIterableIterator of TypeScript before 5.6
 * can't express that the end has no value.)
 */
export interface AsyncStream<Item> extends AsyncIterator<Item, undefined> {
  [Symbol.asyncIterator](): AsyncStream<Item>;
}

export interface Token {
  id: number;
  /** Never half a character, never part of a stop string; may be ''. */
  text: string;
  /** From the raw logits; sampling options don't change it. */
  logprob: number;
  /** With `topLogprobs`: [id, log-probability], best first. */
  top?: [number, number][];
}

/**
 * A timeline of an engine's model: its tokens, their state in every layer, its run. Sessions share the weights. Those
 * that generate at the same time are scheduled round-robin, and each gets the text that it would get alone.
 */
export interface Session extends AsyncDisposable {
  /**
   * Like Engine.generate; `busy` while this session generates. If the prompt begins with tokens of the session, they are
   * not computed again.
   */
  generate(prompt: Prompt, options?: GenerateOptions): AsyncStream<Token>;
  /** Like Engine.complete; see `generate`. */
  complete(prompt: Prompt, options?: GenerateOptions): Promise<Completion>;
  /**
   * Another session with the same tokens. The two share the state of these, and each continues on its own. `busy` while
   * this session generates.
   */
  clone(): Session;
  /**
   * Continues where the last run of this session ended, also if it was saved and restored since. Without a `seed` the random
   * numbers continue, too, so that the text is the same as if that run had not ended. `invalid_argument` without tokens.
   */
  resume(options?: GenerateOptions): AsyncStream<Token>;
  /**
   * The session as a file, for `Engine.restore` and for `sluice run --session`: its tokens, their state, its random numbers.
   * It is as large as the state. The session may continue at once. Waits until all weights have arrived, because the file names
   * the model. `busy` while this session generates.
   */
  save(options?: SaveOptions): Promise<Blob>;
  /** Forgets all but the first `length` tokens. `busy` while this session generates. */
  truncate(length: number): Promise<void>;
  /** The ids whose state it has: prompts and the text that followed, without the last token. */
  tokens(): Promise<number[]>;
  /** Stops its work and frees its memory. May be called again. `await using` calls it at the block's end. */
  close(): Promise<void>;
  /** Like Engine.stats, for this session's last run. */
  readonly stats: EngineStats;
}

/** How a generation ended. */
export type Finish = 'eos' | 'length' | 'stop' | 'aborted' | 'context';

/** A whole text. */
export interface Completion {
  text: string;
  /** The ids of its tokens. (`generate` gives them with their log-probabilities.) */
  tokens: number[];
  finish: Finish;
  /** As engine.stats at its end. */
  stats: EngineStats;
}

/** A part of a message's content. Models of text take those of the type 'text'. */
export interface ChatPart {
  type: string;
  text?: string;
  [more: string]: unknown;
}

/** A message as OpenAI's API has it. A template may know more members, such as `tool_calls` or `reasoning_content`. */
export interface ChatMessage {
  /** 'system', 'user', 'assistant', 'tool' or what else the template knows. */
  role: string;
  content?: string | null | readonly ChatPart[];
  [more: string]: unknown;
}

export interface TemplateOptions {
  /** The tools that the model may call, as OpenAI's API has them. */
  tools?: readonly object[] | undefined;
  /** Ends with the beginning of the assistant's next message. Default true, unless `continueFinalMessage`. */
  addGenerationPrompt?: boolean | undefined;
  /** Ends within the last message, the assistant's, so that the model continues it. */
  continueFinalMessage?: boolean | undefined;
  /** More variables for the template (`chat_template_kwargs`), such as `{ enable_thinking: false }`. */
  kwargs?: Readonly<Record<string, unknown>> | undefined;
  /** A Jinja template to use instead of the file's default, or the name of another one in the file. */
  chatTemplate?: string | undefined;
  /** Joins the texts of a content in parts if the template knows only text. Without it such a content is given as it is. */
  adaptContents?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

export interface TokenizeOptions {
  /** Recognizes special tokens that are written out in the text. */
  special?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

export interface CountOptions {
  /** Of a text: recognizes special tokens that are written out in it. */
  special?: boolean | undefined;
  /** Of messages: more variables for the template, as `chat_template_kwargs`. */
  kwargs?: Readonly<Record<string, unknown>> | undefined;
  /** Of messages: a template to use instead of the file's default, or the name of another one in the file. */
  chatTemplate?: string | undefined;
  signal?: AbortSignal | undefined;
}

export interface SaveOptions {
  signal?: AbortSignal | undefined;
}

export interface RestoreOptions {
  signal?: AbortSignal | undefined;
}

export interface SessionOptions {
  /** The file of a saved session whose tokens this one begins with, or the file's address. */
  prefix: string | URL | Blob;
  signal?: AbortSignal | undefined;
}

export interface DetokenizeOptions {
  signal?: AbortSignal | undefined;
}

export interface LogitsOptions {
  /** How many of the likeliest tokens to return. Default 10. */
  top?: number | undefined;
  /** Tokens computed at once; 0, the default: all. The result is the same, bit by bit. */
  batch?: number | undefined;
  signal?: AbortSignal | undefined;
}

export interface Logits {
  /** FNV-1a (64 bits, hexadecimal) over the last position's logits. */
  hash: string;
  /** [id, log-probability], best first. */
  top: [number, number][];
}

/** Figures of the engine and of its current or last generation; updated while it runs. */
export interface EngineStats {
  flavour: Flavour;
  kernels: string;
  /** The number of threads. */
  threads: number;
  /** How many of them decode. Without the option `threads`, the number that was measured to be fastest. */
  decodeThreads: number;
  contextSize: number;
  /** From the call of `load` until `ready`; 0 before. */
  loadMs: number;
  /** From the start of the generation (making the prompt is part of it) to its first token, without `waitedMs`. */
  ttftMs: number;
  /** The time for which the last generation waited for weights to arrive. */
  waitedMs: number;
  promptTokens: number;
  /** Of these, the ones whose state the session had already. */
  reusedTokens: number;
  /** Without `waitedMs`. */
  promptTokensPerSecond: number;
  /** Generated. */
  tokens: number;
  tokensPerSecond: number;
  /** Of the generated ones, those of reasoning. (Only chats have them.) */
  reasoningTokens: number;
  /** Bytes held now: weights that have arrived, scratch, activations, KV caches. */
  residentBytes: number;
  /** Bytes of streamed weights that were read again since the last run began. */
  rereadBytes: number;
  /** @deprecated The same as `rereadBytes`; goes with the next version. */
  streamedBytes: number;
  /** Bytes that the model may take: the option, or what was chosen. 0: no limit was set. */
  memoryBudget: number;
  /** Weight bytes read to decode one token. */
  bytesPerToken: number;
  /** The size of the engine's whole memory. */
  heapBytes: number;
  /** The seed of the last generation; exact up to 2^53. */
  seed: number;
  /** How the last generation ended; null before. */
  finish: Finish | null;
  /** What one should know: why there are fewer threads, that the context is longer than the model's own, and so on. */
  notes: Note[];
}

/** A slot: weights that are loaded and evicted together. */
export interface SlotView {
  /** 'embedding': its small tensors, and its table, unless that has its own slot, 'table'. The head may have several slots. */
  kind: 'embedding' | 'layer' | 'head' | 'table';
  /** Bytes in the file, and how many of these have arrived since the slot last began to load. */
  bytes: number;
  arrived: number;
  state: 'absent' | 'arriving' | 'resident' | 'computing';
  /** It is streamed: it shares its memory with other slots, and is read again for each pass. */
  reread: boolean;
  /** @deprecated The same as `reread`; goes with the next version. */
  streamed: boolean;
  /** How often it became resident; of a layer with experts the mean over its bytes. */
  fills: number;
}

/** The state of a model's weights. */
export interface WeightsView {
  /** In the order of execution. */
  slots: SlotView[];
  /** The rate at which weights arrive, from network or disk, over about the last second. */
  bytesPerSecond: number;
  /** The source that they are read from now. */
  source: 'network' | 'cache' | 'file' | 'memory';
  /** Bytes of streamed weights that were read again since the model was loaded. */
  rereadBytes: number;
  /** @deprecated The same as `rereadBytes`; goes with the next version. */
  streamedBytes: number;
  /** The milliseconds for which the last run has waited for weights. */
  waitedMs: number;
}

/** Bytes that a model takes with the given options. */
export interface MemoryPlan {
  contextSize: number;
  kvType: KvType;
  weights: number;
  /** For the full context; allocated as the context fills. */
  kv: number;
  /** Of `kv`, what each 256 tokens of the context add. The rest is bounded: of windows, and of layers with a recurrent state. */
  kvChunk: number;
  /** For the longest prompt. */
  activations: number;
  /** The most that a further session takes of `kv` and `activations` together. */
  session: number;
  constant: number;
  /** With an empty context: the weights and the constant. */
  start: number;
  /** The most, with a full context. */
  total: number;
  /** `total` if all weights stayed in memory. */
  all: number;
  /** The least `memoryBudget` that suffices for this context, if the source can be read again. */
  least: number;
  /** The `memoryBudget`; 0: none. */
  budget: number;
  /** Bytes of streamed weights, which are read again for each token, and once for each prompt; 0: all are resident. */
  rereadBytes: number;
  /** Weight bytes read to decode one token. `Engine.measure` tells how many are read in a second. */
  bytesPerToken: number;
  /** Bytes of the file, in none of these, in a table of which only the rows of the text's tokens are read; 0: none. */
  leftOutBytes: number;
}

export interface MeasureOptions {
  signal?: AbortSignal | undefined;
}

/** How fast an engine in this browser decodes: how many bytes of weights it multiplies in a second, beyond the caches. */
export interface DecodeRate {
  /** Of weights of four bits or so (Q4_0). */
  bytesPerSecond: number;
  /** Of weights of eight bits (Q8_0), or more. */
  bytesPerSecond8: number;
  /** As many as an engine would have without the option `threads`. It may decode with fewer, where that is faster. */
  threads: number;
}

/** A value in a file's metadata. For a list, only its first elements. */
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

/** The options of `generate` that a file may recommend (`general.sampling.*`). */
export type ModelSampling = Readonly<
  Pick<
    GenerateOptions,
    | 'temperature'
    | 'topK'
    | 'topP'
    | 'minP'
    | 'xtcProbability'
    | 'xtcThreshold'
    | 'repeatPenalty'
    | 'repeatLastN'
  >
>;

/** What a file's header says: `sluice inspect --json`, with `bytes` and `fits`. What the header doesn't say is null. */
export interface ModelInfo {
  architecture: string | null;
  name: string | null;
  parameters: number;
  /** The version of the GGUF format. */
  version: number;
  /** The same as fileBytes. */
  bytes: number;
  /** How many files the model is split into; 1 if it is whole. */
  files: number;
  /** Bytes of the whole file, or of all files. */
  fileBytes: number;
  dataOffset: number;
  dataBytes: number;
  /** The context that the model was trained for. */
  contextLength: number | null;
  layers: number | null;
  embedding: number | null;
  /** Of a mixture of experts: of each. */
  feedForward: number | null;
  /** How many experts each layer has, and how many of them a token uses; null if there are none. */
  experts: number | null;
  expertsUsed: number | null;
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
  /** null if Sluice can't run the file. */
  memory: MemoryPlan | null;
  /** What the model can make: 'text' (generate, chats), 'vectors' (embed), 'masks' (fillMask). Empty if Sluice can't run it. */
  makes: readonly Makes[];
  /** How `embed` makes a vector of a text's tokens, without the option. */
  pooling: Pooling | null;
  /** Numbers of a vector of `embed`. */
  dimensions: number | null;
  /** Whether Sluice computes this kind of model. */
  supported: boolean;
  /**
   * Whether `load` with the same options can work in this browser: all weights fit in memory, or the source can be read again
   * and `memory.least` bytes are available.
   */
  fits: boolean;
  /** Why it is not supported or doesn't fit. */
  error?: ErrorData;
  /** What the file recommends: with this model these are the defaults of `generate` and chats. Absent if it recommends nothing. */
  sampling?: ModelSampling;
  /** What one should know of the file, such as an unknown pre-tokenizer. */
  notes: Note[];
  metadata: Record<string, MetadataValue>;
  tensors: TensorInfo[];
}

/** A model in the cache. A split model is one. */
export interface CachedModel {
  /** Its address; give it to Engine.load. */
  source: string;
  /** The file's name. */
  name: string;
  /** Bytes of the whole model; 0 if unknown. */
  bytes: number;
  /** Of these, the ones that are in the cache. */
  stored: number;
  /** Bytes of the packed copy, which a model with streamed weights has besides; 0: there is none. */
  packed: number;
  /** Nothing is missing: it loads without a network. */
  complete: boolean;
  /** The sha256 was computed and is right. */
  verified: boolean;
  /** Hexadecimal; '' if unknown or the model is split. */
  sha256: string;
  etag: string;
  commit: string;
  pinned: boolean;
  /** Milliseconds since 1970, as Date.now(). */
  created: number;
  used: number;
  /** An engine reads it now, or a tab downloads it. */
  inUse: boolean;
  /** Files; 1 if it isn't split. */
  parts: number;
  /** Why it can't be loaded: a newer version of Sluice keeps it. It can be deleted. */
  unreadable?: string;
}

export interface CacheOptions {
  /** The address of the hub that `hf:` means. */
  hubUrl?: string | undefined;
}

/** A model among the files of a repository. */
export interface ModelFile {
  /** The path of its file, or of the first one of a split model. */
  name: string;
  /** The type in its name, such as Q4_K_M; '' if it names none. */
  type: string;
  /** Bytes of all its files; 0 if the hub doesn't tell. */
  bytes: number;
  /** How many files it is split into. */
  parts: number;
  /** For Engine.load. */
  address: string;
}

export interface ListOptions extends CacheOptions {
  /** Headers for the hub, such as { authorization: 'Bearer ..' }. */
  headers?: Record<string, string> | Headers | undefined;
  signal?: AbortSignal | undefined;
}

export interface VerifyOptions extends CacheOptions {
  signal?: AbortSignal | undefined;
  /** Called with the bytes checked so far, and the bytes to check. */
  onProgress?: ((checked: number, total: number) => void) | undefined;
}

export interface Verification {
  /** No block is damaged, and the sha256 is right if one is known. */
  ok: boolean;
  /** Bytes that were checked. */
  bytes: number;
  /** The damaged blocks. They were removed: the next load fetches them again. */
  damaged: number[];
  /** The sha256 of the cached bytes; '' if some are missing or damaged, or if the model is split. */
  sha256: string;
}

export interface CacheRoom {
  /** Bytes that this site stores, in the cache and elsewhere. */
  usage: number;
  /** Bytes that the browser grants it. */
  quota: number;
  /** Whether the storage is persistent: the browser doesn't evict it if the disk is full. */
  persisted: boolean;
  /**
   * Bytes that may be evicted: models that are neither pinned nor in use, and packed copies and states of conversations that
   * are not in use.
   */
  evictable: number;
}

/**
 * The models that this site caches on the device. A source is an address as Engine.load takes it. If the browser has no
 * private file system, the cache is empty. Calls that need a model throw `not_found` if it isn't cached. If no worker can be
 * started, all calls fail with `unsupported_environment`, or with the error of the library's files.
 */
export interface ModelCache {
  /** The most recently used first. */
  list(): Promise<CachedModel[]>;
  /** The cached model, also if it is incomplete; null: nothing of it is cached. */
  find(source: string | URL, options?: CacheOptions): Promise<CachedModel | null>;
  /** Whether the whole model is cached. */
  has(source: string | URL, options?: CacheOptions): Promise<boolean>;
  /** False if it wasn't cached. `busy` while a tab uses it. */
  delete(source: string | URL, options?: CacheOptions): Promise<boolean>;
  /** Deletes all models that are neither pinned nor in use. Returns the bytes that were freed. */
  clear(): Promise<number>;
  /** Reads and checks all cached bytes. `busy` while another tab downloads the model. */
  verify(source: string | URL, options?: VerifyOptions): Promise<Verification>;
  /** The whole file. Of a split model, give the address of one of its files. */
  export(source: string | URL, options?: CacheOptions): Promise<Blob>;
  /** A pinned model is never evicted. `busy` while a tab downloads it. */
  pin(source: string | URL, pinned?: boolean, options?: CacheOptions): Promise<void>;
  /**
   * The disk space of the cache. With `bytes`, evicts packed copies, then states of conversations, then models, the least
   * recently used first, until so many bytes are free, or throws `storage_full`.
   */
  room(bytes?: number): Promise<CacheRoom>;
}

/** The stored state of a conversation. */
export interface KeptState {
  /** The request field `state`. */
  id: string;
  bytes: number;
  /** Tokens whose state it has. */
  tokens: number;
  /** Milliseconds since 1970, as Date.now(). */
  used: number;
}

/**
 * The states of conversations (the request field `state`) that this site stores on the device, for all tabs. They can be
 * computed again from the messages. If the browser has no private file system, none are stored.
 */
export interface StateStore {
  /** The most recently used first. */
  list(): Promise<KeptState[]>;
  /** False if there was none. `busy` while an answer with it is being written. */
  delete(id: string): Promise<boolean>;
  /** Deletes all that are not in use. Returns the bytes that were freed. */
  clear(): Promise<number>;
  /**
   * Sets the most bytes of all states, for what this page writes from now on; default 512,000,000. The least recently used
   * states are evicted, at once and later; a state that is larger is not stored. Returns the bytes that were freed.
   */
  limit(bytes: number): Promise<number>;
}
