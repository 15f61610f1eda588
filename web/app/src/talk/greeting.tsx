import { openSheet } from '../model/open';
import { canTalk } from '../page/view';
import { t } from '../texts';

/** What an empty conversation begins with. */
export function Greeting() {
  const { talk } = t.value;
  return (
    <div class="greeting">
      <h2>{talk.greeting}</h2>
      <p>{canTalk.value === false ? talk.cantTalk : talk.greetingNote}</p>
      {canTalk.value === false && (
        <button type="button" class="secondary" onClick={() => openSheet()}>
          {talk.chooseModel}
        </button>
      )}
    </div>
  );
}
