// The settings as a text: in links, and where it is kept with what texts were written.
import {
  DEFAULTS,
  SETTING_NAMES,
  formatSetting,
  parseSetting,
  type SettingName,
  type Settings,
} from './settings';

/** Sets a setting from a text from outside. False: the text is no value of it. */
function take<Name extends SettingName>(into: Settings, name: Name, text: string): boolean {
  const value = parseSetting(name, text);
  if (value === undefined) return false;
  into[name] = value;
  return true;
}

/** The settings in `params`, those of `base` for what is left out; `refused` is called for what can't be used. */
export function readSettings(
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

/** Puts into `params` the settings that are others than those of `base`. */
export function writeSettings(
  params: URLSearchParams,
  settings: Settings,
  base: Readonly<Settings>,
): void {
  for (const name of SETTING_NAMES) {
    const text = formatSetting(name, settings, base);
    if (text !== null) params.set(name, text);
  }
}

/** The settings as a text, for `settingsFrom`. It is the same whatever model is shown. */
export function settingsText(settings: Settings): string {
  const params = new URLSearchParams();
  writeSettings(params, settings, DEFAULTS);
  return params.toString();
}

/** The settings in a text, which may come from anywhere: what can't be used has its default. */
export function settingsFrom(text: string): Settings {
  return readSettings(new URLSearchParams(text), DEFAULTS, () => {});
}
