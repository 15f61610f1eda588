import { signal } from '@preact/signals';
import { apple } from '../device';
import { closeList, listOpen, listOver } from '../list/open';
import { does } from '../model/makes';
import { openSheet } from '../model/open';
import { busy, stop } from '../run';
import { openSettings } from '../settings/open';
import { t } from '../texts';
import { focusNow, focusSoon } from './focus';
import { fetchWriting, newConversation } from './parts';
import { chosenView, view } from './view';

/** Whether the list of shortcuts is open. */
export const shortcutsOpen = signal(false);

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

/** The key that shortcuts are held with, as it is written on the keyboard. */
export const command = (): string => (apple ? '⌘' : t.value.page.keys.control);

/** Whether keys go into a text. */
function types(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')
  );
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
    void fetchWriting().then((room) => (does.peek() === 'fills' ? room?.fill() : room?.write()));
  else if (held && event.shiftKey && key.toLowerCase() === 'o') newConversation();
  else if (held && !event.shiftKey && key.toLowerCase() === 'k') toTheSearch();
  else if (held && !event.shiftKey && key.toLowerCase() === 'm') openSheet();
  else if (held && key === ',') openSettings();
  else if (held && key === '/') shortcutsOpen.value = true;
  else if (key === '?' && !types(event.target)) shortcutsOpen.value = true;
  else if (key === '/' && !held && !types(event.target)) toTheField();
  else return;
  if (key !== 'Escape') event.preventDefault();
}
