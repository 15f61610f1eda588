// How long a text may be and where it stops, its seed, and the reasoning before an answer.
import { useSignal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { tokens } from '../texts/format';
import { view } from '../ui/view';
import { roomTexts } from './texts';
import { Choice, Hint, NumberField } from './fields';
import { REASONING, TEXT_LENGTH, change, settings } from '../settings/settings';
import { MAX_STOP, MAX_STOPS, isStop, readStop, showStop, type Stops } from '../settings/stops';

export function Extent() {
  const texts = roomTexts.value;
  return (
    <>
      <div class="field-pair">
        <NumberField name="length" label={texts.length} placeholder={texts.automatic}>
          {texts.lengthHint(tokens(TEXT_LENGTH))}
        </NumberField>
        <NumberField name="seed" label={texts.seed} placeholder={texts.random}>
          {texts.seedHint}
        </NumberField>
      </div>
      <StopFields />
      {view.value === 'talk' && <ReasoningFields />}
    </>
  );
}

function ReasoningFields() {
  const texts = roomTexts.value;
  const { reasoning } = settings.value;
  return (
    <>
      <Choice
        name="reasoning"
        label={texts.reasoning}
        choices={REASONING.map((value) => ({ value, label: texts.reasoningName[value] }))}
        value={reasoning}
        onChoose={(value) => change({ reasoning: value })}
      >
        {texts.reasoningHint[reasoning]}
      </Choice>
      <NumberField
        name="reasoningBudget"
        label={texts.reasoningBudget}
        placeholder={texts.unlimited}
      >
        {texts.reasoningBudgetHint}
      </NumberField>
    </>
  );
}

/** The fields' texts as they are typed: those that can be used are the setting. */
function usable(rows: readonly string[]): Stops {
  return rows.map(readStop).filter(isStop);
}

/** Up to four fields; there is always one. */
function StopFields() {
  const texts = roomTexts.value;
  const { stop } = settings.value;
  const rows = useSignal<readonly string[]>(stop.map(showStop));
  const list = useRef<HTMLDivElement>(null);
  // Set from elsewhere, such as by a link: what is typed gives way.
  const same = (a: Stops, b: Stops): boolean =>
    a.length === b.length && a.every((x, i) => x === b[i]);
  const shown = same(usable(rows.value), stop) ? rows.value : stop.map(showStop);
  const fields = shown.length === 0 ? [''] : shown;

  const take = (next: readonly string[]): void => {
    rows.value = next;
    const stops = usable(next);
    if (!same(stops, stop)) change({ stop: stops });
  };
  /** When the fields have changed */
  const focus = (index: number): void => {
    requestAnimationFrame(() => list.current?.querySelectorAll('input')[index]?.focus());
  };

  return (
    <fieldset class="field stops" aria-describedby="set-stop-hint">
      <legend>{texts.stops}</legend>
      <div class="stop-list" ref={list}>
        {fields.map((text, i) => (
          // The fields have no identity but their place.
          <StopField
            key={i}
            index={i}
            text={text}
            onInput={(typed) => take(fields.map((old, at) => (at === i ? typed : old)))}
            onRemove={
              fields.length === 1 && text === ''
                ? null
                : () => {
                    take(fields.filter((_, at) => at !== i));
                    focus(Math.max(0, i - 1));
                  }
            }
          />
        ))}
      </div>
      <Hint id="set-stop-hint">{texts.stopsHint(MAX_STOPS)}</Hint>
      {fields.length < MAX_STOPS && fields.every((text) => text !== '') && (
        <button
          type="button"
          class="quiet"
          onClick={() => {
            take([...fields, '']);
            focus(fields.length);
          }}
        >
          {texts.addStop}
        </button>
      )}
    </fieldset>
  );
}

interface StopFieldProps {
  index: number;
  text: string;
  onInput: (text: string) => void;
  onRemove: (() => void) | null;
}

function StopField({ index, text, onInput, onRemove }: StopFieldProps) {
  const texts = roomTexts.value;
  const wrong = text !== '' && !isStop(readStop(text));
  const id = `set-stop-${index}`;
  return (
    <div class="stop-row">
      <input
        type="text"
        aria-label={texts.stop(index + 1)}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        dir="auto"
        value={text}
        aria-invalid={wrong}
        aria-describedby={wrong ? `${id}-wrong` : 'set-stop-hint'}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {onRemove !== null && (
        <button
          type="button"
          class="icon-button"
          aria-label={texts.removeStop(index + 1)}
          onClick={onRemove}
        >
          <svg viewBox="0 0 24 24" aria-hidden="true">
            <path d="M6 6l12 12M18 6L6 18" />
          </svg>
        </button>
      )}
      {wrong && (
        <p class="hint wrong" id={`${id}-wrong`} role="alert">
          {texts.wrongStop(MAX_STOP)}
        </p>
      )}
    </div>
  );
}
