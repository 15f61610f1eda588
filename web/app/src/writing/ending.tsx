import { useSignal, type Signal } from '@preact/signals';
import { announcement } from '../ui/announce';
import { copy as toClipboard } from '../ui/clipboard';
import { tokens } from '../texts/format';
import { canWrite } from '../model/makes';
import { busy } from '../model/run';
import { settings } from '../settings/settings';
import { t } from '../texts';
import { shareOf } from './share';
import type { Written } from './kept-texts';
import { writing } from './state';
import { writingTexts } from './texts';

/** How the text ended, and what can be done with it now. */
export function Ending() {
  const so = writing.written.value;
  const said = useSignal<{ of: Written; text: string } | null>(null);
  if (so === null || so.text === '') return null;
  const words = writingTexts.value;
  return (
    <div class="ending">
      <p class="state how">
        <How {...so} />
        <KeepSeed seed={so.seed} />
      </p>
      <div class="ending-buttons">
        {writing.further.value !== null && (
          <button
            type="button"
            class="secondary"
            disabled={!canWrite.value || busy.value}
            onClick={(event) => {
              leave(event.currentTarget);
              writing.goOn();
            }}
          >
            {words.continue}
          </button>
        )}
        <button
          type="button"
          class="secondary"
          id="again"
          disabled={!canWrite.value || busy.value}
          onClick={(event) => {
            leave(event.currentTarget);
            writing.again();
          }}
        >
          {words.again}
        </button>
        <button type="button" class="quiet" onClick={() => void copy(so, false, said)}>
          {words.copy}
        </button>
        <button type="button" class="quiet" onClick={() => void copy(so, true, said)}>
          {words.copyLink}
        </button>
        <p class="said">{said.value?.of === so ? said.value.text : ''}</p>
      </div>
    </div>
  );
}

/** A button goes away with what it does: the focus moves to where that can be stopped. */
function leave(button: HTMLElement): void {
  if (document.activeElement !== button) return;
  document.querySelector<HTMLElement>('.composer .primary')?.focus({ preventScroll: true });
}

function How(so: Written) {
  const { finish, seed, by } = so;
  const words = writingTexts.value;
  return (
    <span>
      {words.ended(words.endings[finish ?? 'failed'], tokens(so.tokens))}
      {seed !== null && (
        <>
          , {words.seed} <span class="number">{seed}</span>
        </>
      )}
      {by !== null && !writing.isByModel(so) && <>, {words.writtenBy(by.name)}</>}
    </span>
  );
}

function KeepSeed({ seed }: Pick<Written, 'seed'>) {
  if (seed === null || settings.value.seed !== null) return null;
  const { keepSeed, seedKept } = writingTexts.value;
  return (
    <button
      type="button"
      class="link"
      onClick={() => {
        settings.value = { ...settings.value, seed };
        announcement.value = seedKept;
        // This button goes away: move the focus to what the seed is for.
        document.getElementById('again')?.focus({ preventScroll: true });
      }}
    >
      {keepSeed}
    </button>
  );
}

/** Copies the text, or a link that writes it again. `said`: what the reader is told. */
async function copy(
  so: Written,
  link: boolean,
  said: Signal<{ of: Written; text: string } | null>,
): Promise<void> {
  const words = writingTexts.value;
  const tell = (text: string): void => {
    said.value = { of: so, text };
    announcement.value = text;
  };
  let copied = so.prompt + so.text;
  let done: string = words.copied;
  if (link) {
    const { fragment, without } = shareOf(so);
    if (fragment === null) {
      tell(without);
      return;
    }
    copied = new URL(`#${fragment}`, location.href).href;
    done = without === '' ? words.linkCopied : `${words.linkCopied}. ${without}`;
  }
  tell((await toClipboard(copied)) ? done : t.value.page.notCopied);
}
