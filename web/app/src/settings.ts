// What can be set, in which range, and how a value from outside is checked.
import { GENERATE_RULES, LOAD_RULES } from '@sluice/engine';

export interface Settings {
  temperature: number;
  topK: number;
  topP: number;
  /** Tokens to write at most. */
  length: number;
  /** null: a new one for every text. */
  seed: number | null;
  /** null: as many as the machine has. A model has to be loaded again for it. */
  threads: number | null;
}

export type SettingName = keyof Settings;

export interface Range {
  min: number;
  max: number;
  step: number;
  /** Whole numbers only. */
  integer: boolean;
  /** May be left out (null). */
  optional: boolean;
}

/** Of what the library takes, what is of use here. */
export const RANGES: Readonly<Record<SettingName, Range>> = {
  temperature: { min: 0, max: 2, step: 0.01, integer: false, optional: false },
  topK: { min: 0, max: 1000, step: 1, integer: true, optional: false },
  topP: { min: 0.05, max: 1, step: 0.01, integer: false, optional: false },
  length: { min: 1, max: 4096, step: 1, integer: true, optional: false },
  seed: {
    min: GENERATE_RULES.seed.least,
    max: GENERATE_RULES.seed.most,
    step: 1,
    integer: true,
    optional: true,
  },
  threads: {
    min: LOAD_RULES.threads.least,
    max: LOAD_RULES.threads.most,
    step: 1,
    integer: true,
    optional: true,
  },
};

export const DEFAULTS: Readonly<Settings> = {
  temperature: GENERATE_RULES.temperature.default,
  topK: GENERATE_RULES.topK.default,
  topP: GENERATE_RULES.topP.default,
  length: 256,
  seed: null,
  threads: null,
};

export const SETTING_NAMES = Object.keys(DEFAULTS) as SettingName[];

/** The allowed number next to the one that `text` writes; undefined where it writes none. */
export function nearestSetting(name: SettingName, text: string): number | undefined {
  const { min, max, integer } = RANGES[name];
  const value = Number(text);
  if (text.trim() === '' || Number.isNaN(value)) return undefined;
  return Math.min(max, Math.max(min, integer ? Math.round(value) : value));
}

/** The number that `text` writes, or undefined where it is none that `name` allows. */
export function parseSetting(name: SettingName, text: string): number | undefined {
  const range = RANGES[name];
  // Number() alone would take '', ' 1 ', '0x10' and 'Infinity'.
  if (!/^\d{1,16}(\.\d{1,8})?$/.test(text)) return undefined;
  const value = Number(text);
  if (value < range.min || value > range.max) return undefined;
  if (range.integer && !Number.isSafeInteger(value)) return undefined;
  return value;
}
