import { useEffect } from 'preact/hooks';
import { fetchShelfFile } from '../model/shelf-file';
import { canTalk, canWrite } from '../model/makes';
import { t } from '../texts';
import { With } from '../ui/later';
import { draft, early } from './early';
import { cardParts } from './card-parts';

/** What an empty conversation begins with. `send`: sends what is in the field. */
export function Greeting({ send }: { send?: (() => void) | undefined }) {
  const { talk } = t.value;
  const chats = canTalk.value === true;
  useEffect(() => {
    if (chats) return;
    // Both at the same time
    void fetchShelfFile().catch(() => '');
    void cardParts.fetch().then((card) => card?.fetchShelf());
  }, [chats]);
  return (
    <div class="greeting">
      <h2>{talk.greeting}</h2>
      <p>{talk.greetingNote}</p>
      {chats ? (
        <Suggestions send={send} />
      ) : (
        <With of={cardParts} before={<section class="first-model" />}>
          {({ FirstModel }) => <FirstModel />}
        </With>
      )}
    </div>
  );
}

/** First questions that suit a small model. */
function Suggestions({ send }: { send: (() => void) | undefined }) {
  const { suggestions, suggestionsLabel } = t.value.talk;
  return (
    <ul class="suggestions" aria-label={suggestionsLabel}>
      {suggestions.map((text) => (
        <li key={text}>
          <button
            type="button"
            class="suggestion"
            disabled={!canWrite.value}
            onClick={() => {
              draft.value = text;
              if (send === undefined) early.value = text;
              else send();
            }}
          >
            {text}
          </button>
        </li>
      ))}
    </ul>
  );
}
