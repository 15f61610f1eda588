import { useSignal } from '@preact/signals';
import { announcement } from './announce';
import { copy } from './clipboard';
import { t } from '../texts';
import { IconButton } from './icons';

/** Milliseconds for which the button says that it has copied. */
const SAID_MS = 2000;

/** Copies what `text` gives, and says so. */
export function CopyButton({ label, text }: { label: string; text: () => string }) {
  const done = useSignal(false);
  return (
    <IconButton
      icon={done.value ? 'check' : 'copy'}
      label={done.value ? t.value.page.copied : label}
      onClick={() => {
        void copy(text()).then((copied) => {
          announcement.value = copied ? t.peek().page.copied : t.peek().page.notCopied;
          done.value = copied;
          setTimeout(() => {
            done.value = false;
          }, SAID_MS);
        });
      }}
    />
  );
}
