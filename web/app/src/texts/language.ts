// The language that the page speaks. English comes with the page; German is a script of its own, so that nobody loads both.
import { computed, effect, signal, type ReadonlySignal } from '@preact/signals';

export type Language = 'en' | 'de';
export const LANGUAGES: readonly Language[] = ['en', 'de'];
type German = typeof import('./de');

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
const wanted = computed<Language>(() => chosenLanguage.value ?? byBrowser.value);
/** Null until its script has come. */
const german = signal<German | null>(null);
/** The page's language: the one that is wanted, as soon as its texts are there. */
export const language = computed<Language>(() =>
  wanted.value === 'de' && german.value !== null ? 'de' : 'en',
);

/** The texts of one room in the page's language. */
export function inLanguage<Room extends keyof German>(
  room: Room,
  english: German[Room],
): ReadonlySignal<German[Room]> {
  return computed(() => (language.value === 'de' ? german.value?.[room] : undefined) ?? english);
}

export async function fetchGerman(): Promise<void> {
  try {
    german.value ??= await import('./de');
  } catch (error) {
    // The network is gone: the page speaks English, and tries again when it is asked to.
    console.error(error);
  }
}

/** Fetches the texts of each language that is wanted from now on. Resolves when those of the first one are there. */
export function startLanguage(): Promise<void> {
  effect(() => {
    if (wanted.value === 'de') void fetchGerman();
  });
  return wanted.peek() === 'de' ? fetchGerman() : Promise.resolve();
}
