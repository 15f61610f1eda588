// What a model is for. Most write; some only make vectors of texts, with which passages are found; some fill in masked words.
import { computed } from '@preact/signals';
import type { ModelInfo } from '@sluice/engine';
import { loading, model, writable } from './state';

export type Does = 'writes' | 'finds' | 'fills';

/** A model of texts makes vectors as well, but good ones only if it was trained for that: then its file says how to pool them. */
export function whatItDoes({ makes, architecture, metadata }: ModelInfo): Does {
  if (makes.includes('masks')) return 'fills';
  const pools = Number(metadata[`${architecture}.pooling_type`] ?? 0) > 0;
  return makes.includes('vectors') && (pools || !makes.includes('text')) ? 'finds' : 'writes';
}

/** What the model in use is for; null: there is none. */
export const does = computed<Does | null>(() =>
  model.value === null ? null : whatItDoes(model.value.info),
);

/** Whether there is a model that writes, or one is coming that may. */
export const canWrite = computed(
  () =>
    writable.value && (loading.value !== null || does.value === null || does.value === 'writes'),
);
