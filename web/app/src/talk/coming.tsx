import { useEffect } from 'preact/hooks';
import { ModelChip } from '../model/chip';
import { toFieldIfFree, touch } from '../ui/focus';
import { Icon, IconButton } from '../ui/icons';
import { t } from '../texts';
import { draft, early } from './early';
import { MessageField } from './field';
import { Greeting } from './greeting';
import { remembered } from './remembered';

/** The conversation view before its script has come: everything is where it will be, so that nothing moves then. */
export function TalkComing() {
  const { talk } = t.value;
  useEffect(toFieldIfFree, []);
  const send = (): void => {
    if (draft.value.trim() !== '') early.value = draft.value.trim();
  };
  return (
    <section
      class="talk"
      data-empty
      data-bare={remembered() === null}
      aria-label={talk.heading}
      aria-busy="true"
    >
      <div class="talk-flow">
        {remembered() === null && <Greeting />}
        <div class="talk-head">
          <details class="system" inert>
            <summary>{talk.system}</summary>
          </details>
        </div>
        <div class="thread" />
      </div>
      <div class="field-place">
        <div class="water" />
        <div class="field-inner">
          <form
            class="talk-field"
            onSubmit={(event) => {
              event.preventDefault();
              send();
            }}
          >
            <MessageField
              onKeyDown={(event) => {
                if (event.key !== 'Enter' || event.shiftKey || touch.matches) return;
                event.preventDefault();
                send();
              }}
            />
            <div class="field-row">
              <span inert>
                <IconButton icon="attach" label={talk.attach} onClick={() => undefined} />
              </span>
              <ModelChip />
              <p class="field-facts" />
              <button
                type="submit"
                class="send"
                disabled={draft.value.trim() === ''}
                aria-label={talk.send}
              >
                <Icon name="up" />
              </button>
            </div>
          </form>
        </div>
      </div>
    </section>
  );
}
