import { useEffect, useRef } from 'preact/hooks';
import { digits } from '../texts/format';
import { ModelChip } from '../model/chip';
import { LoadLine } from '../model/load-line';
import { CopyButton } from '../ui/copy-button';
import { focusSoon } from '../ui/focus';
import { busy, run, stop } from '../model/run';
import { MASK, parts, type Choice } from './masks-controller';
import { masksTexts } from './masks-texts';
import { MAX_PROMPT, prompt } from '../link/prompt';
import { masks } from './state';
import { writingTexts } from './texts';

/** The writing view of a model that fills in masked words: a text with masks, and words to choose from. */
export function Masks() {
  const words = masksTexts.value;
  const field = useRef<HTMLTextAreaElement>(null);
  const masked = parts(prompt.value).length > 1;
  const shown = masks.filling.value?.text === prompt.value ? masks.filling.value : null;
  const insert = (): void => {
    const { current } = field;
    if (current === null) return;
    const { selectionStart: from, selectionEnd: to } = current;
    const text = prompt.value;
    prompt.value = (text.slice(0, from) + MASK + text.slice(to)).slice(0, MAX_PROMPT);
    requestAnimationFrame(() => {
      current.focus();
      current.setSelectionRange(from + MASK.length, from + MASK.length);
    });
  };
  return (
    <>
      <form
        class="composer"
        onSubmit={(event) => {
          event.preventDefault();
          if (busy.value) stop();
          else masks.fill();
        }}
      >
        <div class="model-row">
          <ModelChip />
          <LoadLine />
        </div>
        <label class="label" for="prompt">
          {words.text}
        </label>
        <textarea
          id="prompt"
          ref={field}
          rows={2}
          maxLength={MAX_PROMPT}
          spellcheck={false}
          value={prompt}
          onInput={(event) => {
            prompt.value = event.currentTarget.value;
            masks.before.value = [];
          }}
        />
        <div class="actions masks-actions">
          <button
            type="submit"
            class={busy.value ? 'primary stop' : 'primary'}
            disabled={busy.value ? run.value === 'stopping' : !masked}
          >
            {busy.value ? writingTexts.value.stop : words.fill}
          </button>
          <button type="button" class="secondary" onClick={insert}>
            {words.insert(MASK)}
          </button>
          {masks.before.value.length > 0 && (
            <button
              type="button"
              class="quiet"
              disabled={busy.value}
              onClick={() => {
                focusSoon('.word-choice', '#prompt');
                masks.takeBack();
              }}
            >
              {words.back}
            </button>
          )}
        </div>
      </form>
      <section class="text masks" aria-labelledby="masks-heading">
        <div class="water" aria-hidden="true" />
        <h2 class="label" id="masks-heading" tabIndex={-1}>
          {words.heading}
        </h2>
        {shown !== null ? (
          <Filled text={shown.text} words={shown.masks} />
        ) : masked || masks.before.value.length > 0 ? (
          <Whole masked={masked} />
        ) : (
          <Examples />
        )}
      </section>
    </>
  );
}

/** The text whose masks are not filled in yet, or all are. */
function Whole({ masked }: { masked: boolean }) {
  const words = masksTexts.value;
  return (
    <>
      <p class="reading">{prompt.value}</p>
      {masked ? (
        <p class="note">{busy.value ? words.looking : words.press}</p>
      ) : (
        <div class="masks-done">
          <p class="note">{words.done}</p>
          <CopyButton label={writingTexts.value.copy} text={() => prompt.peek()} />
        </div>
      )}
    </>
  );
}

function Examples() {
  const words = masksTexts.value;
  return (
    <div class="blank">
      <p class="empty">{words.empty(MASK)}</p>
      <p class="label" id="examples-label">
        {writingTexts.value.openings}
      </p>
      <ul class="openings" aria-labelledby="examples-label">
        {masksTexts.value.examples.map((text) => (
          <li key={text}>
            <button
              type="button"
              class="opening"
              disabled={busy.value}
              onClick={() => {
                prompt.value = text;
                // This button goes away.
                document.querySelector<HTMLElement>('.composer .primary')?.focus({
                  preventScroll: true,
                });
                masks.fill();
              }}
            >
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The text with a number in the place of each mask, and the words for each. */
function Filled({ text, words: found }: { text: string; words: Choice[][] }) {
  const words = masksTexts.value;
  const heading = useRef<HTMLDivElement>(null);
  // A word was chosen: the focus goes to the words for the next mask.
  useEffect(() => {
    const { activeElement } = document;
    if (activeElement === null || activeElement === document.body)
      heading.current?.querySelector<HTMLElement>('.word-choice')?.focus({ preventScroll: true });
  }, [text]);
  const several = found.length > 1;
  return (
    <div ref={heading}>
      <p class="reading">
        {parts(text).map((part, i) => (
          <span key={i}>
            {part}
            {i < found.length && (
              <span class="mask">{several ? words.numbered(i + 1) : words.one}</span>
            )}
          </span>
        ))}
      </p>
      {found.map((choices, mask) => (
        <div class="mask-choices" key={mask}>
          <h3 class="label" id={`mask-${mask}`}>
            {several ? words.wordsFor(mask + 1) : words.wordsForOne}
          </h3>
          <ul aria-labelledby={`mask-${mask}`}>
            {choices.map((choice) => (
              <li key={`${choice.word} ${choice.joins}`}>
                <button
                  type="button"
                  class="word-choice"
                  onClick={() => masks.choose(mask, choice)}
                >
                  <bdi class="word-text">{(choice.joins ? '…' : '') + choice.word}</bdi>
                  <span class="word-share">{share(choice.probability)}</span>
                  <span class="word-bar" aria-hidden="true">
                    <span style={{ width: `${Math.round(100 * choice.probability)}%` }} />
                  </span>
                </button>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </div>
  );
}

function share(probability: number): string {
  return probability < 0.001 ? `< ${digits(0.1)} %` : `${digits(100 * probability)} %`;
}
