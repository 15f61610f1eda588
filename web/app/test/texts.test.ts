// @vitest-environment happy-dom
// Each language has each text, with the same facts in it.
import fs from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readShelf } from '../src/model/shelf';
import { goodForInWords, termsInWords } from '../src/model/shelf-words';
import { LANGUAGES, chosenLanguage } from '../src/texts';
import { english, others, textsOf } from './all-texts';

type Text = (...a: unknown[]) => unknown;

function called(text: Text, given: readonly number[]): string {
  try {
    return String(text(...given));
  } catch {
    return 'of other values';
  }
}

/** All texts with where they are. Functions are called with these numbers, whatever they want. */
function flat(part: unknown, given: readonly number[], where = ''): [string, string][] {
  if (typeof part === 'string') return [[where, part]];
  if (typeof part === 'function') return [[where, called(part as Text, given)]];
  return Object.entries(part as object).flatMap(([name, inner]) =>
    flat(inner, given, `${where}.${name}`),
  );
}

/** A language's texts by where they are, without the sentences on the shelf, which have English in another place. */
function all(language: string, given: readonly number[]): Map<string, string> {
  const { shelf: _, ...texts } = textsOf(language);
  const rooms = Object.keys([...others.values()][0] ?? {});
  const own = Object.entries(texts).filter(([room]) => rooms.includes(room));
  return new Map(flat(Object.fromEntries(own.sort()), given));
}

/** The facts in a text: names in braces, and numbers that it was given. */
function facts(text: string): string[] {
  return (text.match(/\{\w+\}|\b1[2-5]\b/g) ?? []).sort();
}

/** Values of a number on which a language's forms may depend. */
const COUNTS = [0, 1, 2, 3, 5, 11, 21, 100, 1_000_000];
/** Words that other languages have from English, or it from them. */
const SHARED = new Set(['Architecture', 'Types', 'Licence', 'Pause', '12 passages · 13 B']);

describe.each([...others.keys()])('the texts in %s', (language) => {
  const given = [12, 13, 14, 15];
  const [en, own] = [all('en', given), all(language, given)];

  it('are those that there are in English, and none is empty', () => {
    expect([...own.keys()].sort()).toEqual([...en.keys()].sort());
    for (const [where, text] of own) expect(text.trim() === '', where).toBe(en.get(where) === '');
  });

  it('have the same facts in them', () => {
    for (const [where, text] of own)
      expect(facts(text), `${where}: ${text}`).toEqual(facts(en.get(where) ?? ''));
  });

  it('are in this language', () => {
    const same = [...own].filter(
      ([where, text]) => /^\.(model|another|find)\./.test(where) && text === en.get(where),
    );
    expect(same.filter(([, text]) => /[a-z]{3}/.test(text) && !SHARED.has(text))).toEqual([]);
  });

  it('have a form for each number', () => {
    for (const n of COUNTS) {
      for (const [where, text] of all(language, [n, n, n, n])) {
        expect(text, where).not.toMatch(/undefined|NaN|\[object/);
        expect(text.trim() === '', where).toBe(en.get(where) === '');
      }
    }
  });

  it('have a sentence on each model that the page offers', () => {
    const shelf = JSON.parse(fs.readFileSync('public/models/shelf.json', 'utf8')) as unknown;
    const models = readShelf(shelf, 'https://page.example/');
    expect(models.length).toBeGreaterThan(0);
    const said = (): string[] =>
      models.flatMap((model) => [
        goodForInWords(model),
        ...(model.terms === null ? [] : [termsInWords(model.terms)]),
      ]);
    const inEnglish = said();
    chosenLanguage.value = language;
    const inOther = said();
    chosenLanguage.value = 'en';
    expect(inOther).toHaveLength(inEnglish.length);
    for (const [i, sentence] of inOther.entries()) {
      expect(sentence).not.toBe('');
      expect(sentence).not.toBe(inEnglish[i]);
    }
  });
});

it('each language is named as the web names it', () => {
  expect(LANGUAGES).toEqual(['en', ...others.keys()]);
  for (const tag of LANGUAGES)
    expect(Intl.getCanonicalLocales(tag).map((one) => one.toLowerCase())).toEqual([tag]);
});

it('the English rooms are the rooms of all', () => {
  for (const texts of others.values())
    for (const room of Object.keys(texts)) expect(english).toHaveProperty(room);
});

it('no line of a French text begins with the sign that ends a sentence', () => {
  for (const n of COUNTS)
    for (const [where, text] of all('fr', [n, n, n, n]))
      expect(text, where).not.toMatch(/ [:;?!»]|« |'/);
});

it('before the double signs of a French text stands a space', () => {
  for (const [where, text] of all('fr', [12, 13, 14, 15]))
    expect(text, where).not.toMatch(/\S[:;?!](\s|$)/);
});

it('what is said of something stands after its name, with each language’s colon', () => {
  const said = LANGUAGES.map((language) => [
    language,
    textsOf(language).page.named('prompt', '12'),
  ]);
  expect(Object.fromEntries(said)).toEqual({
    en: 'prompt: 12',
    de: 'prompt: 12',
    fr: 'prompt\u00a0: 12',
  });
});

it('a room is called the same on its button and in the settings', () => {
  for (const language of LANGUAGES) {
    const { page, settingsRoom } = textsOf(language);
    expect(settingsRoom.viewName.find, language).toBe(page.find);
  }
});
