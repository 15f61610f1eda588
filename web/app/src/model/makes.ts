// What a model is for. Most write; some only make vectors of texts, with which passages are found; some fill in masked words.
import { computed } from '@preact/signals';
import type { ModelInfo } from '@sluice/engine';
import { loading, model, writable } from './state';

export type Does = 'writes' | 'finds' | 'fills';

/** What the reader can do with a model; one that can't be run counts as one that writes. */
export function whatItDoes({ purpose }: ModelInfo): Does {
  return purpose === 'masks' ? 'fills' : purpose === 'vectors' ? 'finds' : 'writes';
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

/** Whether the model has a chat template, so that it can talk; null: there is no model yet. */
export const canTalk = computed(() =>
  model.value === null ? null : does.value === 'writes' && model.value.info.chatTemplate,
);
