// What is typed before the conversation's script has come: the field that is drawn until then is a real one.
import { effect, signal } from '@preact/signals';

/** The text of the message's field. */
export const draft = signal('');
/** The text that was sent before it could be. */
export const early = signal<string | null>(null);

interface Held {
  focused: boolean;
  from: number;
  to: number;
}
let held: Held | null = null;

function field(): HTMLTextAreaElement | null {
  return document.querySelector<HTMLTextAreaElement>('#draft');
}

/** Remembers the focus and the selection of the field that is about to be replaced. */
export function holdField(): void {
  const now = field();
  if (now === null) return;
  const { selectionStart: from, selectionEnd: to } = now;
  held = { focused: document.activeElement === now, from, to };
}

/** Gives them to the field that has come. */
export function restoreSelection(): void {
  const now = field();
  if (held === null || now === null) return;
  const { focused, from, to } = held;
  held = null;
  if (!focused) return;
  now.focus({ preventScroll: true });
  now.setSelectionRange(from, to);
}

/** Sends what was sent too early, as soon as that can be, unless it was changed meanwhile. */
export function sendEarly(canSend: () => boolean, send: () => void): void {
  if (early.peek() === null) return;
  let done = false;
  const dispose = effect(() => {
    const same = draft.value.trim() === early.value;
    if (done || (same && !canSend())) return;
    done = true;
    queueMicrotask(() => {
      dispose();
      early.value = null;
      if (same) send();
    });
  });
}
