// The kinds of fields that the settings are made of.
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { count } from '../texts/format';
import { roomTexts } from './texts';
import {
  RANGES,
  change,
  nearestSetting,
  parseSetting,
  settings,
  type NumberName,
} from '../settings/settings';

/** Sets a number as it is typed: the nearest that is allowed; nothing where it may be left out. */
export function set(name: NumberName, text: string): void {
  if (text === '' && RANGES[name].optional) {
    change({ [name]: null });
    return;
  }
  const value = nearestSetting(name, text);
  if (value !== undefined) change({ [name]: value });
}

/** What is said below a field; the field names it as its description. */
export function Hint({ id, children }: { id: string; children: ComponentChildren }) {
  return (
    <p class="hint" id={id}>
      {children}
    </p>
  );
}

interface FieldProps {
  name: NumberName;
  label: string;
  /** What it does. */
  children: ComponentChildren;
}

interface NumberProps extends FieldProps {
  placeholder?: string | undefined;
  /** Beside the label */
  more?: ComponentChildren;
}

/** A whole number. One that can't be used is marked, and the nearest that can be is in force. */
export function NumberField({ name, label, placeholder, more, children }: NumberProps) {
  const { min, max, step, optional } = RANGES[name];
  const value = settings.value[name];
  /** The typed text while it is not a valid value, else null. */
  const wrong = useSignal<string | null>(null);
  const hint = `set-${name}-hint`;
  return (
    <div class="field">
      <div class="field-head">
        <label for={`set-${name}`} id={`set-${name}-label`}>
          {label}
        </label>
        {more}
      </div>
      <input
        id={`set-${name}`}
        type="number"
        inputMode="numeric"
        min={min}
        max={max}
        step={step}
        required={!optional}
        placeholder={placeholder}
        value={wrong.value ?? value ?? ''}
        aria-invalid={wrong.value !== null}
        aria-describedby={wrong.value === null ? hint : `${hint} set-${name}-wrong`}
        onInput={(event) => {
          const { value: text, validity } = event.currentTarget;
          const empty = text === '' && optional && !validity.badInput;
          wrong.value = empty || parseSetting(name, text) !== undefined ? null : text;
          if (!validity.badInput) set(name, text);
        }}
        onBlur={(event) => {
          // Replaces an invalid text by the setting in force, which is the nearest valid number.
          wrong.value = null;
          event.currentTarget.value = String(settings.value[name] ?? '');
        }}
      />
      {wrong.value !== null && (
        <p class="hint wrong" id={`set-${name}-wrong`} role="alert">
          {roomTexts.value.outOfRange(count(min), count(max))}
        </p>
      )}
      <Hint id={hint}>{children}</Hint>
    </div>
  );
}

interface ChoiceProps<T extends string> {
  /** The name of the group of radio buttons. */
  name: string;
  label: string;
  choices: readonly { value: T; label: string; lang?: string }[];
  value: T;
  onChoose: (value: T) => void;
  /** What the chosen one means. */
  children?: ComponentChildren;
}

/** One of a few, side by side; more than three in as many rows as they need. */
export function Choice<T extends string>(props: ChoiceProps<T>) {
  const { name, label, choices, value, onChoose, children } = props;
  const hint = children === undefined ? undefined : `set-${name}-hint`;
  return (
    <fieldset class="field choice" aria-describedby={hint}>
      <legend>{label}</legend>
      <div class={choices.length > 3 ? 'choice-row many' : 'choice-row'}>
        {choices.map((choice) => (
          <label key={choice.value} lang={choice.lang}>
            <input
              type="radio"
              name={name}
              value={choice.value}
              checked={choice.value === value}
              onChange={() => onChoose(choice.value)}
            />
            <span>{choice.label}</span>
          </label>
        ))}
      </div>
      {hint !== undefined && <Hint id={hint}>{children}</Hint>}
    </fieldset>
  );
}
