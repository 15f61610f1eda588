// What a context takes: the memory of its keys and values.
import type { KvType, MemoryPlan } from '@sluice/engine';
import type { Settings } from './settings';

/** The engine adds memory for so many positions at a time. */
const CHUNK = 256;
/** The context if none is chosen: the model's own, up to this. */
const DEFAULT_MOST = 4096;
/** Bytes of a number, with its share of a scale. */
const NUMBER_BYTES: Readonly<Record<KvType, number>> = { f32: 4, f16: 2, q8_0: 1.125 };

/** The tokens of the context that a model gets with these settings; null if neither says it. */
export function contextOf(
  { context }: Pick<Settings, 'context'>,
  trained: number | null,
): number | null {
  return context ?? (trained === null ? null : Math.min(trained, DEFAULT_MOST));
}

/**
 * About the bytes of the keys and values of a full context, reckoned from those of a model that is loaded. What doesn't
 * grow with the context counts as it is.
 */
export function kvBytes(
  plan: Pick<MemoryPlan, 'kv' | 'kvChunk' | 'contextSize' | 'kvType'>,
  tokens: number,
  type: KvType,
): number {
  const chunks = (positions: number): number => Math.ceil(positions / CHUNK);
  const bounded = plan.kv - plan.kvChunk * chunks(plan.contextSize);
  const grown = plan.kvChunk * chunks(tokens);
  return bounded + (grown * NUMBER_BYTES[type]) / NUMBER_BYTES[plan.kvType];
}
