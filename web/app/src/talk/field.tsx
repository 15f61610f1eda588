import type { Ref } from 'preact';
import { isComposing, touch } from '../ui/focus';
import { t } from '../texts';
import { draft } from './early';

interface Props {
  field?: Ref<HTMLTextAreaElement>;
  onKeyDown(event: KeyboardEvent): void;
  onPaste?: (event: ClipboardEvent) => void;
}

/** To the message's field: the button that was pressed goes away. */
export function focusField(): void {
  if (!touch.matches) document.getElementById('draft')?.focus({ preventScroll: true });
}

/** The message's field, before and after the conversation's script has come. */
export function MessageField({ field = null, onKeyDown, onPaste }: Props) {
  const { talk } = t.value;
  return (
    <textarea
      ref={field}
      id="draft"
      rows={1}
      aria-label={talk.field}
      placeholder={talk.placeholder}
      value={draft}
      onInput={(event) => {
        draft.value = event.currentTarget.value;
      }}
      onKeyDown={(event) => {
        if (!isComposing(event)) onKeyDown(event);
      }}
      {...(onPaste && { onPaste })}
    />
  );
}
