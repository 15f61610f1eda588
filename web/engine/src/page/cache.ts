// The page's side of the cache: `cache`. A loader worker answers its calls.
import { fileAt } from '../platform/here.js';
import type { LoaderCalls, NamedModel } from '../shared/calls.js';
import { SluiceError, abortReason } from '../shared/errors.js';
import { callBack, unlessAborted } from '../shared/promises.js';
import type {
  CacheOptions,
  CacheRoom,
  ListOptions,
  ModelCache,
  ModelFile,
  Verification,
  VerifyOptions,
} from '../shared/cache-types.js';
import type { Ask } from '../shared/caller.js';
import { CacheWorker, ask as askAtOnce } from './cache-worker.js';
import { closing } from './closings.js';
import { invalid, reading, show, takeCacheOptions, takeListOptions } from './options.js';
import { takeHeaders, takeModelAddress } from './sources.js';

/** Asks the worker that all calls share. A model that this page has closed doesn't count as in use. */
const ask: Ask<LoaderCalls> = async (name, args, options) => {
  const closed = closing();
  if (closed !== null) await closed;
  return askAtOnce(name, args, options);
};

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
  const model = named(source, taken);
  if (signal?.aborted) throw abortReason(signal);
  const closed = closing();
  if (closed !== null) await unlessAborted(closed, signal);
  // A separate worker: an abort can terminate it at once.
  const worker = new CacheWorker();
  const onItem = ({ checked, total }: { checked: number; total: number }): null => {
    callBack(() => onProgress(checked, total), undefined);
    return null;
  };
  try {
    return await unlessAborted(worker.ask('verify', model, { onItem }), signal);
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
  const worker = new CacheWorker();
  try {
    return await unlessAborted(worker.ask('files', { headers, ...named }), signal);
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
  return ask('room', { bytes: bytes ?? null });
}

/** The model at `source`. */
function namedBy(source: string | URL, options: CacheOptions = {}): NamedModel {
  return named(source, takeCacheOptions(options, false));
}

async function pin(source: string | URL, pinned = true, options?: CacheOptions): Promise<void> {
  if (typeof pinned !== 'boolean')
    throw invalid(`pinned is ${show(pinned)}; give true or false, or leave it out`);
  return ask('pin', { ...namedBy(source, options), pinned });
}

async function exported(source: string | URL, options?: CacheOptions): Promise<Blob> {
  const file = await ask('export', namedBy(source, options));
  return typeof file === 'string' ? fileAt(file) : file;
}

export const cache: ModelCache = Object.freeze({
  list: () => ask('list', null),
  find: async (source, options) => ask('find', namedBy(source, options)),
  has: async (source, options) => ask('has', namedBy(source, options)),
  delete: async (source, options) => ask('delete', namedBy(source, options)),
  clear: () => ask('clear', null),
  verify,
  export: exported,
  pin,
  room,
} satisfies ModelCache);
