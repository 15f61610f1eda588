// The page's side of the cache: `cache`. A loader worker answers its calls.
import { SluiceError, abortReason, toldError } from './errors.js';
import { lifelineCut, lifelineName } from './lifeline.js';
import { invalid, reading, show, takeCacheOptions, takeListOptions } from './options.js';
import { Refusals } from './own-files.js';
import { startLoaderWorker } from './own-workers.js';
import { callBack, unlessAborted } from './promises.js';
import type { FromLoader } from './protocol.js';
import { takeHeaders, takeModelAddress } from './sources.js';
import type { CacheCall, FromCache, ToCache } from './store/calls.js';
import type {
  CachedModel,
  CacheOptions,
  CacheRoom,
  ListOptions,
  ModelCache,
  ModelFile,
  Verification,
  VerifyOptions,
} from './types.js';
import { goneError, startWatched } from './worker-watch.js';

/** Milliseconds that an idle worker waits for the next call before it ends. */
const IDLE_MS = 2000;

/** The worker's name in error messages. */
const NAMED = { which: 'worker of the cache', remedy: 'try again' };

interface PendingCall {
  resolve(value: unknown): void;
  reject(error: SluiceError): void;
  onProgress: (checked: number, total: number) => void;
}

/** A loader worker that answers calls of the cache. */
class CacheWorker {
  readonly #worker: Worker;
  readonly #lifeline = lifelineName();
  readonly #ended = new AbortController();
  readonly #pending = new Map<number, PendingCall>();
  #calls = 0;
  #alive = false;
  #idle: ReturnType<typeof setTimeout> | undefined;

  /** `gone`: called when the worker has ended. */
  constructor(readonly gone: () => void) {
    try {
      this.#worker = startWatched(() => startLoaderWorker('sluice-cache'), {
        ...NAMED,
        refusals: new Refusals(this.#ended.signal),
        until: this.#ended.signal,
        died: (error) => this.#died(error),
      });
    } catch (error) {
      this.#ended.abort();
      throw error;
    }
    this.#worker.addEventListener('message', ({ data }: MessageEvent<FromCache | FromLoader>) => {
      if ('id' in data) return this.#heard(data);
      if (this.#alive) return;
      this.#alive = true;
      void lifelineCut(this.#lifeline, this.#ended.signal).then(() =>
        this.#died(goneError(NAMED, 'it is gone')),
      );
    });
  }

  #heard(message: FromCache): void {
    const call = this.#pending.get(message.id);
    if (message.type === 'cacheProgress') {
      const { checked, total } = message;
      if (call !== undefined) callBack(() => call.onProgress(checked, total), undefined);
      return;
    }
    this.#pending.delete(message.id);
    if (this.#pending.size === 0) this.#idle = setTimeout(() => this.end(), IDLE_MS);
    if (message.type === 'cacheResult') call?.resolve(message.value);
    else call?.reject(toldError(message.error));
  }

  #died(error: SluiceError): void {
    this.end();
    for (const { reject } of this.#pending.values()) reject(error);
  }

  /** May be called again. */
  end(): void {
    if (this.#ended.signal.aborted) return;
    clearTimeout(this.#idle);
    this.#ended.abort();
    this.#worker.terminate();
    this.gone();
  }

  call(call: CacheCall, onProgress: PendingCall['onProgress'] = () => {}): Promise<unknown> {
    clearTimeout(this.#idle);
    this.#calls += 1;
    const id = this.#calls;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject, onProgress });
      const lifeline = id === 1 ? this.#lifeline : '';
      this.#worker.postMessage({ type: 'cache', id, call, lifeline } satisfies ToCache);
    });
  }
}

let shared: CacheWorker | null = null;

/** Sends a call to the worker that all calls share. */
export async function ask(call: CacheCall): Promise<unknown> {
  shared ??= new CacheWorker(() => {
    shared = null;
  });
  return shared.call(call);
}

/** The address for the worker: absolute, or `hf:..` or `sluice-cache:..`; and its hub. */
function named(source: string | URL, { hubUrl }: CacheOptions): { source: string; hub: string } {
  const isAddress = (): boolean => typeof source === 'string' || source instanceof URL;
  if (!reading('the source', isAddress)) {
    throw new SluiceError(
      'invalid_argument',
      `the source is ${show(source)}; the cache keeps models that come from an address: give that`,
    );
  }
  const address = reading('the source', () => String(source));
  if (address.startsWith('sluice-cache:')) return { source: address, hub: '' };
  return takeModelAddress(address, hubUrl);
}

async function verify(source: string | URL, options: VerifyOptions = {}): Promise<Verification> {
  const taken = takeCacheOptions(options, true);
  const { signal, onProgress = () => {} } = taken;
  const call = { name: 'verify' as const, ...named(source, taken) };
  if (signal?.aborted) throw abortReason(signal);
  // A separate worker: an abort can terminate it at once.
  const worker = new CacheWorker(() => {});
  try {
    return (await unlessAborted(worker.call(call, onProgress), signal)) as Verification;
  } finally {
    worker.end();
  }
}

/**
 * The models in a hub's repository, such as hf:owner/repo. All parts of a split model count as one. Files that are no model of
 * their own, such as mmproj files, are left out. Fails with the errors of Engine.load.
 */
export async function listModels(
  source: string | URL,
  options: ListOptions = {},
): Promise<ModelFile[]> {
  const taken = takeListOptions(options);
  const named = takeModelAddress(source, taken.hubUrl);
  const headers = takeHeaders(taken.headers, [named.source], named.hub);
  const { signal } = taken;
  if (signal?.aborted) throw abortReason(signal);
  // A separate worker: an abort can terminate it at once.
  const worker = new CacheWorker(() => {});
  try {
    const call = { name: 'files' as const, headers, ...named };
    return (await unlessAborted(worker.call(call), signal)) as ModelFile[];
  } finally {
    worker.end();
  }
}

async function room(bytes?: number): Promise<CacheRoom> {
  if (bytes !== undefined && !(Number.isSafeInteger(bytes) && bytes >= 0)) {
    throw new SluiceError(
      'invalid_argument',
      `bytes is ${show(bytes)}; give a whole number from 0 on, or leave it out`,
    );
  }
  return (await ask({ name: 'room', bytes: bytes ?? null })) as CacheRoom;
}

/** Sends a call about the model at `source`. */
async function askOf<T>(
  call: { name: 'find' | 'has' | 'delete' | 'export' } | { name: 'pin'; pinned: boolean },
  source: string | URL,
  options: CacheOptions = {},
): Promise<T> {
  const taken = takeCacheOptions(options, false);
  return (await ask({ ...call, ...named(source, taken) })) as T;
}

async function pin(source: string | URL, pinned = true, options?: CacheOptions): Promise<void> {
  if (typeof pinned !== 'boolean')
    throw invalid(`pinned is ${show(pinned)}; give true or false, or leave it out`);
  return askOf({ name: 'pin', pinned }, source, options);
}

export const cache: ModelCache = Object.freeze({
  list: async () => (await ask({ name: 'list' })) as CachedModel[],
  find: (source, options) => askOf({ name: 'find' }, source, options),
  has: (source, options) => askOf({ name: 'has' }, source, options),
  delete: (source, options) => askOf({ name: 'delete' }, source, options),
  clear: async () => (await ask({ name: 'clear' })) as number,
  verify,
  export: (source, options) => askOf({ name: 'export' }, source, options),
  pin,
  room,
} satisfies ModelCache);

/**
 * Asks the browser not to evict this site's storage when the disk is full. Some browsers ask the user. Only pages can do
 * this. Resolves to whether the storage is persistent.
 */
export async function askToPersist(): Promise<boolean> {
  try {
    const { storage } = navigator;
    return (await storage.persisted()) || (await storage.persist());
  } catch {
    return false; // the browser has no storage, or refuses
  }
}
