import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { t } from '../texts';

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
  const asking = useSignal(false);
  const button = useRef<HTMLButtonElement>(null);
  const no = useRef<HTMLButtonElement>(null);
  const shown = useRef(false);
  const words = t.value.model.kept;
  // The button that was pressed has gone: the focus goes to the one that does no harm, and back.
  useLayoutEffect(() => {
    if (asking.value) no.current?.focus({ preventScroll: true });
    else if (shown.current) button.current?.focus({ preventScroll: true });
    shown.current = asking.value;
  }, [asking.value]);
  if (!asking.value) {
    return (
      <div class="kept-buttons">
        {others}
        <button
          type="button"
          class="quiet"
          ref={button}
          aria-label={of === undefined ? undefined : words.what(label, of)}
          onClick={async () => {
            asking.value = (await may?.()) ?? true;
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
          asking.value = false;
          if (removed) document.getElementById('kept-heading')?.focus({ preventScroll: true });
        }}
      >
        {label}
      </button>
      <button
        type="button"
        class="quiet"
        ref={no}
        onClick={() => {
          asking.value = false;
        }}
      >
        {of === undefined ? words.keepThem : words.keepIt}
      </button>
    </div>
  );
}
