import { useEffect } from 'preact/hooks';
import type { Message } from '../history/tree';
import { nextName } from '../model/chip';
import { nameOf } from '../model/name';
import { openSheet } from '../model/open';
import { arriving, model, open, paused, shownName, sought } from '../model/state';
import { backToField } from '../ui/focus';
import { t } from '../texts';
import { tellsStories } from './ask';
import { cardParts } from './card-parts';
import { talk } from './state';
import { talkTexts } from './texts';

/** Below the last message: that nobody has answered it yet, or only a model that tells stories; and what can answer it. */
export function NextAnswer({ last }: { last: Message | undefined }) {
  const asked = last?.role === 'user';
  const stories = tellsStories(model.value);
  const coming = sought.value !== null || arriving.value;
  const put = coming ? null : paused.value;
  const offers = stories && !coming && put === null;
  useEffect(() => {
    if (offers) void cardParts.fetch().then((all) => all?.fetchShelf());
  }, [offers]);
  if (last === undefined || talk.answering.value !== null) return null;
  if (!asked && (!stories || last.role !== 'assistant')) return null;
  const { chooseModel } = t.value.talk;
  const words = talkTexts.value;
  const card = offers ? cardParts.all.value : null;
  const offered = card?.front.value ?? null;
  const act = (): void => {
    if (asked) talk.answer();
    else talk.again(last.id);
    backToField();
  };
  return (
    <div class="next-answer">
      <p>
        {[
          asked && words.unanswered,
          stories && model.value !== null && words.onlyStories(shownName(model.value)),
          offered !== null && words.couldAnswer(offered.model.name),
        ]
          .filter(Boolean)
          .join(' ')}
      </p>
      {card !== null && offered !== null && <card.Terms {...offered} />}
      <div class="buttons">
        {put !== null && (
          <Act
            label={words.goOnAndAnswer(nameOf(put.source))}
            act={() => {
              void open(put.source);
              act();
            }}
          />
        )}
        {card !== null && offered !== null && <card.OpenButton of={offered} primary then={act} />}
        {card !== null && card.shelf.value !== null && offered === null && (
          <Act label={chooseModel} act={() => openSheet()} />
        )}
        {(asked || coming) && <Act label={labelOf(coming, stories)} act={act} />}
      </div>
    </div>
  );
}

/** What answers, and when. */
function labelOf(coming: boolean, stories: boolean): string {
  const words = talkTexts.value;
  const current = model.value;
  const next = coming ? nextName() : null;
  if (next !== null) return words.answerWhenHere(next);
  if (current === null) return words.answer;
  return (stories ? words.tellStory : words.answerWith)(shownName(current));
}

function Act({ label, act }: { label: string; act(): void }) {
  return (
    <button type="button" class="secondary" disabled={!talk.sendable.value} onClick={act}>
      {label}
    </button>
  );
}
