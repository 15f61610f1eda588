// @vitest-environment happy-dom
import { expect, test } from 'vitest';
import { wasPasted } from '../src/talk/paste';
import { talkTexts } from '../src/talk/texts';
import { chosenLanguage, fetchGerman } from '../src/texts/language';

test('a text that was pasted is one in each language', async () => {
  await fetchGerman();
  const pasted = (name: string): boolean => wasPasted({ name, text: '' });
  for (const language of ['en', 'de'] as const) {
    chosenLanguage.value = language;
    expect(pasted(talkTexts.value.pasted)).toBe(true);
    expect(['Pasted text', 'Pasted text 2', 'Eingefügter Text 3'].every(pasted)).toBe(true);
    expect(['Pasted text.txt', 'Text'].some(pasted)).toBe(false);
  }
});
