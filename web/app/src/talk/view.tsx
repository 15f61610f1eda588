import { t } from '../texts';
import { Composer } from './composer';
import { Greeting } from './greeting';
import { shown } from './state';
import { AllOfIt } from './all';
import { SystemPrompt } from './system-prompt';
import { Thread } from './thread';

/** The conversation view: the messages, and below them the field. */
export function TalkView() {
  const empty = shown.value.length === 0;
  return (
    <section class="talk" data-empty={empty} aria-label={t.value.talk.heading}>
      <div class="talk-flow">
        {empty && <Greeting />}
        {!empty && <h2 class="sr-only">{t.value.talk.heading}</h2>}
        <div class="talk-head">
          <SystemPrompt />
          {!empty && <AllOfIt />}
        </div>
        <Thread />
      </div>
      <Composer />
    </section>
  );
}
