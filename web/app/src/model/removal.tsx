import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { isAsking, useQuestion } from '../ui/question';
import { keptTexts } from './kept-texts';

interface RemovalProps {
  label: string;
  /** The model's name, for screen readers. */
  of?: string;
  question: string;
  /** Whether to ask at all. */
  may?: () => Promise<boolean>;
  remove(): Promise<boolean>;
  /** The buttons in front of this one. */
  others?: ComponentChildren;
}

/** A button that removes, and asks first. */
export function Removal({ label, of, question, may, remove, others }: RemovalProps) {
  const { asking, ask, close } = useQuestion();
  const button = useRef<HTMLButtonElement>(null);
  const no = useRef<HTMLButtonElement>(null);
  const shown = useRef(false);
  const words = keptTexts.value;
  // The button that was pressed has gone: the focus goes to the one that does no harm, and back.
  useLayoutEffect(() => {
    if (asking) no.current?.focus({ preventScroll: true });
    else if (shown.current && !isAsking()) button.current?.focus({ preventScroll: true });
    shown.current = asking;
  }, [asking]);
  if (!asking) {
    return (
      <div class="kept-buttons">
        {others}
        <button
          type="button"
          class="quiet"
          ref={button}
          aria-label={of === undefined ? undefined : words.what(label, of)}
          onClick={async () => {
            if ((await may?.()) ?? true) ask();
          }}
        >
          {label}
        </button>
      </div>
    );
  }
  return (
    <div class="kept-buttons" role="group" aria-label={question}>
      <p class="kept-question">{question}</p>
      <button
        type="button"
        class="quiet"
        onClick={async () => {
          const removed = await remove();
          close();
          if (removed) document.getElementById('kept-heading')?.focus({ preventScroll: true });
        }}
      >
        {label}
      </button>
      <button type="button" class="quiet" ref={no} onClick={close}>
        {of === undefined ? words.keepThem : words.keepIt}
      </button>
    </div>
  );
}
