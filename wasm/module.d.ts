// The interface of sluice-<flavour>.mjs: what bindings.cc exports. Written by hand;
// web/engine/test/bindings-types.ts compares it with what Emscripten says of the bindings.

/** '' for success, or the text that was asked for. A failure is {"event":"error","code":..,"message":..}. */
export type Answer = string;

export interface Progress {
  loaded: number;
  total: number;
  layersReady: number;
  layersTotal: number;
}

/** core/engine.h's PromptProgress; see there. */
export interface PromptProgress {
  computed: number;
  total: number;
  reused: number;
  /** -1: unknown. */
  secondsLeft: number;
  waiting: boolean;
}

/** core/engine.h's Engine; see there. Objects live until delete(). */
export interface EngineHandle {
  /**
   * Must come first. `fileSizes`: of each file that the caller brings, 0 if unknown; empty: the first header says how
   * many there are. The files of a split model lie end to end, as one: all offsets are in that space.
   */
  open(
    options: string,
    fileSizes: readonly number[],
    /** Each byte once in the file's order; each once in any order; any bytes, as often as they are wanted. */
    access: 'sequential' | 'any_order' | 'rereadable',
  ): Answer;
  /**
   * What is wanted next, at most `bytes`, in the order of execution: for each want its offset in the file, its place's
   * address and its length.
   */
  wants(bytes: number): Float64Array;
  /** The same for rows of the embedding that a prompt waits for: they come before all wants. */
  rowWants(): Float64Array;
  /** Says that bytes of rowWants are at their places. */
  rowsFilled(offset: number, length: number): Answer;
  /**
   * Says that `length` bytes of the file from `offset` on are at their places. `packed`: whole chunks that takePacked() has
   * told of, in a module with the same packedLayout().
   */
  filled(offset: number, length: number, packed: boolean): Answer;
  /** Whether takePacked() shall tell of chunks. At first it doesn't. */
  keepsPacked(keeps: boolean): void;
  /**
   * Three numbers for each chunk that the last filled() has packed and that will be wanted again: its offset in the file, its
   * address, its bytes. They are good until the next call of filled() or step().
   */
  takePacked(): Float64Array;
  /** Says that the file has no more than `size` bytes. */
  endOfFile(size: number): Answer;
  /** The header is read, and the weights have places: `wants` gives them. */
  hasLayout(): boolean;
  /** Must be called once, after hasLayout. It takes 0.1 s or more; weights can come meanwhile. */
  buildTokenizer(): Answer;
  /** Where each file begins and its bytes up to its last tensor, two numbers each; the last has 0 bytes while its header is read. */
  files(): Float64Array;
  /**
   * '' once the model is identified, as saved sessions need it; {"event":"waiting"} while that waits for weights, as a run
   * does: then call it again, or stopIdentifying().
   */
  identify(): Answer;
  stopIdentifying(): void;
  /** The vocabulary is built, so that all below works. */
  hasTokenizer(): boolean;
  /** All weights that can stay in memory are there. */
  ready(): boolean;
  /** All weights are there: nothing more is wanted. */
  loaded(): boolean;
  progress(): Progress;
  /**
   * Six numbers for each part of the model, in the order of execution: its kind (0 embedding, 1 layer, 2 head or a part of
   * it, 3 the embedding's table where it comes last), its bytes, how many have arrived, its state (0 absent, 1 arriving,
   * 2 resident, 3 computing), whether it is read again for every pass (0 or 1), how often it has become resident.
   */
  slots(): Float64Array;
  /** inspect_json for this file. */
  inspect(): Answer;
  /** Engine::notes, as notes_json() writes them: a JSON list of Note (web/engine/src/shared/notes.ts). */
  notes(): string;
  /** The text of ids; invalid UTF-8 becomes U+FFFD. */
  detokenize(ids: ArrayLike<number>): string;
  /**
   * From now on `stopped` is asked while a chat's prompt is made, by applyTemplate or openChat: true ends that with `aborted`.
   * It must not throw.
   */
  stopWhen(stopped: () => boolean): void;
  /**
   * What the model is given for a chat: {"text":..,"tokens":[..],"template":..,"warnings":[..]}, see
   * core/chat/chat_template.h. `tokens`: they are wanted. `now`, in seconds since 1970, and how far the local time is ahead
   * of UTC are for templates that tell the date.
   */
  applyTemplate(
    messages: string,
    /** '' for none. */
    kwargs: string,
    /** '' for the file's own. */
    chatTemplate: string,
    adaptContents: boolean,
    tokens: boolean,
    now: number,
    utcOffsetSeconds: number,
  ): Answer;
  /** [[byte,..],..]: the bytes that each token stands for, of a control token its name. */
  tokenBytes(ids: ArrayLike<number>): Answer;
  /** What the model wants before a query, or else before a document, for vectors; '' for nothing. See core/api/embedding_prompts.h. */
  textPrefix(query: boolean): string;
  /** The ids of a text, of which these are the text's own, with those that the model wants around it; cut to `most`, 0: not cut. */
  textIds(ids: ArrayLike<number>, most: number): Int32Array;
  /** The token that stands for a word that is to be found; negative if the vocabulary has none. */
  mask(): number;
  /** A token as lists show it: the text that it adds, '##ing' for one that goes on with a word, a special token's name. */
  tokenText(id: number): string;
  /** stats_json. */
  stats(): string;
  delete(): void;
}

/** What a reply follows. One of the open functions must come first. */
export interface PromptHandle {
  /**
   * {"tokens":n,"dropped":n,"template":..,"reasoning":..,"warnings":[..]}: the length of the prompt, the messages that were
   * dropped so that it has at most `mostTokens` (0: none are), and whether the model has marks for reasoning. The others as
   * for EngineHandle.applyTemplate.
   */
  openChat(
    messages: string,
    kwargs: string,
    chatTemplate: string,
    mostTokens: number,
    /** Whether the model thinks before it answers: 0 no, 1 yes, -1 as the template likes. */
    thinking: number,
    now: number,
    utcOffsetSeconds: number,
  ): Answer;
  /** A text, with the tokens that the model wants before it. */
  openText(text: string): Answer;
  openIds(ids: ArrayLike<number>): Answer;
  /**
   * How many tokens at its beginning a reply in the session need not compute: those that the session has, as far back as its
   * state lets a run go on. The last token is never among them.
   */
  reusable(session: SessionHandle): number;
  /** How many tokens at its beginning are those of a session that has written these. */
  sharedWritten(ids: ArrayLike<number>): number;
  delete(): void;
}

/** core/engine.h's Session; see there. The engine must have its tokenizer, and must outlive it. */
export interface SessionHandle {
  startText(prompt: string, options: string): Answer;
  startIds(prompt: ArrayLike<number>, options: string): Answer;
  /** Replies to the prompt. Reasoning is ended after `thinkingTokens`; -1: it is not. See Session::start_reply. */
  startReply(prompt: PromptHandle, options: string, thinkingTokens: number): Answer;
  /** `positions`: those whose logits are wanted, ascending; none: the last one. */
  startLogits(ids: ArrayLike<number>, batch: number, positions: ArrayLike<number>): Answer;
  /**
   * Computes a vector of each text. `ids`: of all texts, one after the other; `lengths`: of each. `pooling`: 0 as the file says,
   * 1 mean, 2 first, 3 last.
   */
  startVectors(ids: ArrayLike<number>, lengths: ArrayLike<number>, pooling: number): Answer;
  /** The numbers of the vectors that are done, one after the other, from this number on. */
  vectors(from: number): Float32Array<ArrayBuffer>;
  /**
   * Computes hidden states of each text. `ids`, `lengths`: as for startVectors. `at`: 0 after the layer, 1 what its attention adds,
   * 2 its feed-forward part. `of`: 0 the last position, 1 the mean of all, 2 all. `layers` ascend.
   */
  startStates(
    ids: ArrayLike<number>,
    lengths: ArrayLike<number>,
    at: number,
    of: number,
    layers: ArrayLike<number>,
  ): Answer;
  /** The numbers of the texts that are done, [layers][positions][n_embd] of each, from this number on. */
  states(from: number): Float32Array<ArrayBuffer>;
  /**
   * Computes the hidden states after a layer of the positions from this one on. What the session has of the ids before isn't computed
   * again.
   */
  startHidden(ids: ArrayLike<number>, from: number, layer: number): Answer;
  /** Once it is done, until the next run begins: [positions][n_embd]. */
  hidden(): Float32Array<ArrayBuffer>;
  /** Computes the logits that the head makes of states after the last layer: so many rows, one after the other. */
  startHead(states: ArrayLike<number>, rows: number): Answer;
  /**
   * Of one row of startHead, once it is done: the log-sum and the entropy of all logits, then the id and the logit of each of the
   * best, the best first.
   */
  rawLogits(most: number, row: number): Float64Array<ArrayBuffer>;
  /**
   * choice_json (core/api/choice.h) of such numbers; of none: of all logits of the first row of startHead. `before`: prompt and
   * answer so far, of which so many tokens are the prompt's. `draws`: random numbers that were drawn from the options' seed before.
   * The engine is the session's.
   */
  choice(
    engine: EngineHandle,
    raw: ArrayLike<number>,
    before: ArrayLike<number>,
    promptTokens: number,
    options: string,
    draws: number,
    most: number,
  ): Answer;
  /**
   * Computes what each of the layers would have said at the positions of ids; see core/api/lens.h. Both ascend. The engine is the
   * session's.
   */
  startLens(
    engine: EngineHandle,
    ids: ArrayLike<number>,
    layers: ArrayLike<number>,
    positions: ArrayLike<number>,
    top: number,
  ): Answer;
  /** How many cells of it are done. */
  lensDone(): number;
  /**
   * All of them, by layer and position, once it is done: of each its entropy, its divergence, then the id and the log-probability of
   * each of the likeliest.
   */
  lens(): Float64Array<ArrayBuffer>;
  /** Computes how much the last of the ids looks at each of them. */
  startAttention(ids: ArrayLike<number>): Answer;
  /** Of each layer that attends: which it is, and how many heads it has. */
  attentionLayers(): Int32Array<ArrayBuffer>;
  /** Once it is done: the weights, [layers][heads][ids]. */
  attention(): Float32Array<ArrayBuffer>;
  /** Goes on where the last run ended. */
  resume(options: string): Answer;
  /** event_json, or an error. */
  step(): Answer;
  cancel(): void;
  running(): boolean;
  /** {"hash":..,"top":[[id,logprob],..]} of one of these positions, counted from 0, after startLogits is done. */
  logits(top: number, row: number): Answer;
  /** stats_json. */
  stats(): string;
  promptProgress(): PromptProgress;
  /** null while it runs. */
  clone(): SessionHandle | null;
  truncate(length: number): void;
  tokens(): Int32Array;
  /** The files that keep it in pieces of 256 positions, and the most bytes that one has; see Session::save_piece. */
  pieces(): number;
  pieceBytes(): number;
  delete(): void;
}

/** core/engine.h's SessionWriter. The engine must outlive it. */
export interface SessionWriterHandle {
  /** Must come first. The session may go on afterwards. */
  open(session: SessionHandle): Answer;
  /** In its place: the file is a piece of the session. */
  openPiece(session: SessionHandle, piece: number): Answer;
  /** Of the whole file. */
  bytes(): number;
  /** Writes the next bytes to an address in the memory; returns how many, fewer than `length` only at the end. */
  next(ptr: number, length: number): number;
  delete(): void;
}

/** core/engine.h's SessionReader. The engine must be identified, and must outlive it. */
export interface SessionReaderHandle {
  /** Takes the next bytes, which are at an address in the memory. */
  push(ptr: number, length: number): Answer;
  /** Must come last. */
  finish(): Answer;
  /** The session, once finish() has succeeded; null for a piece. */
  take(): SessionHandle | null;
  delete(): void;
}

/** Encodes a text in slices of some milliseconds. The engine must have its tokenizer, and must outlive it. */
export interface EncodingHandle {
  /** Encodes a slice. Returns false if there was none left. */
  step(): boolean;
  /** The ids that are new since the last call. */
  take(): Int32Array;
  delete(): void;
}

/** Parses the header of a model that is not loaded; of a split one, those of all its files, one after the other. */
export interface HeaderHandle {
  /** The offset of the byte that is needed next. After the header of one file it is the beginning of the next. */
  position(): number;
  /** Takes the bytes from position() on, all of one file, at an address in the memory. */
  push(ptr: number, length: number): Answer;
  done(): boolean;
  /** Says that the file whose header is read has no more bytes. */
  endOfFile(): Answer;
  /** As EngineHandle.files. */
  files(): Float64Array;
  /** inspect_json, once done. Options as for EngineHandle.open. */
  inspect(options: string, fileSize: number): Answer;
  delete(): void;
}

export interface SluiceModule {
  Engine: new () => EngineHandle;
  Prompt: new (engine: EngineHandle) => PromptHandle;
  Session: new (engine: EngineHandle) => SessionHandle;
  SessionWriter: new () => SessionWriterHandle;
  /** `bytes`: of the file; 0: unknown. `onto`: the session that gets a piece, which must outlive it; null: the file is a whole session. */
  SessionReader: new (
    engine: EngineHandle,
    bytes: number,
    onto: SessionHandle | null,
  ) => SessionReaderHandle;
  /** `fileSizes` as for EngineHandle.open. */
  Header: new (fileSizes: readonly number[]) => HeaderHandle;
  Encoding: new (engine: EngineHandle, text: string, special: boolean) => EncodingHandle;
  /** Allocates memory, to pass bytes in; 0 if there is no room. */
  allocate(bytes: number): number;
  release(ptr: number): void;
  /** The number of the packed layout: with another one, what was kept packed is of no use. */
  packedLayout(): number;
  /**
   * Bytes of weights of eight bits (Q8_0), or else of four (Q4_0), that so many threads multiply in a second, for one token
   * after another; measured for some 400 ms. 0: there is no memory to measure.
   */
  decodeRate(eightBits: boolean, threads: number): number;
}

export interface ModuleOptions {
  /** At least 64 pages; shared in the -mt flavours. */
  wasmMemory: WebAssembly.Memory;
  /** The -mt flavours: how many threads to start besides the caller's. */
  poolSize?: number;
  /** The -mt flavours: the address of this script, for the threads. */
  mainScriptUrlOrBlob?: string;
  instantiateWasm?: (
    imports: WebAssembly.Imports,
    done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ) => object;
  /** The -mt flavours: set by the script, before it returns its promise. */
  PThread?: { terminateAllThreads(): void };
  print?: (line: string) => void;
  printErr?: (line: string) => void;
}

declare const createModule: (options: ModuleOptions) => Promise<SluiceModule>;
export default createModule;
