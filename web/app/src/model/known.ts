// What the page remembers of models that were loaded or looked at here, so that the list can say whether they fit and
// about how fast they are without reading them again.
import type { CachedModel, ModelInfo } from '@sluice/engine';
import { readsOf } from './reads';
import type { Reads } from './speed';

export interface Known {
  decodeBytes: number | null;
  eightBits: boolean;
  /** All that it takes in memory, in bytes. */
  all: number;
}

/** By the model's address. */
export type KnownModels = ReadonlyMap<string, Known>;

/** So many are remembered, the newest. */
const MOST = 40;
/** What a model takes in memory, as a part of its file's size, where nothing more is known. */
const BY_SIZE = 1.1;

/** Reads what was kept. Anything can be in a browser's storage: what is wrong is left out. */
export function readKnown(text: string | null): KnownModels {
  let value: unknown = null;
  try {
    value = JSON.parse(text ?? 'null');
  } catch {
    return new Map();
  }
  if (!Array.isArray(value)) return new Map();
  const size = (n: unknown): number | null =>
    typeof n === 'number' && Number.isFinite(n) && n > 0 ? n : null;
  const entries = (value as unknown[]).slice(-MOST).flatMap((one): [string, Known][] => {
    const [source, about] = Array.isArray(one) ? (one as unknown[]) : [];
    const { all, decodeBytes, eightBits } = (about ?? {}) as Record<string, unknown>;
    const whole = size(all);
    if (typeof source !== 'string' || whole === null) return [];
    const known = { all: whole, decodeBytes: size(decodeBytes), eightBits: eightBits === true };
    return [[source, known]];
  });
  return new Map(entries);
}

/** `models` with what a header says; the same if it says nothing. */
export function withModel(models: KnownModels, url: string, info: ModelInfo): KnownModels {
  if (info.memory === null) return models;
  const others = [...models].filter(([source]) => source !== url);
  const { decodeBytes, eightBits } = readsOf(info);
  const one: Known = { all: info.memory.all, decodeBytes, eightBits };
  return new Map([...others, [url, one] as const].slice(-MOST));
}

/**
 * Whether a model that is kept would stay in memory whole, and what a token of it reads; null if that isn't known. `limit`:
 * the bytes that a model may take here.
 */
export function outlook(
  { source, bytes }: Pick<CachedModel, 'source' | 'bytes'>,
  models: KnownModels,
  limit: number,
): { fits: boolean; reads: Reads } | null {
  const about = models.get(source);
  const all = about?.all ?? bytes * BY_SIZE;
  if (all === 0) return null;
  const { decodeBytes = null, eightBits = false } = about ?? {};
  const reads = { decodeBytes, eightBits, rereadBytes: Math.max(0, all - limit) };
  return { fits: all <= limit, reads };
}
