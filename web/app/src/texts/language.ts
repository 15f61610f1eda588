// The language that the page speaks. English comes with the page. Each other language is a file in languages/, which becomes
// a script of its own: it is fetched when a reader wants it. The file's name is the language's tag.
import { computed, effect, signal, type ReadonlySignal } from '@preact/signals';
import type { Texts } from './texts';

/** A language's tag in small letters, such as 'en', 'de', 'pt-br'. */
export type Language = string;

/** English stands in for all others. */
const ENGLISH: Language = 'en';
const files = new Map(
  Object.entries(import.meta.glob<Texts>('./languages/*.ts', { import: 'texts' })).map(
    ([path, fetch]) => [path.replace(/^.*\/|\.ts$/g, ''), fetch],
  ),
);
export const LANGUAGES: readonly Language[] = [ENGLISH, ...files.keys()];

/** The first of the browser's languages that the page knows, such as 'de' for 'de-AT'; English otherwise. */
export function browserLanguage(
  // The tests run where there is no browser.
  wanted: readonly string[] = globalThis.navigator?.languages ?? [],
): Language {
  for (const tag of wanted) {
    let part = tag.toLowerCase();
    for (; part !== ''; part = part.replace(/-?[^-]*$/, ''))
      if (LANGUAGES.includes(part)) return part;
  }
  return ENGLISH;
}

const byBrowser = signal(browserLanguage());
globalThis.addEventListener?.('languagechange', () => {
  byBrowser.value = browserLanguage();
});

/** The reader's choice; null: by the browser. */
export const chosenLanguage = signal<Language | null>(null);
const wanted = computed<Language>(() => chosenLanguage.value ?? byBrowser.value);
/** The texts that have come. */
export const come = signal<ReadonlyMap<Language, Texts>>(new Map());
const spoken = signal<Language>(ENGLISH);
effect(() => {
  if (wanted.value === ENGLISH || come.value.has(wanted.value)) spoken.value = wanted.value;
});
/** The page's language: the one that is wanted, as soon as its texts are there. Until then it stays what it was. */
export const language: ReadonlySignal<Language> = spoken;

/** The texts of one room in the page's language. */
export function inLanguage<Room extends keyof Texts>(
  room: Room,
  english: Texts[Room],
): ReadonlySignal<Texts[Room]> {
  return computed(() => come.value.get(language.value)?.[room] ?? english);
}

/** Fetches a language's texts; English needs none. Never rejects. */
export async function fetchLanguage(tag: Language): Promise<void> {
  if (come.peek().has(tag)) return;
  try {
    const texts = await files.get(tag)?.();
    if (texts !== undefined) come.value = new Map([...come.peek(), [tag, texts]]);
  } catch (error) {
    // The network is gone: the page speaks as before, and tries again when it is asked to.
    console.error(error);
  }
}

/** Fetches the texts of each language that is wanted from now on. Resolves when those of the first one are there. */
export function startLanguage(): Promise<void> {
  let first: Promise<void> | undefined;
  effect(() => {
    const coming = fetchLanguage(wanted.value);
    first ??= coming;
  });
  return first ?? Promise.resolve();
}
