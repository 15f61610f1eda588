// The list of the models that are kept on this device, and what can be done with it. It comes later than the page.
import { computed, effect, signal, untracked } from '@preact/signals';
import { SluiceError, cache, type CachedModel } from '@sluice/engine';
import { bytes, ofWhole } from '../texts/format';
import { announcement } from '../ui/announce';
import { busy } from './run';
import { explain, ownFinding, type Finding } from './advice';
import { findKept, kept, partOf } from './kept';
import { loading, model, resting } from './state';
import { nameByRef } from './name';
import { wholeName } from './source';
import { loadsTexts } from './loads-texts';

/** Bytes that can still be kept; null if the browser doesn't say. */
export const room = signal<number | null>(null);
/** What `source` the model in use has in `kept`, whatever address it was opened by; '' if it isn't there. */
export const inUseHere = signal('');
/** Why something could not be done with a model; by the model's source, '' for all models. */
export const refused = signal<({ source: string } & Finding) | null>(null);

/** Milliseconds between two looks at the list while it may change. */
const LOOK_MS = 1000;
/** After so many looks that found nothing new, the next one waits for an event. */
const CALM_LOOKS = 3;

/** Looks at the list, and the latest one that is shown: answers need not come in their order. */
let looks = 0;
let shown = 0;

/** Reads the list again. */
export async function refresh(): Promise<void> {
  const mine = ++looks;
  // Private windows keep nothing, and the model's own notes say so.
  const { source } = model.peek() ?? {};
  const own = source?.kind === 'address' ? findKept(source.url) : null;
  const found = await Promise.all([cache.list(), cache.room(), own]).catch(() => null);
  if (mine < shown) return;
  shown = mine;
  kept.value = found === null ? null : found[0];
  if (found === null) return;
  inUseHere.value = found[2]?.source ?? '';
  const { usage, quota } = found[1];
  room.value = quota > 0 ? Math.max(0, quota - usage) : null;
}

/** The latest call of follow(). */
let following = 0;

/** Something writes to what is kept: a download, or a text whose model's layers are packed and kept as they are read. */
function growing(): boolean {
  if (loading.value?.source.kind === 'address') return true;
  const again = model.value?.info.memory?.rereadBytes ?? 0;
  return busy.value && again > 0 && model.value?.source.kind === 'address';
}

/** Reads the list now, and then every second until it changes no more. */
export async function follow(): Promise<void> {
  const mine = ++following;
  for (let calm = 0; mine === following && (calm < CALM_LOOKS || growing());) {
    const before = JSON.stringify(kept.peek());
    await refresh();
    calm = JSON.stringify(kept.peek()) === before ? calm + 1 : 0;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

/** Reads the list now, and then whenever it may have changed. */
export function startList(): void {
  // Not with each step of a load's progress.
  const since = computed(() => loading.value?.since);
  effect(() => {
    void since.value;
    refused.value = null;
  });
  effect(() => {
    void [since.value, resting.value, model.value, busy.value];
    // A text from memory alone changes nothing, and needs the processor.
    untracked(() => {
      if (!busy.value || growing()) void follow();
    });
  });
  // Other tabs may have changed it.
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') void refresh();
  });
}

export function keptName({ name, source }: CachedModel): string {
  return nameByRef(source, wholeName(name) || source);
}

/** How much of a model is kept: 1.31 MB of 2.58 MB. */
export function amountOf({ stored, bytes: whole, complete }: CachedModel): string {
  return complete || whole === 0 ? bytes(stored) : ofWhole(bytes(stored), bytes(whole));
}

/** Whether this page is fetching the model. */
async function isComing(source: string): Promise<boolean> {
  const coming = loading.value?.source;
  if (coming?.kind !== 'address') return false;
  return coming.url === source || (await findKept(coming.url))?.source === source;
}

/** Why nothing can be done with a model that is in use. */
async function whyBusy(source: string): Promise<string> {
  const { busyComing, busyUsed } = loadsTexts.peek().kept;
  return (await isComing(source)) ? busyComing : busyUsed;
}

/** Whether a model can be removed now. If not, says why. */
export async function removable({ source }: CachedModel): Promise<boolean> {
  refused.value = null;
  await refresh();
  const inUse = kept.value?.find((m) => m.source === source)?.inUse === true;
  const used = inUse || (await isComing(source));
  if (used) refused.value = { source, ...ownFinding('busy', await whyBusy(source)) };
  return !used;
}

/** Does something with the list, and shows it anew. Returns whether it could be done. */
async function change(source: string, work: () => Promise<string>): Promise<boolean> {
  refused.value = null;
  let done = true;
  try {
    announcement.value = await work();
  } catch (error) {
    done = false;
    const inUse = error instanceof SluiceError && error.code === 'busy';
    const why = inUse ? ownFinding('busy', await whyBusy(source)) : explain(error);
    refused.value = { source, ...why };
  }
  await refresh();
  return done;
}

export function remove(model: CachedModel): Promise<boolean> {
  return change(model.source, async () => {
    await cache.delete(model.source);
    return loadsTexts.peek().said.removed(keptName(model));
  });
}

/** Removes what has come of the model from this address. */
export async function discard(url: string): Promise<void> {
  const part = await partOf(url);
  if (part !== null) await remove(part);
}

/** Removes all models that are neither pinned nor in use. `others`: removes what else is kept, and returns its bytes. */
export function removeAll(others: () => Promise<number>): Promise<boolean> {
  return change('', async () => {
    const freed = (await cache.clear()) + (await others());
    return loadsTexts.peek().said.free(bytes(freed));
  });
}

export function pin(model: CachedModel, pinned: boolean): Promise<boolean> {
  return change(model.source, async () => {
    await cache.pin(model.source, pinned);
    const { said } = loadsTexts.peek();
    return (pinned ? said.pinned : said.unpinned)(keptName(model));
  });
}
