// The public types of what is kept on the device: models and states, and the lists of a hub.

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
