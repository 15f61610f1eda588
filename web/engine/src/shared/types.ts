/// <reference lib="esnext.disposable" preserve="true" />
// The public types: the arguments and results of the library's calls.
import type { AnswerRequest, AnswerStream, Completion, TextStream } from './answer-types.js';
import type { ErrorData } from './errors.js';
import type { RawLogits } from './inside-types.js';
import type { Note } from './notes.js';
import type { Flavour, GenerateOptions, KvType } from './option-table.js';
import type { Makes, Pooling } from './vector-types.js';

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
 * - In Node: a path, or a `file:` URL. A text without a scheme is a path there.
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

/**
 * A prompt: a text, encoded with the tokens that the model expects before it, or token ids, used as they are. A lone
 * surrogate in a text becomes U+FFFD.
 */
export type Prompt = string | readonly number[];

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
  /** With `trace`: what it was chosen from. */
  raw?: RawLogits;
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
  generate(prompt: Prompt, options?: GenerateOptions): TextStream<Token, Completion>;
  /** Like Engine.complete; see `generate`. */
  complete(prompt: Prompt, options?: GenerateOptions): Promise<Completion>;
  /**
   * Like Engine.answer, but the conversation lives in this session: it doesn't wait for other answers, and computes what the
   * session's tokens don't begin with. Afterwards the session has the prompt's tokens and the answer's. `busy` while this session
   * generates.
   */
  answer(request: AnswerRequest): AnswerStream;
  /**
   * Another session with the same tokens. The two share the state of these, and each continues on its own. `busy` while
   * this session generates.
   */
  clone(): Session;
  /**
   * Continues where the last run of this session ended, also if it was saved and restored since. Without a `seed` the random
   * numbers continue, too, so that the text is the same as if that run had not ended. `invalid_argument` without tokens.
   */
  resume(options?: GenerateOptions): TextStream<Token, Completion>;
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

/** Bytes that a model takes with the given options. */
export interface MemoryPlan {
  contextSize: number;
  /**
   * Tokens of the longest text that `kv` and `activations` are for: `contextSize`. Of a model that writes no text at most
   * 4096, unless a `contextSize` was asked for; a longer text takes more memory when it comes, if there is some.
   */
  plannedTokens: number;
  kvType: KvType;
  weights: number;
  /** For `plannedTokens`; allocated as the context fills. */
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
  /** The most, with a text of `plannedTokens`. */
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
  /** Of these, what it is for: a model of texts whose file says how to pool vectors was trained for vectors. null if it makes nothing. */
  purpose: Makes | null;
  /** Whether the file has a chat template of its own. */
  chatTemplate: boolean;
  /** The licence that the file names. */
  license: string | null;
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
