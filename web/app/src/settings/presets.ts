// Presets: the samplers set together, for readers who would rather say what they want than how.
import { computed, signal } from '@preact/signals';
import { SAMPLER_NAMES, change, defaults, settings, type Samplers } from './settings';

/** In the order in which they are shown. */
export const CHOICE_NAMES = ['temperature', 'topP', 'topK', 'minP'] as const;
export const PENALTY_NAMES = [
  'repeatPenalty',
  'repeatLastN',
  'presencePenalty',
  'frequencyPenalty',
] as const;
export type PresetName = 'precise' | 'balanced' | 'wild';

export function samplersOf(of: Samplers): Samplers {
  return Object.fromEntries(SAMPLER_NAMES.map((name) => [name, of[name]])) as unknown as Samplers;
}

export const PRESET_NAMES: readonly PresetName[] = ['precise', 'balanced', 'wild'];

/** What each is; a model may bring the balanced one. */
export const presets = computed<Readonly<Record<PresetName, Samplers>>>(() => {
  const balanced = samplersOf(defaults.value);
  return {
    precise: { ...balanced, temperature: 0.2, topP: 0.9 },
    balanced,
    wild: { ...balanced, temperature: 1.2, topK: 200, topP: 0.98, minP: 0.02 },
  };
});

/** The preset that these settings are; 'own' if they are none. */
export function presetOf(of: Samplers): PresetName | 'own' {
  const same = (name: PresetName): boolean =>
    SAMPLER_NAMES.every((sampler) => presets.value[name][sampler] === of[sampler]);
  return PRESET_NAMES.find(same) ?? 'own';
}

export const preset = computed(() => presetOf(settings.value));

/** The reader's own samplers, to go back to from a preset; null: there were none yet. */
export const own = signal<Samplers | null>(null);

/** The preset that the reader chose last, for the next visit; null: the defaults, or own samplers. */
export const chosenPreset = signal<PresetName | null>(null);

/** Takes a preset's samplers, or the reader's own. */
export function choosePreset(name: PresetName | 'own'): void {
  if (preset.value === 'own') own.value = samplersOf(settings.value);
  chosenPreset.value = name === 'own' || name === 'balanced' ? null : name;
  const samplers = name === 'own' ? own.value : presets.value[name];
  if (samplers !== null) change(samplers);
}
