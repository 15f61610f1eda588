// Whether the list of conversations is shown.
import { signal } from '@preact/signals';
import { focusSoon } from '../ui/focus';

const wide = window.matchMedia('(min-width: 64rem)');

/** Whether the list is shown: beside the conversation where there is room, over it elsewhere. */
export const listOpen = signal(wide.matches);
/** Whether it lies over the conversation. */
export const listOver = signal(!wide.matches);
wide.addEventListener('change', () => {
  listOver.value = !wide.matches;
  listOpen.value = wide.matches;
});

/** Hides the list, and goes back to the button that shows it. */
export function closeList(): void {
  listOpen.value = false;
  focusSoon('.list-button');
}
