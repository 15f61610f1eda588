import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { count, tokens } from '../format';
import { DEFAULTS, RANGES, nearestSetting, parseSetting, type SettingName } from '../settings';
import { cores, model, open, settings, sharing, stale } from '../state';
import { LoadProgress } from './load-progress';

function set(name: SettingName, text: string): void {
  if (text === '' && RANGES[name].optional) {
    settings.value = { ...settings.value, [name]: null };
    return;
  }
  const value = nearestSetting(name, text);
  if (value !== undefined) settings.value = { ...settings.value, [name]: value };
}

/** The main settings, for the closed panel. */
function summary(): string {
  const { temperature, length, seed } = settings.value;
  const parts = [`temperature ${temperature}`, `up to ${tokens(length)}`];
  if (seed !== null) parts.push(`seed ${seed}`);
  return parts.join(', ');
}

export function SettingsPanel() {
  const changed = Object.entries(DEFAULTS).some(
    ([name, value]) => settings.value[name as SettingName] !== value,
  );
  return (
    <details class="settings">
      <summary>
        <span class="summary-title">Settings</span>
        <span class="summary-text">{summary()}</span>
      </summary>
      <div class="fields">
        <Slider name="temperature" label="Temperature">
          0 always takes the likeliest token
        </Slider>
        <Slider name="topP" label="Top-p">
          Chooses among the likeliest that add up to this share
        </Slider>
        <NumberField name="topK" label="Top-k">
          Chooses among this many; 0 for all
        </NumberField>
        <NumberField name="length" label="Length">
          Tokens at most; about three quarters of a word each
        </NumberField>
        <NumberField name="seed" label="Seed" placeholder="random">
          The same seed gives the same text
        </NumberField>
        <ThreadsField />
        <NumberField name="memory" label="Memory" placeholder="automatic">
          MB at most for a model, when it is loaded. What doesn’t fit is read again for each token,
          which is slower
        </NumberField>
        <LoadAgain />
      </div>
      <button
        type="button"
        class="quiet"
        disabled={!changed}
        onClick={() => {
          settings.value = { ...DEFAULTS };
        }}
      >
        Back to the defaults
      </button>
    </details>
  );
}

interface FieldProps {
  name: SettingName;
  label: string;
  children: ComponentChildren;
}

function Slider({ name, label, children }: FieldProps) {
  const { min, max, step } = RANGES[name];
  const value = settings.value[name] ?? min;
  return (
    <div class="field">
      <div class="field-head">
        <label for={`set-${name}`}>{label}</label>
        <output for={`set-${name}`}>{value}</output>
      </div>
      <input
        id={`set-${name}`}
        type="range"
        min={min}
        max={max}
        step={step}
        value={value}
        aria-describedby={`set-${name}-hint`}
        onInput={(event) => set(name, event.currentTarget.value)}
      />
      <p class="hint" id={`set-${name}-hint`}>
        {children}
      </p>
    </div>
  );
}

function NumberField({
  name,
  label,
  placeholder,
  children,
}: FieldProps & { placeholder?: string }) {
  const { min, max, step, optional } = RANGES[name];
  const value = settings.value[name];
  /** The typed text while it is not a valid value, else null. */
  const wrong = useSignal<string | null>(null);
  const hint = `set-${name}-hint`;
  return (
    <div class="field">
      <label for={`set-${name}`}>{label}</label>
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
          A whole number from {count(min)} to {count(max)}
        </p>
      )}
      <p class="hint" id={hint}>
        {children}
      </p>
    </div>
  );
}

function ThreadsField() {
  const { threads } = settings.value;
  const choices = new Set(Array.from({ length: cores }, (_, i) => i + 1));
  if (threads !== null) choices.add(threads);
  return (
    <div class="field">
      <label for="set-threads">Threads</label>
      <select
        id="set-threads"
        disabled={!sharing}
        value={threads ?? ''}
        aria-describedby="set-threads-hint"
        onChange={(event) => set('threads', event.currentTarget.value)}
      >
        <option value="">{sharing ? 'automatic' : 'one'}</option>
        {sharing &&
          [...choices].map((n) => (
            <option key={n} value={n}>
              {n}
            </option>
          ))}
      </select>
      <p class="hint" id="set-threads-hint">
        {sharing
          ? 'Takes effect when a model is loaded; writing uses fewer if that is faster'
          : 'This page can use only one thread'}
      </p>
    </div>
  );
}

/** For settings that take effect when a model is loaded. */
function LoadAgain() {
  const current = model.value;
  return (
    <div class="field">
      {stale.value && current !== null && (
        <>
          <p class="hint">The model was loaded with other threads or memory.</p>
          <button type="button" class="quiet" onClick={() => void open(current.source, 'settings')}>
            Load the model again
          </button>
        </>
      )}
      <LoadProgress place="settings" />
    </div>
  );
}
