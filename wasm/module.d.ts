// The interface of sluice-<flavour>.js, by hand: what bindings.cc exports.

/** An answer as text: '' for success, or what was asked for; failures are {"event":"error","code":..,"message":..}. */
export type Answer = string;

export interface Progress {
  loaded: number;
  total: number;
  layersReady: number;
  layersTotal: number;
}

/** core/engine.h's Engine; see there. Objects live until delete(). */
export interface EngineHandle {
  /** Must come first; `fileSize` 0: unknown. */
  open(options: string, fileSize: number): Answer;
  /** At most so many bytes of what is wanted next: of each want its offset in the file, its place's address, its length. */
  wants(bytes: number): Float64Array;
  /** The bytes of the file from `offset` on are at their places. */
  filled(offset: number, length: number): Answer;
  /** The file has no more than `size` bytes. */
  endOfFile(size: number): Answer;
  understood(): boolean;
  loaded(): boolean;
  progress(): Progress;
  /** inspect_json for this file. */
  inspect(): Answer;
  /** Engine::notes, a JSON list of strings. */
  notes(): string;
  /** Bytes of text; invalid UTF-8 becomes U+FFFD. */
  detokenize(ids: ArrayLike<number>): string;
  /** stats_json. */
  stats(): string;
  delete(): void;
}

/** core/engine.h's Session; see there. The engine must be understood, and outlives it. */
export interface SessionHandle {
  startText(prompt: string, options: string): Answer;
  startIds(prompt: ArrayLike<number>, options: string): Answer;
  startLogits(ids: ArrayLike<number>, batch: number): Answer;
  /** event_json, or an error. */
  step(): Answer;
  cancel(): void;
  running(): boolean;
  /** {"hash":..,"top":[[id,logprob],..]} of the last position, after startLogits is done. */
  logits(top: number): Answer;
  /** stats_json. */
  stats(): string;
  /** null while it runs. */
  clone(): SessionHandle | null;
  truncate(length: number): void;
  tokens(): Int32Array;
  delete(): void;
}

/** A text on its way to ids, in slices of some milliseconds. The engine must be understood, and stay. */
export interface EncodingHandle {
  /** Does a slice; false: there was none left. */
  step(): boolean;
  /** The ids since the last call. */
  take(): Int32Array;
  delete(): void;
}

/** A header on its own, for files that are not to be loaded. */
export interface HeaderHandle {
  setFileSize(bytes: number): void;
  /** Takes bytes that stand in the memory. */
  push(ptr: number, length: number): Answer;
  done(): boolean;
  endOfFile(): Answer;
  /** inspect_json, once done. Options as for EngineHandle.open. */
  inspect(options: string, fileSize: number): Answer;
  delete(): void;
}

export interface SluiceModule {
  Engine: new () => EngineHandle;
  Session: new (engine: EngineHandle) => SessionHandle;
  Header: new () => HeaderHandle;
  Encoding: new (engine: EngineHandle, text: string, special: boolean) => EncodingHandle;
  /** A part of the memory for bytes on their way; 0 where there is no room. */
  allocate(bytes: number): number;
  release(ptr: number): void;
}

export interface ModuleOptions {
  /** 64 pages at least; shared in the -mt flavours. */
  wasmMemory: WebAssembly.Memory;
  /** The -mt flavours: threads to have ready beside the caller's own. */
  poolSize?: number;
  /** The -mt flavours: the address of this very script, for the threads. */
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
