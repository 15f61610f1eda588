// The settings: what each may be, how a text from outside becomes a value, and the signal that holds them.
import { batch, computed, signal } from '@preact/signals';
import { GENERATE_RULES, LOAD_RULES, type KvType, type ModelSampling } from '@sluice/engine';
import { t } from '../texts';
import { joinStops, splitStops, type Stops } from './stops';

export type Reasoning = 'auto' | 'on' | 'off';

export interface Settings {
  temperature: number;
  topK: number;
  topP: number;
  minP: number;
  repeatPenalty: number;
  /** Tokens that the repeat penalty looks back at. */
  repeatLastN: number;
  presencePenalty: number;
  frequencyPenalty: number;
  /** Tokens to write at most; null: a text has TEXT_LENGTH, an answer goes on until it ends. */
  length: number | null;
  /** null: a new one for every text. */
  seed: number | null;
  /** A text ends before each of these. */
  stop: Stops;
  reasoning: Reasoning;
  /** Tokens of reasoning at most; null: any number. */
  reasoningBudget: number | null;
  /** Tokens; null: the model's own context, up to 4096. Like all that follow, a change counts when a model is next loaded. */
  context: number | null;
  kvType: KvType;
  /** null: as many as the machine has. */
  threads: number | null;
  /** Megabytes that a model may take; null: what this device allows. */
  memory: number | null;
}

export const SAMPLER_NAMES = [
  'temperature',
  'topP',
  'topK',
  'minP',
  'repeatPenalty',
  'repeatLastN',
  'presencePenalty',
  'frequencyPenalty',
] as const;
export type SamplerName = (typeof SAMPLER_NAMES)[number];
export type Samplers = Pick<Settings, SamplerName>;

export type SettingName = keyof Settings;
export type NumberName = Exclude<SettingName, 'stop' | 'reasoning' | 'kvType'>;

/** The tokens of a text if the setting `length` is null. */
export const TEXT_LENGTH = 256;

export interface Range {
  min: number;
  max: number;
  step: number;
  /** Whole numbers only. */
  integer: boolean;
  /** May be left out (null). */
  optional: boolean;
}

const whole = (min: number, max: number, optional: boolean): Range => ({
  min,
  max,
  step: 1,
  integer: true,
  optional,
});
const decimal = (min: number, max: number): Range => ({
  min,
  max,
  step: 0.01,
  integer: false,
  optional: false,
});

/** The library's ranges, some of them narrowed to what is useful here. */
export const RANGES: Readonly<Record<NumberName, Range>> = {
  temperature: decimal(0, 2),
  topK: whole(0, 1000, false),
  topP: decimal(0.05, 1),
  minP: decimal(0, 0.5),
  repeatPenalty: decimal(0.8, 2),
  repeatLastN: whole(0, 4096, false),
  presencePenalty: decimal(0, 2),
  frequencyPenalty: decimal(0, 2),
  length: whole(1, 4096, true),
  seed: whole(GENERATE_RULES.seed.least, GENERATE_RULES.seed.most, true),
  reasoningBudget: whole(0, 100_000, true),
  context: whole(16, LOAD_RULES.contextSize.most, true),
  threads: whole(LOAD_RULES.threads.least, LOAD_RULES.threads.most, true),
  // No browser gives a page's module more than 4 GiB.
  memory: whole(1, 4294, true),
};

export const REASONING: readonly Reasoning[] = ['auto', 'on', 'off'];
export const KV_TYPES: readonly KvType[] = ['f16', 'q8_0', 'f32'];

export const DEFAULTS: Readonly<Settings> = {
  temperature: GENERATE_RULES.temperature.default,
  topK: GENERATE_RULES.topK.default,
  topP: GENERATE_RULES.topP.default,
  minP: GENERATE_RULES.minP.default,
  repeatPenalty: GENERATE_RULES.repeatPenalty.default,
  repeatLastN: GENERATE_RULES.repeatLastN.default,
  presencePenalty: GENERATE_RULES.presencePenalty.default,
  frequencyPenalty: GENERATE_RULES.frequencyPenalty.default,
  length: null,
  seed: null,
  stop: [],
  reasoning: 'auto',
  reasoningBudget: null,
  context: null,
  kvType: 'f16',
  threads: null,
  memory: null,
};

/** The settings in force. */
export const settings = signal<Settings>({ ...DEFAULTS });

/** What the model that is shown brings of its own. */
export const modelSamplers = signal<Readonly<Partial<Samplers>>>({});

/** The defaults with this model. */
export const defaults = computed<Readonly<Settings>>(() => ({
  ...DEFAULTS,
  ...modelSamplers.value,
}));

/** What an address has said: until the reader changes it, it stays whatever model comes. Its own may come after another one. */
let named: Partial<Samplers> = {};

/** Takes the settings of an address that names some of them. */
export function takeNamed(all: Settings, names: ReadonlySet<string>): void {
  named = Object.fromEntries(
    SAMPLER_NAMES.filter((name) => names.has(name)).map((name) => [name, all[name]]),
  );
  settings.value = all;
}

/** The values of a model that the controls here can show. */
function shownSamplers(own: ModelSampling): Partial<Samplers> {
  const shown: Partial<Samplers> = {};
  for (const name of SAMPLER_NAMES) {
    const value = (own as Partial<Samplers>)[name];
    if (value === undefined) continue;
    const { min, max } = RANGES[name];
    // It looks back at all tokens.
    const wanted = name === 'repeatLastN' && value < 0 ? max : value;
    shown[name] = Math.min(max, Math.max(min, wanted));
  }
  return shown;
}

/** A model is shown that brings these samplers (`ModelInfo.sampling`). Those that the reader has not changed become its own. */
export function followModel(own: ModelSampling): void {
  const before = defaults.peek();
  batch(() => {
    modelSamplers.value = shownSamplers(own);
    const next = { ...settings.peek() };
    for (const name of SAMPLER_NAMES)
      if (next[name] === before[name] && next[name] !== named[name])
        next[name] = defaults.value[name];
    if (SAMPLER_NAMES.some((name) => next[name] !== settings.peek()[name])) settings.value = next;
  });
}

export const SETTING_NAMES = Object.keys(DEFAULTS) as SettingName[];

/** Changes some of the settings. */
export function change(some: Partial<Settings>): void {
  settings.value = { ...settings.value, ...some };
}

/** How a setting is read from a text from outside, such as a link, and written there. */
interface Form<T> {
  /** undefined: the text is no value that is allowed. */
  parse(text: string): T | undefined;
  /** What `parse` reads back. (null is never written: it is each setting's default.) */
  format(value: T): string;
  /** Why a text can't be used, in words. */
  refusal(): string;
}

/** The number in `text`; undefined if it is not a number in the range. */
function parseNumber(range: Range, text: string): number | undefined {
  // Number() alone would accept '', ' 1 ', '0x10' and 'Infinity'.
  if (!/^\d{1,16}(\.\d{1,8})?$/.test(text)) return undefined;
  const value = Number(text);
  if (value < range.min || value > range.max) return undefined;
  if (range.integer && !Number.isSafeInteger(value)) return undefined;
  return value;
}

/** A number, or null where it may be left out. */
function number(name: NumberName): Form<number | null> {
  const range = RANGES[name];
  return {
    parse: (text) => parseNumber(range, text),
    format: String,
    refusal: () => t.value.settings.notANumber(range.min, range.max),
  };
}

function oneOf<T extends string>(choices: readonly T[]): Form<T> {
  return {
    parse: (text) => choices.find((choice) => choice === text),
    format: (value) => value,
    refusal: () => t.value.settings.notOneOf(choices),
  };
}

const NUMBERS = Object.keys(RANGES).map((name) => [name, number(name as NumberName)]);

const FORMS: { readonly [Name in SettingName]: Form<Settings[Name]> } = {
  ...(Object.fromEntries(NUMBERS) as { [Name in NumberName]: Form<Settings[Name]> }),
  stop: { parse: splitStops, format: joinStops, refusal: () => t.value.settings.notStops },
  reasoning: oneOf(REASONING),
  kvType: oneOf(KV_TYPES),
};

/** The value in `text`, which may come from anywhere; undefined if `name` doesn't allow it. */
export function parseSetting<Name extends SettingName>(
  name: Name,
  text: string,
): Settings[Name] | undefined {
  return FORMS[name].parse(text);
}

/** The text that `parseSetting` reads back; null for what it is in `base`, which needn't be said. */
export function formatSetting<Name extends SettingName>(
  name: Name,
  from: Pick<Settings, Name>,
  base: Pick<Settings, Name> = defaults.value,
): string | null {
  const { format } = FORMS[name];
  const text = format(from[name]);
  return from[name] === null || text === format(base[name]) ? null : text;
}

/** Why `parseSetting` refuses a text, in words. */
export function refusalOf(name: SettingName): string {
  return FORMS[name].refusal();
}

/** The allowed number nearest to the one in `text`; undefined if `text` is not a number. */
export function nearestSetting(name: NumberName, text: string): number | undefined {
  const { min, max, integer } = RANGES[name];
  const value = Number(text);
  if (text.trim() === '' || Number.isNaN(value)) return undefined;
  return Math.min(max, Math.max(min, integer ? Math.round(value) : value));
}

/** The setting `memory` as it is typed: null for none; undefined if the text is not a number of MB that may be set. */
export function parseMemory(text: string): number | null | undefined {
  const typed = text.trim();
  return typed === '' ? null : parseSetting('memory', typed);
}

/** The setting `memory` in bytes, for the library. */
export function budgetOf({ memory }: Pick<Settings, 'memory'>): number | undefined {
  return memory === null ? undefined : memory * 1e6;
}
