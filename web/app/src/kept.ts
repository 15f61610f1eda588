// The models that are kept on this device: the list, and what can be done with it.
import { computed, effect, signal } from '@preact/signals';
import { SluiceError, cache, type CachedModel } from '@sluice/engine';
import { bytes } from './format';
import { whenAtRest } from './rest';
import { announcement, loading } from './state';
import { wholeName } from './source';

/** Most recently used first. Null: not known yet, or this browser keeps none. */
export const kept = signal<CachedModel[] | null>(null);
/** Bytes that can still be kept; null if the browser doesn't say. */
export const room = signal<number | null>(null);
/** Why something could not be done with a model; by the model's source, '' for all models. */
export const refused = signal<{ source: string; why: string } | null>(null);

/** Milliseconds between two looks at the list while a model is being loaded. */
const LOADING_MS = 3000;

/** Reads the list again. */
export async function refresh(): Promise<void> {
  try {
    const [models, { usage, quota }] = await Promise.all([cache.list(), cache.room()]);
    kept.value = models;
    room.value = quota > 0 ? Math.max(0, quota - usage) : null;
  } catch {
    // Private windows keep nothing, and the model's own notes say so.
    kept.value = null;
  }
}

/** Reads the list when the page is at rest or a model comes from an address, and then whenever it may have changed. */
export function keepList(): void {
  let begun = false;
  const begin = (): void => {
    if (begun) return;
    begun = true;
    // Not with each step of a load's progress.
    const since = computed(() => loading.value?.since);
    effect(() => {
      refused.value = null;
      void refresh();
      if (since.value === undefined) return undefined;
      const timer = setInterval(() => void refresh(), LOADING_MS);
      return () => clearInterval(timer);
    });
    // Other tabs may have changed it.
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible') void refresh();
    });
  };
  whenAtRest(begin);
  effect(() => {
    if (loading.value?.source.kind === 'address') begin();
  });
}

export function keptName({ name, source }: CachedModel): string {
  return wholeName(name) || source;
}

/** How much of a model is kept: 1.31 MB of 2.58 MB. */
export function amountOf({ stored, bytes: whole, complete }: CachedModel): string {
  return complete || whole === 0 ? bytes(stored) : `${bytes(stored)} of ${bytes(whole)}`;
}

/** Whether this page is fetching the model. */
function isComing(source: string): boolean {
  const coming = loading.value?.source;
  return coming?.kind === 'address' && coming.url === source;
}

/** Does something with the list, and shows it anew. Returns whether it could be done. */
async function change(source: string, work: () => Promise<string>): Promise<boolean> {
  refused.value = null;
  let done = true;
  try {
    announcement.value = await work();
  } catch (error) {
    done = false;
    const busy = error instanceof SluiceError && error.code === 'busy';
    const why = busy
      ? isComing(source)
        ? 'It is being fetched here. Pause or cancel that first.'
        : 'It is in use here or in another tab. Open another model first, or close that tab.'
      : error instanceof Error
        ? error.message
        : String(error);
    refused.value = { source, why };
  }
  await refresh();
  return done;
}

export function remove(model: CachedModel): Promise<boolean> {
  return change(model.source, async () => {
    await cache.delete(model.source);
    return `${keptName(model)} was removed`;
  });
}

/** Removes all models that are neither pinned nor in use. */
export function removeAll(): Promise<boolean> {
  return change('', async () => `${bytes(await cache.clear())} are free again`);
}

export function pin(model: CachedModel, pinned: boolean): Promise<boolean> {
  return change(model.source, async () => {
    await cache.pin(model.source, pinned);
    return `${keptName(model)} is ${pinned ? 'pinned' : 'no longer pinned'}`;
  });
}

/** Whether a model from this address is kept whole, so that it needs no network. */
export async function isKept(url: string): Promise<boolean> {
  try {
    return await cache.has(url);
  } catch {
    return false;
  }
}

/** What is kept of the model from this address, if that is a part of it. */
export async function partOf(url: string): Promise<CachedModel | null> {
  try {
    const models = await cache.list();
    return models.find((m) => m.source === url && !m.complete && m.stored > 0) ?? null;
  } catch {
    return null;
  }
}

/** The model that was being fetched until now, if its bytes are kept. `since`: when that began. */
export async function interrupted(since: number): Promise<CachedModel | null> {
  await refresh();
  return kept.value?.find(({ complete, used }) => !complete && used >= since) ?? null;
}
