import { useSignalEffect } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { messageOf, siblings, type Message } from '../history/tree';
import { opened } from '../inside/looks';
import { insideParts } from '../inside/parts';
import { isTyping } from '../ui/focus';
import { With } from '../ui/later';
import { looked, talk } from './state';
import { talkTexts } from './texts';

/** The answer that is looked into; null: none. */
function answer(): string | null {
  const what = opened.value;
  return what === null || what === 'text' ? null : what.answer;
}

function open(id: string): void {
  opened.value = { answer: id };
}

function close(): void {
  const id = answer();
  opened.value = null;
  document
    .querySelector<HTMLElement>(`.message[data-id="${id}"] .xray-button`)
    ?.focus({ preventScroll: true });
}

/** Below an answer: opens the x-ray of it, and closes it. */
export function XrayButton({ of }: { of: Message }) {
  const isOpen = answer() === of.id;
  const words = talkTexts.value;
  return (
    <button
      type="button"
      class="icon-button xray-button"
      aria-label={words.xray}
      title={`${words.xray} (X)`}
      aria-expanded={isOpen}
      onClick={() => (isOpen ? close() : open(of.id))}
    >
      <svg viewBox="0 0 24 24" aria-hidden="true">
        <path d="M5 20V13M10 20V5M15 20v-9M20 20v-4" />
      </svg>
    </button>
  );
}

/** What the tokens of an answer were chosen from, beside the conversation. */
export function AnswerXray() {
  useEffect(() => {
    window.addEventListener('keydown', onKey);
    return () => {
      window.removeEventListener('keydown', onKey);
      if (answer() !== null) opened.value = null;
    };
  }, []);
  useSignalEffect(() => {
    const now = talk.answeringHere.value;
    const id = answer();
    if (id === null) return;
    // The answer that is being written is the one that is looked into.
    if (now !== null) open(now.id);
    else stay(id);
  });
  if (answer() === null) return null;
  return (
    <With of={insideParts}>{({ Xray }) => <Xray of={looked} close={close} reveal={reveal} />}</With>
  );
}

/** Where another branch is shown, its answer is looked into; where there is none, nothing is. */
function stay(id: string): void {
  const shown = talk.shown.value;
  if (shown.some((one) => one.id === id)) return;
  const beside = siblings(talk.conversation.value, id);
  const other = shown.find((one) => beside.includes(one.id));
  if (other === undefined || messageOf(talk.conversation.value, id) === undefined)
    opened.value = null;
  else open(other.id);
}

function reveal(): void {
  document.querySelector(`.message[data-id="${answer()}"]`)?.scrollIntoView({ block: 'start' });
}

/** The key x opens the x-ray of the last answer, and closes it. */
function onKey(event: KeyboardEvent): void {
  const { key, ctrlKey, metaKey, altKey } = event;
  if (key.toLowerCase() !== 'x' || ctrlKey || metaKey || altKey || event.defaultPrevented) return;
  if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
  const last = talk.shown.value.findLast(({ role }) => role === 'assistant');
  if (answer() !== null) close();
  else if (last !== undefined) open(last.id);
  else return;
  event.preventDefault();
}
