import { busy } from '../model/run';
import { touch } from '../ui/focus';
import { MOST_QUESTION, ask, asking, held, question } from './state';
import { toHit } from './hits';
import { findTexts } from './texts';

/** The question's field. From it, the arrow keys lead to the passages. */
export function Ask() {
  const words = findTexts.value;
  return (
    <form
      class="ask"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        // A keyboard on the screen would cover the passages.
        if (touch.matches) document.getElementById('question')?.blur();
        void ask();
      }}
    >
      <label class="label" for="question">
        {words.question}
      </label>
      <div class="ask-row">
        <input
          id="question"
          type="search"
          autocomplete="off"
          enterkeyhint="search"
          maxLength={MOST_QUESTION}
          value={question}
          onInput={(event) => {
            question.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown' && toHit(0)) event.preventDefault();
          }}
        />
        <button
          type="submit"
          class="primary"
          disabled={asking.value || held.value || question.value.trim() === ''}
        >
          {words.find}
        </button>
      </div>
      {held.value && busy.value && <p class="hint">{words.held}</p>}
    </form>
  );
}
