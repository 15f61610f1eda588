// The language that the page speaks.
import { computed, signal } from '@preact/signals';

export type Language = 'en' | 'de';
export const LANGUAGES: readonly Language[] = ['en', 'de'];

/** The first of the browser's languages that the page knows; English otherwise. */
export function browserLanguage(
  // The tests run where there is no browser.
  wanted: readonly string[] = globalThis.navigator?.languages ?? [],
): Language {
  for (const tag of wanted) {
    const found = LANGUAGES.find((known) => tag.toLowerCase().split('-')[0] === known);
    if (found !== undefined) return found;
  }
  return 'en';
}

const byBrowser = signal(browserLanguage());
globalThis.addEventListener?.('languagechange', () => {
  byBrowser.value = browserLanguage();
});

/** The reader's choice; null: by the browser. */
export const chosenLanguage = signal<Language | null>(null);
/** The page's language. */
export const language = computed<Language>(() => chosenLanguage.value ?? byBrowser.value);
