import type { Ref } from 'preact';
import { t } from '../texts';
import { draft } from './early';

interface Props {
  field?: Ref<HTMLTextAreaElement>;
  onKeyDown(event: KeyboardEvent): void;
  onPaste?(event: ClipboardEvent): void;
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
        // A key that ends a composition (of Chinese, for example) is not meant for the form. Safari says that of it by this code.
        if (!event.isComposing && event.keyCode !== 229) onKeyDown(event);
      }}
      {...(onPaste && { onPaste })}
    />
  );
}
