// Which of the two views is shown.
import { computed, effect, signal } from '@preact/signals';
import { model } from '../model/state';
import { remembered } from '../talk/remembered';
import type { LinkedView } from './fragment';

export type View = LinkedView;

/** The choice of the reader or of a link; null: by the model. */
export const chosenView = signal<View | null>(null);
/** What the reader chose last, for the next visit; null: by the model. */
export const usualView = signal<View | null>(null);

/** Shows a view that the reader has chosen. */
export function chooseView(to: View | null): void {
  chosenView.value = usualView.value = to;
}

/** Whether the model has a chat template, so that it can talk; null: there is no model yet. */
export const canTalk = computed(() =>
  model.value === null ? null : 'tokenizer.chat_template' in model.value.info.metadata,
);

const KEY = 'sluice-view';

/** The view that the last model led to in this tab, so that a reload begins with it. */
function lastView(): View {
  try {
    return sessionStorage.getItem(KEY) === 'talk' ? 'talk' : 'write';
  } catch {
    return 'write';
  }
}

/** By the model; until one is known, as it was. */
const byModel = signal<View>(lastView());
let first = true;
effect(() => {
  if (canTalk.value === null) return;
  // After a reload a model from a file is gone, but the conversation with it goes on.
  const goesOn = first && byModel.peek() === 'talk' && remembered() !== null;
  first = false;
  if (goesOn) return;
  byModel.value = canTalk.value ? 'talk' : 'write';
  try {
    sessionStorage.setItem(KEY, byModel.value);
  } catch {
    // Without a place for it the page begins with the writing view.
  }
});

export const view = computed<View>(() => chosenView.value ?? byModel.value);
