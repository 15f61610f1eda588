// The seam between the library and the platform on which it runs: workers, locks, files, channels, and the library's own files.
//
// browser.ts implements it for browsers, node/platform.ts for Node. The library imports here.ts, for which build.mjs puts one of
// the two. They are functions, not an object, so that each script of dist/ has only those that it calls. test/platform.test.ts
// checks both against this interface.
import type { SluiceError } from '../shared/errors.js';
import type { NotKeptReason } from '../shared/facts.js';
import type { Flavour } from '../shared/types.js';

/** Words for messages, and codes that differ. */
export interface Words {
  /** What runs the library: 'this browser'. */
  here: string;
  /** What gives the memory, with its verb: 'this browser gives a page'. */
  gives: string;
  /** The same as a sentence: 'This browser gives a page no more'. */
  noMore: string;
  /** What else may take memory: 'other tabs'. */
  others: string;
  /** What holds the cache: 'the browser'. */
  disk: string;
  /** Who gives the cache its room: 'that the browser grants this site'. */
  grants: string;
  /** Whom the disk's figures are for: ' for this site'. */
  site: string;
  /** What to use if `here` lacks WebAssembly SIMD. */
  instead: string;
  /** The code of an error about what `here` can't do. */
  unsupported: 'unsupported_browser' | 'unsupported_environment';
}

/** What threads need and is not there. Browsers hide SharedArrayBuffer from pages that are not isolated. Some have none at all. */
export type NoThreads = 'secure context' | 'isolation' | 'shared memory';

/** A worker as the page uses it. */
export type WorkerLike = Pick<Worker, 'postMessage' | 'addEventListener' | 'terminate'>;

/** A worker that was started. */
export interface Started {
  worker: WorkerLike;
  /** The address of its script; '' if that can't be known. */
  address: string;
  /** Resolves when it is gone, its threads and memory included; null where no event tells that: there it holds a lifeline. */
  gone: Promise<void> | null;
  /** Whether it keeps the program running. (Pages need nobody for that.) */
  keepAlive(on: boolean): void;
}

/** A worker's end of its connection with the page. */
export interface WorkerPort {
  post(message: unknown, transfer?: Transferable[]): void;
  /** Calls `hear` for each message from now on. `lost`: for a message that could not be delivered. */
  hear(hear: (message: unknown) => void, lost?: () => void): void;
}

/** The channel that all threads of the library can hear. */
export type Channel = Pick<BroadcastChannel, 'name' | 'postMessage' | 'close' | 'onmessage'>;

/** A refusal of a file by a policy: whose policy it is, which directive refused, and what to do. */
export interface FileRefusal {
  policy: string;
  directive: string;
  remedy: string;
}

/** The refusals that this page or worker has heard of. */
export interface RefusalsLike {
  /** The refusal of this address; undefined if there was none. */
  of(address: string): FileRefusal | undefined;
  /** As of(), after a failed fetch: the event of a refusal may fire a moment later than the failure. */
  ofFailed(address: string): Promise<FileRefusal | undefined>;
}

/** What is examined: the script of a worker that failed, or of one that has sent nothing yet, or a module that failed. */
export type Script = 'worker' | 'silent worker' | 'module';

/** An open file, for synchronous reading and writing. */
export interface SyncHandle {
  read(to: Uint8Array, options: { at: number }): number;
  /** Throws a DOMException named QuotaExceededError if the disk is full. */
  write(from: Uint8Array, options: { at: number }): number;
  truncate(size: number): void;
  flush(): void;
  getSize(): number;
  close(): void;
}

/** A file as it was when it was asked for. Reading fails with a DOMException named NotReadableError if it has changed. */
export interface StoredFile {
  size: number;
  lastModified: number;
  slice(from: number, to: number): { arrayBuffer(): Promise<ArrayBuffer> };
}

/** A file of a folder. Methods fail with a DOMException named NotFoundError if it is gone. */
export interface FileHandle {
  getFile(): Promise<StoredFile>;
  /**
   * Opens the file. Where handles are exclusive, it fails with a DOMException named NoModificationAllowedError while another one
   * is open.
   */
  createSyncAccessHandle(options?: { mode: 'readwrite' | 'read-only' }): Promise<SyncHandle>;
}

/** The folder of the cache. Its errors are DOMExceptions with the names that the File System standard gives them. */
export interface Folder {
  getFileHandle(name: string, options?: { create: boolean }): Promise<FileHandle>;
  removeEntry(name: string): Promise<void>;
  entries(): AsyncIterable<[name: string, file: unknown]>;
}

/** Why there can't be a folder, as part of a sentence and for programs. */
export interface NoFolder {
  why: string;
  reason: NotKeptReason;
}

export interface Lock {
  /** Resolves when the lock is free for others. May be called again. */
  release(): Promise<void>;
  /**
   * Of the use of an entry, where other programs read the files, too: keeps those away, for a writer, or no longer. False: one of
   * them uses the entry now.
   */
  setAlone?(on: boolean): boolean;
  /** Of the use of an entry, where setAlone() exists: from now on it is that of a follower, and doesn't keep a writer away. */
  follow?(): void;
}

export interface LockOptions {
  /** Default 'exclusive'. */
  mode?: 'shared' | 'exclusive';
  ifAvailable?: boolean;
  signal?: AbortSignal;
}

/** The names of the cache's locks: one of these, and the key of an entry or of a state. */
export const WRITE_LOCK = 'sluice-write:';
export const USE_LOCK = 'sluice-use:';
export const PACK_LOCK = 'sluice-pack:';
export const STATE_LOCK = 'sluice-state:';

/** Bytes of the disk. */
export interface Estimate {
  usage: number;
  quota: number;
}

export interface Platform {
  words: Words;
  /** Whether a policy or another site's permission (CORS) may forbid to read an address. */
  hasPolicies: boolean;

  // --- on the page ---------------------------------------------------------------------------------

  /** Starts a worker. `address`: of its script; null: beside the library's. Throws `unsupported_environment` if it can't be made. */
  startEngineWorker(address: string | null): Started;
  /** `name`: what tools for developers call it. */
  startLoaderWorker(address: string | null, name?: string): Started;
  /** Where the workers' scripts lie in `dist/`. */
  workerFolder: '' | 'node/';
  /** The addresses of a flavour's files beside the library's script. */
  filesBeside(flavour: Flavour): { glue: string; wasm: string; analysis: string };
  /** Compiles a flavour's code while its worker starts, once. Null if that fails: then the worker does, and reports why. */
  compileEarly(address: string): Promise<WebAssembly.Module | null>;
  /** What relative addresses are relative to; undefined where there is nothing. */
  here(): string | undefined;
  /** The origin to which any headers may be sent; undefined if it isn't known. */
  ownOrigin(): string | undefined;
  /** The path that a source names; null if it names an address. Browsers know no paths. */
  pathOf(source: string | URL): string | null;
  /** The file at a path. `not_found` if there is none. */
  fileAt(path: string): Promise<Blob>;
  /** The Blob, or a copy, so that it can be posted to a worker. */
  postable(blob: Blob): Blob | Promise<Blob>;
  /** Why there can be no threads; null: they can run. */
  whyNoThreads(): NoThreads | null;
  /** Whether relaxed SIMD, which the engine's instructions validate, also computes what it should. */
  relaxedIsRight(): boolean;
  /** The number of processors that programs may use. */
  processors(): number;
  /** Asks that the cache is not evicted. Resolves to whether it is safe from that. */
  askToPersist(): Promise<boolean>;
  /** The error of a worker that did not start, if this place can start none; otherwise null. */
  withoutOrigin(): SluiceError | null;

  /** Calls `work` after some milliseconds if the program still runs then. Returns what calls it off. */
  ifStillThere(work: () => void, ms: number): () => void;

  // --- everywhere ----------------------------------------------------------------------------------

  /** A channel of this name; null if it is refused. It doesn't keep a program running. */
  openChannel(name: string): Channel | null;
  /** A name that is unique among the library's threads. */
  uniqueName(): string;
  /** Whether workers have lifelines (lifeline.ts): where no event tells that one is gone. */
  hasLifelines(): boolean;
  /** The name of a worker's lifeline; '' where there are none. */
  lifelineName(): string;
  /** In the worker: holds the lifeline for good. Resolves when it is held, or at once where there are none. */
  holdLifeline(name: string): Promise<void>;
  /** Resolves when all that hold the lifeline are gone; never where there are none, or after `signal` fired. */
  lifelineCut(name: string, signal: AbortSignal): Promise<void>;
  /** Collects refusals from now on. `until` ends it. */
  Refusals: new (until?: AbortSignal) => RefusalsLike;
  /** Finds out why a script of the library did not load; null if nothing is found. Never rejects. */
  whyNotLoaded(
    address: string,
    script: Script,
    refusals: RefusalsLike,
  ): Promise<SluiceError | null>;

  // --- in workers ----------------------------------------------------------------------------------

  workerPort(): WorkerPort;
  /** GiB of the device's memory; undefined if it isn't told. */
  deviceMemory(): number | undefined;
  /** Loads and compiles a wasm file of the library. */
  compileFile(address: string, refusals: RefusalsLike): Promise<WebAssembly.Module>;
  /** Imports a module of the library that isn't part of this script. */
  importScript(address: string): Promise<unknown>;
  /** If WebAssembly is forbidden here, the error that says so; otherwise `error` itself. */
  unlessForbidden(error: unknown): unknown;
  /**
   * In the engine worker: prepares for the threads that Emscripten's script makes with `new Worker`. Calls `failed` if one doesn't
   * start.
   */
  watchThreads(refusals: RefusalsLike, failed: (error: unknown) => void): void;

  // --- the cache -----------------------------------------------------------------------------------

  /** Opens the folder of the cache, and creates it if it is missing. Or returns why there can't be one. */
  openFolder(): Promise<Folder | NoFolder>;
  /**
   * An entry has all its blocks, and they are checked (`whole`); or one of them is damaged or will be replaced. Where other programs
   * may find the file KEY.gguf, it has that name only while it is whole.
   */
  setWhole(folder: Folder, key: string, whole: boolean): void;
  /** Whether the entry's file has the name of a whole one; true where files always have the same name. */
  isWhole(folder: Folder, key: string): boolean;
  /** A file of the folder, to be posted to the page: as a Blob, or as a path for fileAt(). */
  exportFile(folder: Folder, name: string): Promise<Blob | string>;
  /** Null if it isn't told. */
  estimate(): Promise<Estimate | null>;
  /** Whether what is stored stays until the user deletes it. */
  persisted(): Promise<boolean>;
  /** Whether models may be evicted when the disk is full. Not where the folder belongs to other programs, too. */
  evictsModels: boolean;
  /** Takes a lock. Null if it is held (with `ifAvailable`), or if `signal` fired before it was free. */
  takeLock(name: string, options: LockOptions): Promise<Lock | null>;
  /** Those of `names` that somebody holds, this thread included. */
  locksHeld(names: readonly string[]): Promise<Set<string>>;
}
