import type { ComponentType } from 'preact';
import { useEffect, useLayoutEffect } from 'preact/hooks';
import { backToField, toFieldIfFree } from '../ui/focus';
import { opened } from '../inside/looks';
import { canTalk } from '../model/makes';
import { t } from '../texts';
import { Composer } from './composer';
import { Greeting } from './greeting';
import { restoreSelection, sendEarly } from './early';
import { talk } from './state';
import { SystemPrompt } from './system-prompt';
import { Thread } from './thread';
import { AnswerXray } from './xray';

/** The focus goes to the field: the button goes away. */
function sendSuggestion(): void {
  talk.send();
  backToField();
}

/**
 * The conversation view: the messages, and below them the field. `Menu` draws what can be done with the whole conversation: what
 * is already drawn would keep the conversations in memory that it was part of.
 */
export function TalkView({ Menu }: { Menu: ComponentType }) {
  useLayoutEffect(() => {
    restoreSelection();
    toFieldIfFree();
    sendEarly(
      () => talk.sendable.value,
      () => talk.send(),
    );
  }, []);
  const usable = canTalk.value;
  useEffect(toFieldIfFree, [usable]);
  const empty = talk.shown.value.length === 0;
  const looks = opened.value !== null;
  // All in one component: a part of it that is not drawn with a new conversation would keep the old one in memory.
  return (
    <div class="talk-room" data-xray={looks}>
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
            {!empty && <Menu />}
          </div>
          <Thread />
        </div>
        <Composer />
      </section>
      <AnswerXray />
    </div>
  );
}
