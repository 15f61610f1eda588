// Learns how fast this device is and what models need, from all that happens here. It comes later than the page, which keeps
// what was seen (seen.ts).
import { effect, signal, untracked } from '@preact/signals';
import { Engine, memoryLimit, type CachedModel, type ModelInfo } from '@sluice/engine';
import { busy } from './run';
import { budgetOf, settings } from '../settings/settings';
import { outlook, readKnown, withModel, type KnownModels } from './known';
import { FRESH_MS, seen, store } from './seen';
import { LEAST_TOKENS, readsOf, withText, type Ran } from './reads';
import { estimate, type Estimate } from './speed';
import { loading, model, stats } from './state';

const known = signal<KnownModels>(new Map());

/** Remembers from now on which models are loaded, and what they need. */
export function startKnown(): void {
  store('sluice.models', known, readKnown, () => JSON.stringify([...known.value]));
  effect(() => {
    const { source, info } = model.value ?? {};
    if (source?.kind !== 'address' || info === undefined || loading.value !== null) return;
    untracked(() => remember(source.url, info));
  });
}

/** Learns from a text or an answer of the model in use. */
export function learnFrom(ran: Omit<Ran, 'eightBits'>): void {
  if (!(ran.tokens >= LEAST_TOKENS)) return;
  const info = model.peek()?.info;
  // What is loaded meanwhile, or is read again, slows a text down.
  if (info === undefined || loading.peek() !== null || readsOf(info).rereadBytes > 0) return;
  const { eightBits } = readsOf(info);
  const before = seen.peek().texts;
  const texts = withText(before, { ...ran, eightBits }, Date.now());
  if (texts !== before) seen.value = { ...seen.peek(), texts };
}

/** Remembers what a model's header says. */
export function remember(url: string, info: ModelInfo): void {
  known.value = withModel(known.peek(), url, info);
}

/** Measures how fast this device decodes, which takes about a second, unless that was done lately or the engine is at work. */
export async function measure(): Promise<void> {
  const { measured } = seen.peek();
  const fresh = measured !== null && Date.now() - measured.at < FRESH_MS;
  if (fresh || busy.peek() || loading.peek() !== null) return;
  try {
    const { bytesPerSecond, bytesPerSecond8 } = await Engine.measure();
    seen.value = { ...seen.peek(), measured: { bytesPerSecond, bytesPerSecond8, at: Date.now() } };
  } catch {
    // The engine is at work, or this browser can't run it. Then only texts tell it.
  }
}

/** About how fast a model with this header would be. */
export function speedOf(info: ModelInfo): Estimate | null {
  return estimate(readsOf(info), seen.value);
}

/** About how fast the model in use is: as its last text was, or else as others show. */
export function ownSpeed(): Estimate | null {
  const s = stats.value;
  const current = model.value;
  if (s === null || current === null) return null;
  const reads = readsOf(current.info);
  if (s.tokens >= LEAST_TOKENS && s.tokensPerSecond > 0 && !busy.value)
    return { tokensPerSecond: s.tokensPerSecond, learned: true, rereads: reads.rereadBytes > 0 };
  return estimate({ ...reads, decodeBytes: s.bytesPerToken || reads.decodeBytes }, seen.value);
}

/** Whether a model at an address fits, and about how fast it is; null if nothing is known. */
export function outlookOf(
  kept: Pick<CachedModel, 'source' | 'bytes'>,
): { fits: boolean; speed: Estimate | null } | null {
  const limit = memoryLimit(budgetOf(settings.value));
  const found = outlook(kept, known.value, limit);
  return found && { fits: found.fits, speed: estimate(found.reads, seen.value) };
}
