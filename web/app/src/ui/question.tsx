import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

/** The question that is open: one at a time, so that an answer can't be given to the wrong one. */
const asked = signal<object | null>(null);

/** Whether any question is open. */
export function isAsking(): boolean {
  return asked.peek() !== null;
}

/** A question of a component's own: whether it is open, and what opens and closes it. Another one closes it as well. */
export function useQuestion(): { asking: boolean; ask: () => void; close: () => void } {
  const mine = useRef({}).current;
  const close = (): void => {
    if (asked.peek() === mine) asked.value = null;
  };
  useEffect(() => close, []);
  return { asking: asked.value === mine, ask: () => void (asked.value = mine), close };
}

interface Props {
  text: string;
  yes: string;
  no: string;
  onYes: () => void;
  /** Also for Escape. */
  onNo: () => void;
}

/** Asks before something is lost. The focus is on the answer that loses nothing. */
export function Question({ text, yes, no, onYes, onNo }: Props) {
  const keep = useRef<HTMLButtonElement>(null);
  useEffect(() => keep.current?.focus(), []);
  return (
    <div
      class="question"
      role="alertdialog"
      aria-label={text}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.preventDefault();
        event.stopPropagation();
        onNo();
      }}
    >
      <p>{text}</p>
      <button type="button" class="quiet" onClick={onYes}>
        {yes}
      </button>
      <button type="button" class="quiet" ref={keep} onClick={onNo}>
        {no}
      </button>
    </div>
  );
}
