import { useEffect, useRef } from 'preact/hooks';
import { tokens } from '../texts/format';
import { ModelChip } from '../model/chip';
import { LoadLine } from '../model/load-line';
import { loading, model, resting, shownName } from '../model/state';
import { canWrite, does } from '../model/makes';
import { touch } from '../ui/focus';
import { command } from '../ui/keys';
import { chooseView } from '../ui/view';
import { busy, run, stop } from '../model/run';
import { SettingsButton } from '../panel/button';
import { progressInWords } from './bar';
import { Reading } from './reading';
import { MAX_PROMPT } from '../link/prompt';
import { writing } from './state';
import { writingTexts } from './texts';

/** Whether the browser itself makes a field as high as its text. */
const grows = CSS.supports('field-sizing', 'content');

export function Composer() {
  const words = writingTexts.value;
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        if (busy.value) {
          stop();
          return;
        }
        // A keyboard on the screen would cover the text.
        if (touch.matches) document.getElementById('prompt')?.blur();
        writing.write();
      }}
    >
      <div class="model-row">
        <ModelChip />
        <LoadLine />
      </div>
      <label class="label" for="prompt">
        {words.prompt}
      </label>
      <Field />
      <div class="actions">
        <button
          type="submit"
          class={busy.value ? 'primary stop' : 'primary'}
          disabled={run.value === 'stopping' || (!busy.value && !canWrite.value)}
        >
          {busy.value ? words.stop : words.write}
        </button>
        <div class="line">
          <Status />
        </div>
      </div>
      <SettingsButton />
    </form>
  );
}

function Field() {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const { current } = field;
    if (grows || current === null) return;
    // Its style sets the most.
    current.style.height = 'auto';
    current.style.height = `${current.scrollHeight + 2}px`;
  }, [writing.prompt.value]);
  return (
    <textarea
      id="prompt"
      ref={field}
      rows={2}
      maxLength={MAX_PROMPT}
      spellcheck={false}
      value={writing.prompt}
      onInput={(event) => {
        writing.prompt.value = event.currentTarget.value;
      }}
    />
  );
}

/** The present state, in one line beside the button. */
function Status() {
  const words = writingTexts.value;
  if (busy.value && !writing.writingNow.value) return <p class="state">{words.answering}</p>;
  switch (run.value) {
    case 'waiting':
      return <p class="state">{words.waiting}</p>;
    case 'reading':
      return resting.value ? <p class="state">{words.waitingForRest}</p> : <Reading />;
    case 'writing':
    case 'stopping':
      return <p class="state number">{progressInWords()}</p>;
    case 'idle':
      break;
  }
  if (model.value !== null && does.value === 'finds') {
    return (
      <p class="state">
        <span>
          {words.finds(shownName(model.value))}{' '}
          <button type="button" class="link" onClick={() => chooseView('find')}>
            {words.findWith}
          </button>
        </span>
      </p>
    );
  }
  if (model.value === null && loading.value === null) return <p class="state">{words.noModel}</p>;
  if (
    writing.written.value !== null &&
    writing.written.value.text === '' &&
    writing.written.value.finish !== null
  )
    return (
      <p class="state">{words.ended(words.endings[writing.written.value.finish], tokens(0))}</p>
    );
  const { enter, writes, escape, stops } = words.keys;
  return (
    <p class="state">
      <span class="keys">
        <kbd>{command()}</kbd> <kbd>{enter}</kbd>
        {writes}
        <kbd>{escape}</kbd>
        {stops}
      </span>
      <span class="keys-touch">{words.ready}</span>
    </p>
  );
}
