// Which language the page speaks, and what it does while the texts of one come, or don't.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { browserLanguage } from '../src/texts';

const FRENCH = '../src/texts/languages/fr';

/** The page's language as at the beginning of a visit: nothing has come. */
async function visit() {
  vi.resetModules();
  return import('../src/texts/language');
}

afterEach(() => {
  vi.doUnmock(FRENCH);
  vi.restoreAllMocks();
});

it('is the first of the browser’s that the page knows', () => {
  expect(browserLanguage(['de-AT', 'en'])).toBe('de');
  expect(browserLanguage(['fr-CA', 'de'])).toBe('fr');
  expect(browserLanguage(['DE-Latn-CH'])).toBe('de');
  expect(browserLanguage(['es', 'EN-gb', 'de'])).toBe('en');
  expect(browserLanguage(['den', 'f', '', '-', 'french'])).toBe('en');
  expect(browserLanguage([])).toBe('en');
});

describe('a language', () => {
  it('is spoken when its texts have come, and until then the one before', async () => {
    let come = (): void => {};
    const coming = new Promise<void>((resolve) => (come = resolve));
    vi.doMock(FRENCH, async (original) => {
      await coming;
      return original<object>();
    });
    const at = await visit();
    const seen: string[] = [];
    at.language.subscribe((language) => seen.push(language));
    at.chosenLanguage.value = 'de';
    await at.startLanguage();
    expect(seen).toEqual(['en', 'de']);
    at.chosenLanguage.value = 'fr';
    const french = at.fetchLanguage('fr');
    expect(at.language.value).toBe('de');
    come();
    await french;
    // Never English in between
    expect(seen).toEqual(['en', 'de', 'fr']);
    at.chosenLanguage.value = 'en';
    expect(at.language.value).toBe('en');
  });

  it('that comes when another one is wanted already is not spoken', async () => {
    const at = await visit();
    at.chosenLanguage.value = 'fr';
    const first = at.startLanguage();
    at.chosenLanguage.value = 'en';
    await first;
    expect(at.language.value).toBe('en');
    // It is here now.
    at.chosenLanguage.value = 'fr';
    expect(at.language.value).toBe('fr');
  });

  it('that can’t be fetched leaves the page as it was, and is fetched when it is asked for again', async () => {
    vi.doMock(FRENCH, () => {
      throw new Error('no network');
    });
    const said = vi.spyOn(console, 'error').mockReturnValue();
    const at = await visit();
    at.chosenLanguage.value = 'fr';
    await at.startLanguage();
    expect(said).toHaveBeenCalledOnce();
    expect(at.language.value).toBe('en');
    vi.doUnmock(FRENCH);
    await at.fetchLanguage('fr');
    expect(at.language.value).toBe('fr');
  });

  it('that the page doesn’t know changes nothing', async () => {
    const at = await visit();
    at.chosenLanguage.value = '__proto__';
    await at.startLanguage();
    expect(at.language.value).toBe('en');
  });
});
