// How the model chooses its words: presets, and each sampler.
import { signal, type Signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { exact } from '../texts/format';
import { roomTexts } from './texts';
import { Hint, NumberField, set } from './fields';
import {
  CHOICE_NAMES,
  PENALTY_NAMES,
  PRESET_NAMES,
  choosePreset,
  own,
  preset,
} from '../settings/presets';
import {
  RANGES,
  change,
  defaults,
  modelSamplers,
  settings,
  type SamplerName,
} from '../settings/settings';

export function Presets() {
  const texts = roomTexts.value;
  return (
    <fieldset class="field presets">
      <legend>{texts.presets}</legend>
      {[...PRESET_NAMES, 'own' as const].map((name) => (
        <label key={name}>
          <input
            type="radio"
            name="preset"
            value={name}
            checked={preset.value === name}
            disabled={name === 'own' && preset.value !== 'own' && own.value === null}
            aria-describedby={`preset-${name}-hint`}
            onChange={() => choosePreset(name)}
          />
          <span class="preset-name">{texts.preset[name]}</span>
          <span class="hint" id={`preset-${name}-hint`} aria-hidden="true">
            {texts.presetHint[name]}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** Whether all samplers are shown, and the penalties among them. */
const unfolded = signal(false);
const unfoldedPenalties = signal(false);

interface FoldProps {
  open: Signal<boolean>;
  title: string;
  children: ComponentChildren;
}

function Fold({ open, title, children }: FoldProps) {
  return (
    <details
      class="fold"
      open={open.value}
      onToggle={(event) => {
        open.value = event.currentTarget.open;
      }}
    >
      <summary>{title}</summary>
      <div class="fields">{children}</div>
    </details>
  );
}

export function Samplers() {
  const texts = roomTexts.value;
  const field = (name: SamplerName) => <Sampler key={name} name={name} />;
  return (
    <Fold open={unfolded} title={texts.samplers}>
      <p class="hint">
        {texts.samplersHint}{' '}
        {Object.keys(modelSamplers.value).length > 0 ? texts.modelDefault : texts.default}
      </p>
      {CHOICE_NAMES.map(field)}
      <Fold open={unfoldedPenalties} title={texts.penalties}>
        {PENALTY_NAMES.map(field)}
      </Fold>
    </Fold>
  );
}

function Sampler({ name }: { name: SamplerName }) {
  const { label, hint } = roomTexts.value.sampler[name];
  if (!RANGES[name].integer) return <Slider name={name} label={label} hint={hint} />;
  return (
    <NumberField name={name} label={label} more={<Back name={name} />}>
      {hint}
    </NumberField>
  );
}

/** The button that goes back to a sampler's default. */
function Back({ name }: { name: SamplerName }) {
  const usual = defaults.value[name];
  if (settings.value[name] === usual) return null;
  return (
    <button
      type="button"
      class="quiet"
      aria-describedby={`set-${name}-label`}
      onClick={() => {
        change({ [name]: usual });
        // This button goes away.
        document.getElementById(`set-${name}`)?.focus();
      }}
    >
      {roomTexts.value.backTo(exact(usual))}
    </button>
  );
}

function Slider({ name, label, hint }: { name: SamplerName; label: string; hint: string }) {
  const { min, max, step } = RANGES[name];
  const value = settings.value[name];
  const share = (defaults.value[name] - min) / (max - min);
  return (
    <div class="field">
      <div class="field-head">
        <label for={`set-${name}`} id={`set-${name}-label`}>
          {label}
        </label>
        <Back name={name} />
        <output for={`set-${name}`}>{exact(value)}</output>
      </div>
      <div class="slider" style={{ '--default': share }}>
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
      </div>
      <Hint id={`set-${name}-hint`}>{hint}</Hint>
    </div>
  );
}
