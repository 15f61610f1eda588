import { ModelChip } from '../model/chip';
import { Icon, IconButton } from '../page/icons';
import { t } from '../texts';
import { Greeting } from './greeting';
import { remembered } from './remembered';

/** The conversation view before its script has come: everything is where it will be, so that nothing moves then. */
export function TalkComing() {
  const { talk } = t.value;
  return (
    <section class="talk" data-empty aria-label={talk.heading} aria-busy="true">
      <div class="talk-flow">
        {remembered() === null && <Greeting />}
        <div class="talk-head">
          <details class="system" inert>
            <summary>{talk.system}</summary>
          </details>
        </div>
        <div class="thread" />
      </div>
      <div class="field-place" inert>
        <div class="water" />
        <div class="field-inner">
          <div class="talk-field">
            <textarea rows={1} aria-label={talk.field} placeholder={talk.placeholder} />
            <div class="field-row">
              <IconButton icon="attach" label={talk.attach} onClick={() => undefined} />
              <ModelChip />
              <p class="field-facts" />
              <button type="button" class="send" disabled aria-label={talk.send}>
                <Icon name="up" />
              </button>
            </div>
          </div>
        </div>
      </div>
    </section>
  );
}
