// Which of the views is shown.
import { computed, effect, signal, untracked } from '@preact/signals';
import { does } from '../model/makes';
import { model } from '../model/state';
import type { LinkedView } from './fragment';

export type View = LinkedView;

/** The choice of the reader or of a link; null: Talk, unless the address holds a prompt. */
export const chosenView = signal<View | null>(null);
/** What the reader chose last, for the next visit; null: as above. */
export const usualView = signal<View | null>(null);
/** Whether the page's address held a prompt when it was opened: then it is a link to a text. */
export const prompted = signal(false);
/** Whether the page itself went to the view that is shown, since the model can't talk. */
let went = false;

/** Shows a view that the reader has chosen. */
export function chooseView(to: View | null): void {
  went = false;
  chosenView.value = usualView.value = to;
}

/** Whether the model has a chat template, so that it can talk; null: there is no model yet. */
export const canTalk = computed(() =>
  model.value === null
    ? null
    : does.value === 'writes' && 'tokenizer.chat_template' in model.value.info.metadata,
);

export const view = computed<View>(() => chosenView.value ?? (prompted.value ? 'write' : 'talk'));

/** From now on, goes from the conversation to where a model is of use that can't talk, and back when there is one that can. */
export function followModel(): void {
  effect(() => {
    const now = does.value;
    untracked(() => {
      if (now === 'writes') {
        if (went) chosenView.value = null;
        went = false;
      } else if (now !== null && (went || view.value === 'talk')) {
        went = true;
        chosenView.value = now === 'finds' ? 'find' : 'write';
      }
    });
  });
}
