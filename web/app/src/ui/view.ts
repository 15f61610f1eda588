// Which of the views is shown. What it is by the model, shell/follow-model.ts decides.
import { computed, signal } from '@preact/signals';

/** A link can ask for each. */
export type View = 'talk' | 'write' | 'find';
export const VIEWS: readonly View[] = ['talk', 'write', 'find'];

/** The choice of the reader or of a link; null: Talk, unless the address holds a prompt. */
export const chosenView = signal<View | null>(null);
/** What the reader chose last, for the next visit; null: as above. */
export const usualView = signal<View | null>(null);
/** Whether the page's address held a prompt when it was opened: then it is a link to a text. */
export const prompted = signal(false);
/** Whether the page itself went to the view that is shown, since the model can't talk. */
export const wentByItself = signal(false);

/** Shows a view that the reader has chosen. */
export function chooseView(to: View | null): void {
  wentByItself.value = false;
  chosenView.value = usualView.value = to;
}

export const view = computed<View>(() => chosenView.value ?? (prompted.value ? 'write' : 'talk'));
