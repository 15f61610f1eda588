// The address's fragment holds the prompt, the model, the settings and the view, so that a link shares them.
// Anybody can make a link: every value is checked, and bad ones are left out and named.
import { readAddress } from '@sluice/engine';
import {
  DEFAULTS,
  SETTING_NAMES,
  defaults,
  formatSetting,
  parseSetting,
  refusalOf,
  type SettingName,
  type Settings,
} from '../settings/settings';
import { t } from '../texts';

export const DEFAULT_PROMPT = 'Once upon a time';
export const MAX_PROMPT = 20_000;

/** The view that a link asks for. */
export type LinkedView = 'talk' | 'write' | 'find';
export const VIEWS: readonly LinkedView[] = ['talk', 'write', 'find'];

export interface PageState {
  prompt: string;
  /** An absolute address (http, https or hf), or null for the bundled model. */
  model: string | null;
  settings: Settings;
  /** null: by the model. */
  view: LinkedView | null;
}

export interface FragmentState extends PageState {
  /** The parts of the fragment that could not be used, in words. */
  ignored: string[];
}

/** Parses the address of a model, relative to `base` if that is given. Returns undefined for anything else. */
export function parseModelAddress(text: string, base?: string): string | undefined {
  const read = readAddress(text, base === undefined ? {} : { base });
  return 'address' in read ? read.address : undefined;
}

/** Control characters other than tabs and line ends can't be typed into the field either. */
function cleanPrompt(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/\r\n?/g, '\n').replace(/[\u0000-\u0008\u000b-\u001f\u007f]/g, '');
}

/** Sets a setting from a text from outside. False: the text is no value of it. */
function take<Name extends SettingName>(into: Settings, name: Name, text: string): boolean {
  const value = parseSetting(name, text);
  if (value === undefined) return false;
  into[name] = value;
  return true;
}

/** The settings in `params`, those of `base` for what is left out; `refused` is called for what can't be used. */
function readSettings(
  params: URLSearchParams,
  base: Readonly<Settings>,
  refused: (name: SettingName) => void,
): Settings {
  const settings = { ...base };
  for (const name of SETTING_NAMES) {
    const text = params.get(name);
    if (text !== null && !take(settings, name, text)) refused(name);
  }
  return settings;
}

/** Reads a fragment, with or without its '#'. Never throws. */
export function readFragment(fragment: string, base: string): FragmentState {
  const params = new URLSearchParams(fragment.replace(/^#/, ''));
  const ignored: string[] = [];
  const { ignored: words } = t.value.page;

  const given = params.get('prompt');
  const prompt = given === null ? DEFAULT_PROMPT : cleanPrompt(given);
  if (prompt.length > MAX_PROMPT) ignored.push(`prompt: ${words.longPrompt(MAX_PROMPT)}`);

  const address = params.get('model');
  const model = address === null ? null : parseModelAddress(address, base);
  if (model === undefined) ignored.push(`model: ${words.address}`);

  const settings = readSettings(params, defaults.value, (name) =>
    ignored.push(`${name}: ${refusalOf(name)}`),
  );

  const asked = params.get('view');
  const view = VIEWS.find((known) => known === asked) ?? null;
  if (asked !== null && view === null) ignored.push(`view: ${words.view}`);
  return { prompt: prompt.slice(0, MAX_PROMPT), model: model ?? null, settings, view, ignored };
}

function setSettings(params: URLSearchParams, settings: Settings, base: Readonly<Settings>): void {
  for (const name of SETTING_NAMES) {
    const text = formatSetting(name, settings, base);
    if (text !== null) params.set(name, text);
  }
}

/** The fragment (without '#') that `readFragment` reads back. Defaults are left out. */
export function writeFragment(state: PageState): string {
  const params = new URLSearchParams();
  if (state.view !== null) params.set('view', state.view);
  if (state.prompt !== DEFAULT_PROMPT) params.set('prompt', state.prompt.slice(0, MAX_PROMPT));
  if (state.model !== null) params.set('model', state.model);
  setSettings(params, state.settings, defaults.value);
  // '%20' reads better than '+' in an address that people copy.
  return params.toString().replaceAll('+', '%20');
}

/** The settings as a text, for `settingsFrom`. It is the same whatever model is shown. */
export function settingsText(settings: Settings): string {
  const params = new URLSearchParams();
  setSettings(params, settings, DEFAULTS);
  return params.toString();
}

/** The settings in a text, which may come from anywhere: what can't be used has its default. */
export function settingsFrom(text: string): Settings {
  return readSettings(new URLSearchParams(text), DEFAULTS, () => {});
}
