// What the room sees of the page's model.
import { computed } from '@preact/signals';
import { library } from '../history/state';
import { currentEngine, loading, model } from '../model/state';
import { Keeping } from './keeping';
import type { Insight } from './library';

/** The engine of the model in use; null: there is none that can be asked. */
export const insight = computed<Insight | null>(() => {
  void model.value;
  void loading.value;
  return currentEngine();
});

/** What is kept on this device of what was seen. An answer is kept before that. */
export const keeping = new Keeping(undefined, () => library.settle());
