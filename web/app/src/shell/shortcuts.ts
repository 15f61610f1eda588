import { closeList, listOpen, listOver } from '../list/open';
import { does } from '../model/makes';
import { openSheet } from '../model/open';
import { busy, stop } from '../model/run';
import { openSettings, shortcutsOpen } from '../settings/open';
import { focusNow, focusSoon, isTyping } from '../ui/focus';
import { chosenView, view } from '../ui/view';
import { writingParts } from '../writing/parts';
import { newConversation } from './parts';

/** Moves to the field of the view that is shown. */
export function toTheField(): void {
  focusNow({ talk: 'draft', write: 'prompt', find: 'question' }[view.peek()]);
}

/** The list's search field, which is there when the list is. */
function toTheSearch(): void {
  if (view.peek() !== 'talk') chosenView.value = 'talk';
  listOpen.value = true;
  // A list that covers the page takes the focus itself first. Where nothing is kept there is nothing to search.
  if (!focusNow('search')) requestAnimationFrame(() => focusSoon('#search', '.list-new'));
}

/** Acts on a key that is a shortcut. */
export function onKey(event: KeyboardEvent): void {
  const { key } = event;
  const held = event.ctrlKey || event.metaKey;
  const dialog = document.querySelector('dialog[open]') !== null;
  if (event.defaultPrevented) return;
  if (key === 'Escape' && listOpen.value && listOver.value && !dialog) closeList();
  else if (key === 'Escape' && busy.value && !dialog) stop();
  else if (dialog) return;
  else if (held && key === 'Enter' && view.value === 'write')
    void writingParts
      .fetch()
      .then((room) => (does.peek() === 'fills' ? room?.fill() : room?.write()));
  else if (held && event.shiftKey && key.toLowerCase() === 'o') newConversation();
  else if (held && !event.shiftKey && key.toLowerCase() === 'k') toTheSearch();
  else if (held && !event.shiftKey && key.toLowerCase() === 'm') openSheet();
  else if (held && key === ',') openSettings();
  else if (held && key === '/') shortcutsOpen.value = true;
  else if (key === '?' && !isTyping(event.target)) shortcutsOpen.value = true;
  else if (key === '/' && !held && !isTyping(event.target)) toTheField();
  else return;
  if (key !== 'Escape') event.preventDefault();
}
