// The models that are kept on this device. What can be done with their list is in kept-list.ts, which comes later.
import { signal } from '@preact/signals';
import { cache, type CachedModel } from '@sluice/engine';

/** Most recently used first. Null: not known yet, or this browser keeps none. */
export const kept = signal<CachedModel[] | null>(null);

/** Whether a model from this address is kept whole, so that it needs no network. */
export async function isKept(url: string): Promise<boolean> {
  try {
    return await cache.has(url);
  } catch {
    return false;
  }
}

/** What is kept of the model from this address; null: nothing. */
export async function findKept(url: string): Promise<CachedModel | null> {
  try {
    return await cache.find(url);
  } catch {
    return null;
  }
}

/** The same, if that is a part of the model. */
export async function partOf(url: string): Promise<CachedModel | null> {
  const found = await findKept(url);
  return found !== null && !found.complete && found.stored > 0 ? found : null;
}
