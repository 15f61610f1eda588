// @vitest-environment happy-dom
import { expect, test } from 'vitest';
import { wasPasted } from '../src/talk/paste';
import { talkTexts } from '../src/talk/texts';
import { LANGUAGES, chosenLanguage } from '../src/texts/language';

test('a text that was pasted is one in each language', () => {
  const pasted = (name: string): boolean => wasPasted({ name, text: '' });
  for (const language of LANGUAGES) {
    chosenLanguage.value = language;
    expect(pasted(talkTexts.value.pasted)).toBe(true);
    expect(
      ['Pasted text', 'Pasted text 2', 'Eingefügter Text 3', 'Texte collé 4'].every(pasted),
    ).toBe(true);
    expect(['Pasted text.txt', 'Text'].some(pasted)).toBe(false);
  }
});
