/// <reference lib="esnext.disposable" preserve="true" />
// The public types: what goes in and what comes out of the library.
import type { ErrorData } from './errors.js';
import type { Note } from './notes.js';
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
 * - An address, which may be relative to the page's. It must not contain a user name or a password. `hf:owner/repo`,
 *   `hf:owner/repo:Q4_0` or `hf:owner/repo:file.gguf`, each with `@revision` if need be, and pages of the hub name its
 *   files. The address of one file of a split model (`-00001-of-00003.gguf`) stands for all of them.
 * - A file that the user chose: `File`, `Blob`, `FileSystemFileHandle`.
 * - A list of addresses or of files: those of a split model, in order.
 * - Bytes in memory; of a `Uint8Array`, only the bytes that it shows. They are copied as they are needed. They belong to
 *   the caller, who must not change them until `ready`, or until the engine is closed if not all of the model stays in
 *   memory (`engine.info.memory.rereadBytes`).
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

/** 'server': it asks to wait, or can't serve now; 'network': the way to it; 'tab': another tab, which downloads the same. */
export type WaitingFor = 'server' | 'network' | 'tab';

export interface LoadProgress {
  /**
   * 'header' until the header is read, then 'download' (network) or 'load' (local), 'verify' while a sha256 is computed after
   * the last byte, at last 'ready'. Under a `memoryBudget` a download may go on after Engine.ready: until Engine.arrived.
   */
  phase: 'header' | 'download' | 'load' | 'verify' | 'ready';
  /** Bytes of the model that have arrived; after Engine.ready, those that this device keeps. */
  loaded: number;
  /** Bytes of the whole file; 0 if unknown. */
  total: number;
  /** Of the last few seconds. */
  bytesPerSecond: number;
  /** 'cache': only what this device keeps was needed so far. */
  source: 'network' | 'cache' | 'file' | 'memory';
  /** Bytes that came from what this device keeps. */
  cachedBytes: number;
  /** What the download waits for, in words; '' while it goes on. */
  waiting: string;
  /** The same as a code; null while it goes on. */
  waitingFor: WaitingFor | null;
  layersReady: number;
  /** 0 until the header is read. */
  layersTotal: number;
}

/**
 * A prompt: a text, encoded with the tokens that the model wants before it, or token ids, used as they are. A lone
 * surrogate in a text becomes U+FFFD.
 */
export type Prompt = string | readonly number[];

/** How far a prompt is computed. */
export interface PromptProgress {
  /**
   * Tokens, those that were reused included. All tokens go through one layer after the other: this is the share of the work that is
   * done, of the tokens. It never falls.
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
 * What comes one after the other, for one reader; leaving the loop over it ends the work. (The AsyncIterableIterator of TypeScript
 * before 5.6 can't say that nothing comes with the end.)
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
 * A timeline of an engine's model: its tokens, their state in every layer, its run. Sessions share the model. Those
 * that generate at the same time take turns, and each gets the text that it would get alone.
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
   * Goes on where the last run of this session ended, also if it was saved and restored since. Without a `seed` the random
   * numbers go on as well, so that the text is the same as if that run had not ended. `invalid_argument` without tokens.
   */
  resume(options?: GenerateOptions): AsyncStream<Token>;
  /**
   * The session as a file, for `Engine.restore` and for `sluice run --session`: its tokens, their state, its random numbers.
   * It is as large as the state. The session may go on at once. Waits until all weights have arrived, because the file names
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
  /** Ends in the text of the last message, the assistant's, which the model goes on with. */
  continueFinalMessage?: boolean | undefined;
  /** More that the template knows (`chat_template_kwargs`), such as `{ enable_thinking: false }`. */
  kwargs?: Readonly<Record<string, unknown>> | undefined;
  /** A Jinja template in place of the file's own, or the name of one that the file has besides. */
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
  /** Of messages: more that the template knows, as `chat_template_kwargs`. */
  kwargs?: Readonly<Record<string, unknown>> | undefined;
  /** Of messages: a template in place of the file's, or the name of one that it has besides. */
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
  /** The session begins with the tokens of this one: the address of its file, or the file. */
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
  /** Threads that there are. */
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
  /** Of these, the ones whose state was in the cache. */
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
  /** Bytes of weights that were read again since the last run began, because not all stay in memory. */
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

/** A part of a model. */
export interface SlotView {
  /** 'embedding': its small tensors, and its table unless that comes last, as 'table'. The head may be in several parts. */
  kind: 'embedding' | 'layer' | 'head' | 'table';
  /** Bytes in the file, and how many of these have arrived since it last began to arrive. */
  bytes: number;
  arrived: number;
  state: 'absent' | 'arriving' | 'resident' | 'computing';
  /** It shares its place with others and is read again for each pass. */
  reread: boolean;
  /** @deprecated The same as `reread`; goes with the next version. */
  streamed: boolean;
  /** How often it became resident. */
  fills: number;
}

/** How a model's weights are doing. */
export interface WeightsView {
  /** In the order of execution. */
  slots: SlotView[];
  /** With which weights arrive, from network or disk, over about the last second. */
  bytesPerSecond: number;
  /** Where they come from now. */
  source: 'network' | 'cache' | 'file' | 'memory';
  /** Bytes that were read again since the model was loaded. */
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
  /** For the longest prompt. */
  activations: number;
  /** What a further session takes at most, of both. */
  session: number;
  constant: number;
  /** With an empty context: the weights and the constant. */
  start: number;
  /** The most, with a full context. */
  total: number;
  /** `total` if all weights stayed in memory. */
  all: number;
  /** The least `memoryBudget` that would do with this context, if the source can be read again. */
  least: number;
  /** The `memoryBudget`; 0: none. */
  budget: number;
  /** Bytes of weights that are read again for each token, and once for each prompt; 0: all stay in memory. */
  rereadBytes: number;
  /** Weight bytes read to decode one token. `Engine.measure` tells how many of them a second has. */
  bytesPerToken: number;
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
  /** null if Sluice can't run the file. */
  memory: MemoryPlan | null;
  /** Whether Sluice computes this kind of model. */
  supported: boolean;
  /**
   * Whether `load` with the same options can work in this browser: all of it stays in memory, or the source can be read
   * again and `memory.least` is there.
   */
  fits: boolean;
  /** Why it is not supported or doesn't fit. */
  error?: ErrorData;
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
  /** Bytes of the copy that is kept besides, because some weights are read again and again; 0: there is none. */
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
  /** As the name tells it, such as Q4_K_M; '' if it doesn't. */
  type: string;
  /** Of all its files; 0 if the hub doesn't tell. */
  bytes: number;
  /** How many files it is split into. */
  parts: number;
  /** For Engine.load. */
  address: string;
}

export interface ListOptions extends CacheOptions {
  /** What the hub wants to know: { authorization: 'Bearer ..' }. */
  headers?: Record<string, string> | Headers | undefined;
  signal?: AbortSignal | undefined;
}

export interface VerifyOptions extends CacheOptions {
  signal?: AbortSignal | undefined;
  /** Bytes that were checked, of all that there are. */
  onProgress?: ((checked: number, total: number) => void) | undefined;
}

export interface Verification {
  /** No block is damaged, and the sha256 is right if one is known. */
  ok: boolean;
  /** Bytes that were checked. */
  bytes: number;
  /** The damaged blocks. They were removed: the next load fetches them again. */
  damaged: number[];
  /** Of the bytes as they are; '' if some are missing or damaged, or if the model is split. */
  sha256: string;
}

export interface CacheRoom {
  /** Bytes that this site stores, in the cache and elsewhere. */
  usage: number;
  /** Bytes that the browser grants it. */
  quota: number;
  /** Whether the browser keeps them if the disk is full. */
  persisted: boolean;
  /**
   * Bytes that may be removed to make room: models that are neither pinned nor in use, and packed copies and states of
   * conversations that are not in use.
   */
  evictable: number;
}

/**
 * The models that this site keeps on the device. A source is an address as Engine.load takes it. Where the browser has
 * no private file system the cache is empty. Calls that need a model throw `not_found` if it isn't there.
 * Where no worker can be started, all calls fail with `unsupported_environment`, or with what is wrong with the library's files.
 */
export interface ModelCache {
  /** The most recently used first. */
  list(): Promise<CachedModel[]>;
  /** What is there of a model; null: nothing. */
  find(source: string | URL, options?: CacheOptions): Promise<CachedModel | null>;
  /** Whether the whole model is there. */
  has(source: string | URL, options?: CacheOptions): Promise<boolean>;
  /** False if it wasn't there. `busy` while a tab uses it. */
  delete(source: string | URL, options?: CacheOptions): Promise<boolean>;
  /** Deletes all models that are neither pinned nor in use. Returns the bytes that were freed. */
  clear(): Promise<number>;
  /** Reads all that is there, and checks it. `busy` while another tab downloads the model. */
  verify(source: string | URL, options?: VerifyOptions): Promise<Verification>;
  /** The whole file. Of a split model, give the address of one of its files. */
  export(source: string | URL, options?: CacheOptions): Promise<Blob>;
  /** A pinned model is never removed to make room. `busy` while a tab downloads it. */
  pin(source: string | URL, pinned?: boolean, options?: CacheOptions): Promise<void>;
  /**
   * How much room there is. With `bytes`, removes packed copies, states of conversations and at last models, the least recently
   * used first, until so much is free, or throws `storage_full`.
   */
  room(bytes?: number): Promise<CacheRoom>;
}

/** The state of a conversation that this device keeps. */
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
 * The states of conversations (the request field `state`) that this site keeps on the device, in all tabs. They can be computed
 * again from the messages. Where the browser has no private file system there are none.
 */
export interface StateStore {
  /** The most recently used first. */
  list(): Promise<KeptState[]>;
  /** False if there was none. `busy` while an answer with it is being written. */
  delete(id: string): Promise<boolean>;
  /** Deletes all that are not in use. Returns the bytes that were freed. */
  clear(): Promise<number>;
  /**
   * The bytes that all states may take from now on, as far as this page writes them; 512,000,000 at first. The least recently
   * used go, at once and when room is needed; one that is larger is not kept. Returns the bytes that were freed.
   */
  limit(bytes: number): Promise<number>;
}
