// Which of the two views is shown.
import { computed, signal } from '@preact/signals';
import { model } from '../model/state';
import type { LinkedView } from './fragment';

export type View = LinkedView;

/** The choice of the reader or of a link; null: Talk, unless the address holds a prompt. */
export const chosenView = signal<View | null>(null);
/** What the reader chose last, for the next visit; null: as above. */
export const usualView = signal<View | null>(null);
/** Whether the page's address held a prompt when it was opened: then it is a link to a text. */
export const prompted = signal(false);

/** Shows a view that the reader has chosen. */
export function chooseView(to: View | null): void {
  chosenView.value = usualView.value = to;
}

/** Whether the model has a chat template, so that it can talk; null: there is no model yet. */
export const canTalk = computed(() =>
  model.value === null ? null : 'tokenizer.chat_template' in model.value.info.metadata,
);

export const view = computed<View>(() => chosenView.value ?? (prompted.value ? 'write' : 'talk'));
