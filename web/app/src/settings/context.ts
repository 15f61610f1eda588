// What a context takes: the memory of its keys and values.
import type { KvType, MemoryPlan, ModelInfo } from '@sluice/engine';
import type { Settings } from './settings';

/** The engine adds memory for so many positions at a time. */
const CHUNK = 256;
/** The context if none is chosen: the model's own, of one that writes up to this. */
const DEFAULT_MOST = 4096;
/** Bytes of a number, with its share of a scale. */
const NUMBER_BYTES: Readonly<Record<KvType, number>> = { f32: 4, f16: 2, q8_0: 1.125 };

/** The tokens of the context that a model (null: none is here) gets with these settings; null if neither says it. */
export function contextOf(
  { context }: Pick<Settings, 'context'>,
  info: Pick<ModelInfo, 'contextLength' | 'makes'> | null,
): number | null {
  const trained = info?.contextLength ?? null;
  if (context !== null || trained === null) return context;
  return info?.makes.includes('text') === true ? Math.min(trained, DEFAULT_MOST) : trained;
}

/**
 * About the bytes of the keys and values of a full context, reckoned from those of a model that is loaded. What doesn't
 * grow with the context counts as it is.
 */
export function kvBytes(
  plan: Pick<MemoryPlan, 'kv' | 'kvChunk' | 'plannedTokens' | 'kvType'>,
  tokens: number,
  type: KvType,
): number {
  const chunks = (positions: number): number => Math.ceil(positions / CHUNK);
  const bounded = plan.kv - plan.kvChunk * chunks(plan.plannedTokens);
  const grown = plan.kvChunk * chunks(tokens);
  return bounded + (grown * NUMBER_BYTES[type]) / NUMBER_BYTES[plan.kvType];
}
