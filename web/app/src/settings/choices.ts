// What a reader chooses for this device, not for a text, as it is kept in this browser. What is read from there is
// checked: another version of the page or a reader may have written it.
import { VIEWS, type View } from '../ui/view';
import { LANGUAGES, type Language } from '../texts';
import { PRESET_NAMES, type PresetName } from './presets';

export type Theme = 'light' | 'dark';
export const THEMES: readonly Theme[] = ['light', 'dark'];

/** null: automatic. */
export interface Personal {
  language: Language | null;
  theme: Theme | null;
  view: View | null;
  preset: PresetName | null;
}

const KEY = 'sluice.personal';

/** What was kept. Whatever `text` is: what can't be used is left out. */
export function readPersonal(text: string | null): Personal {
  let found: unknown = null;
  try {
    found = JSON.parse(text ?? 'null');
  } catch {
    // Then nothing was kept.
  }
  const kept = typeof found === 'object' && found !== null ? (found as Partial<Personal>) : {};
  const one = <T>(choices: readonly T[], value: unknown): T | null =>
    choices.find((choice) => choice === value) ?? null;
  return {
    language: one(LANGUAGES, kept.language),
    theme: one(THEMES, kept.theme),
    view: one(VIEWS, kept.view),
    preset: one(PRESET_NAMES, kept.preset),
  };
}

/** The browser may forbid storage, or have none left: then the choices are those of this visit. */
export function loadPersonal(): Personal {
  try {
    return readPersonal(localStorage.getItem(KEY));
  } catch {
    return readPersonal(null);
  }
}

export function keepPersonal(personal: Personal): void {
  try {
    const usual = Object.values(personal).every((choice) => choice === null);
    if (usual) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, JSON.stringify(personal));
  } catch {
    // See loadPersonal().
  }
}
