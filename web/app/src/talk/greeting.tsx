import { useEffect } from 'preact/hooks';
import { fetchShelf } from '../model/shelf';
import { canTalk } from '../page/view';
import { canWrite } from '../model/makes';
import { t } from '../texts';
import { draft, early } from './early';
import { FirstModel } from './first-model';

/** What an empty conversation begins with. `send`: sends what is in the field. */
export function Greeting({ send }: { send?: () => void }) {
  const { talk } = t.value;
  const chats = canTalk.value === true;
  useEffect(() => {
    if (!chats) void fetchShelf();
  }, [chats]);
  return (
    <div class="greeting">
      <h2>{talk.greeting}</h2>
      <p>{talk.greetingNote}</p>
      {chats ? <Suggestions {...(send === undefined ? {} : { send })} /> : <FirstModel />}
    </div>
  );
}

/** First questions that suit a small model. */
function Suggestions({ send }: { send?: () => void }) {
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
