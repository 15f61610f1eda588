// The focus after an action that removes what had it.

/** Where the finger writes on the screen: a field that gets the focus there brings up a keyboard. */
export const touch = window.matchMedia('(pointer: coarse)');

/** Counts what is to have the focus: the last wish holds. */
let wishes = 0;

/** Focuses the first of these that there is, once the page is drawn anew. */
export function focusSoon(...selectors: string[]): void {
  const mine = ++wishes;
  requestAnimationFrame(() => {
    if (mine !== wishes) return;
    for (const selector of selectors) {
      const found = document.querySelector<HTMLElement>(selector);
      if (found === null) continue;
      found.focus();
      if (document.activeElement === found) return;
    }
  });
}

/** Focuses the element of this id now. False if there is none. */
export function focusNow(id: string): boolean {
  ++wishes;
  const found = document.getElementById(id);
  found?.focus();
  return found !== null;
}

/** Whether a key ends a composition (of Chinese, for example): then it isn't meant for the page. Safari says that by this code. */
export function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229;
}

/** Whether keys go into a text. */
export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')
  );
}

/** To the field of the view, unless the focus is where the reader put it, or that brings up the screen's keyboard. */
export function toFieldIfFree(id = 'draft'): void {
  const at = document.activeElement;
  const free = at === null || at === document.body || at.matches('.view-button, [data-to-field]');
  if (touch.matches || !free || document.querySelector('dialog[open]') !== null) return;
  document.getElementById(id)?.focus({ preventScroll: true });
}

/** Back to the message's field, but on the screen's keyboard only if the reader asked for that. */
export function backToField(): void {
  if (!touch.matches) focusSoon('#draft');
}
