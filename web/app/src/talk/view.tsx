import { useEffect, useLayoutEffect } from 'preact/hooks';
import { backToField, toFieldIfFree } from '../page/focus';
import { canTalk } from '../page/view';
import { t } from '../texts';
import { Composer } from './composer';
import { Greeting } from './greeting';
import { restoreSelection, sendEarly } from './early';
import { send, sendable, shown } from './state';
import { AllOfIt } from './all';
import { SystemPrompt } from './system-prompt';
import { Thread } from './thread';

/** The focus goes to the field: the button goes away. */
function sendSuggestion(): void {
  send();
  backToField();
}

/** The conversation view: the messages, and below them the field. */
export function TalkView() {
  useLayoutEffect(() => {
    restoreSelection();
    toFieldIfFree();
    sendEarly(() => sendable.value, send);
  }, []);
  const usable = canTalk.value;
  useEffect(toFieldIfFree, [usable]);
  const empty = shown.value.length === 0;
  return (
    <section
      class="talk"
      data-empty={empty}
      data-bare={empty && usable !== true}
      aria-label={t.value.talk.heading}
    >
      <div class="talk-flow">
        {empty && <Greeting send={sendSuggestion} />}
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
