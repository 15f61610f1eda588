// What a reader chooses for this device, not for a text: language, colours, view, preset. It is kept in this browser.
import { effect, signal } from '@preact/signals';
import { usualView } from '../ui/view';
import { chosenLanguage, language, t } from '../texts';
import { keepPersonal, loadPersonal, type Theme } from './choices';
import { chosenPreset, presets } from './presets';
import { defaults, type Settings } from './settings';

/** The reader's choice of colours; null: the device's. */
export const chosenTheme = signal<Theme | null>(null);

/** The settings of a page whose address says nothing: the defaults, with the preset that the reader chose last. */
export function usualSettings(): Settings {
  const samplers = chosenPreset.value === null ? {} : presets.value[chosenPreset.value];
  return { ...defaults.value, ...samplers };
}

/** Shows the page in these colours. */
function colour(theme: Theme | null): void {
  const { dataset } = document.documentElement;
  if (theme === null) delete dataset['theme'];
  else dataset['theme'] = theme;
}

/** The colour of the browser's own bars. */
function colourBars(theme: Theme | null): void {
  const paper = getComputedStyle(document.documentElement).getPropertyValue('--paper').trim();
  for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]')) {
    meta.dataset['own'] ??= meta.content;
    meta.content = theme === null || paper === '' ? meta.dataset['own'] : paper;
  }
}

/** Takes up what was kept, shows the page accordingly, and keeps what is chosen from now on. */
export function startPersonal(): void {
  const kept = loadPersonal();
  chosenLanguage.value = kept.language;
  chosenTheme.value = kept.theme;
  usualView.value = kept.view;
  chosenPreset.value = kept.preset;

  effect(() =>
    keepPersonal({
      language: chosenLanguage.value,
      theme: chosenTheme.value,
      view: usualView.value,
      preset: chosenPreset.value,
    }),
  );
  effect(() => {
    document.documentElement.lang = language.value;
    document.title = t.value.page.title;
  });
  effect(() => colour(chosenTheme.value));
  effect(() => {
    const theme = chosenTheme.value;
    // Before that the page has no colours.
    if (document.readyState === 'complete') colourBars(theme);
    else window.addEventListener('load', () => colourBars(chosenTheme.peek()), { once: true });
  });
}
