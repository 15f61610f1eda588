import { useSignalEffect, type Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId, useRef } from 'preact/hooks';
import { t } from '../texts';

interface Props {
  /** Opens and closes it; Escape, a press beside it and its button close it as well. */
  open: Signal<boolean>;
  title: string;
  /** 'side': at the right edge; on a phone every dialog is a sheet at the lower edge. */
  kind?: 'side' | 'middle';
  children: ComponentChildren;
}

/** A modal dialog with a heading and a button that closes it. The focus goes back to where it was. */
export function Dialog({ open, title, kind = 'middle', children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  /** Whether the next event of a closing is of one that `open` asked for. */
  const closedHere = useRef(false);
  const id = useId();
  useSignalEffect(() => {
    const element = dialog.current;
    if (element === null) return;
    if (open.value && !element.open) element.showModal();
    else if (!open.value && element.open) {
      closedHere.current = true;
      element.close();
    }
  });
  return (
    <dialog
      ref={dialog}
      class={`dialog ${kind}`}
      aria-labelledby={id}
      onClose={() => {
        // It comes a task after the closing, when a press may have asked for the dialog again.
        if (!closedHere.current) open.value = false;
        closedHere.current = false;
      }}
      onPointerDown={(event) => {
        // The dialog's own box is filled by its content: only a press beside it hits the element itself.
        if (event.target === dialog.current) open.value = false;
      }}
    >
      <div class="dialog-box">
        <header class="dialog-head">
          <h2 id={id}>{title}</h2>
          <button
            type="button"
            class="icon-button"
            aria-label={t.value.page.close}
            onClick={() => {
              open.value = false;
            }}
          >
            <svg viewBox="0 0 24 24" aria-hidden="true">
              <path d="M6 6l12 12M18 6L6 18" />
            </svg>
          </button>
        </header>
        {open.value && <div class="dialog-body">{children}</div>}
      </div>
    </dialog>
  );
}
