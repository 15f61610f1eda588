// The settings, their ranges, and the checks of values from outside.
import { GENERATE_RULES, LOAD_RULES } from '@sluice/engine';

export interface Settings {
  temperature: number;
  topK: number;
  topP: number;
  /** Tokens to write at most. */
  length: number;
  /** null: a new one for every text. */
  seed: number | null;
  /** null: as many as the machine has. A change counts when a model is next loaded. */
  threads: number | null;
  /** Megabytes that a model may take; null: what this device allows. A change counts when a model is next loaded. */
  memory: number | null;
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

/** The library's ranges, some of them narrowed to what is useful here. */
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
  // No browser gives a page's module more than 4 GiB.
  memory: { min: 1, max: 4294, step: 1, integer: true, optional: true },
};

export const DEFAULTS: Readonly<Settings> = {
  temperature: GENERATE_RULES.temperature.default,
  topK: GENERATE_RULES.topK.default,
  topP: GENERATE_RULES.topP.default,
  length: 256,
  seed: null,
  threads: null,
  memory: null,
};

export const SETTING_NAMES = Object.keys(DEFAULTS) as SettingName[];

/** The allowed number nearest to the one in `text`; undefined if `text` is not a number. */
export function nearestSetting(name: SettingName, text: string): number | undefined {
  const { min, max, integer } = RANGES[name];
  const value = Number(text);
  if (text.trim() === '' || Number.isNaN(value)) return undefined;
  return Math.min(max, Math.max(min, integer ? Math.round(value) : value));
}

/** The number in `text`; undefined if it is not a number that `name` allows. */
export function parseSetting(name: SettingName, text: string): number | undefined {
  const range = RANGES[name];
  // Number() alone would accept '', ' 1 ', '0x10' and 'Infinity'.
  if (!/^\d{1,16}(\.\d{1,8})?$/.test(text)) return undefined;
  const value = Number(text);
  if (value < range.min || value > range.max) return undefined;
  if (range.integer && !Number.isSafeInteger(value)) return undefined;
  return value;
}

/** The setting `memory` in bytes, for the library. */
export function budgetOf({ memory }: Pick<Settings, 'memory'>): number | undefined {
  return memory === null ? undefined : memory * 1e6;
}
