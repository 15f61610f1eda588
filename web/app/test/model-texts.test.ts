import { beforeEach, expect, it } from 'vitest';
import { inWords, partsOf, slotInWords } from '../src/model/cells';
import { chosenLanguage } from '../src/texts';
import { model as texts } from '../src/texts/model';
import { arrived, model, turning } from './story/views';

beforeEach(() => {
  chosenLanguage.value = 'de';
  return () => {
    chosenLanguage.value = 'en';
  };
});

/** All texts with where they are: functions are called with values that show up. */
function flat(part: unknown, where = ''): [string, string][] {
  if (typeof part === 'string') return [[where, part]];
  if (typeof part === 'function')
    return [[where, String((part as (...a: unknown[]) => unknown)(2, 3, 4))]];
  return Object.entries(part as object).flatMap(([name, inner]) => flat(inner, `${where}.${name}`));
}

it('every text is there in both languages, and not left in English', () => {
  const [en, de] = [new Map(flat(texts.en)), new Map(flat(texts.de))];
  expect([...de.keys()]).toEqual([...en.keys()]);
  for (const [where, text] of de) expect(text === '', where).toBe(en.get(where) === '');
  const same = [...de].filter(([where, text]) => text !== '' && text === en.get(where));
  expect(same.map(([where]) => where)).toEqual([]);
});

it('the picture of the layers is said in German', () => {
  const view = model({ layers: 28, table: true });
  expect(partsOf(view)).toBe('Einbettung, 28 Schichten, Kopf, Rest der Einbettung');
  expect(inWords(arrived(view, 99))).toBe('Das ganze Modell ist im Speicher: 28 Schichten.');
  expect(inWords(arrived(view, 16))).toMatch(
    /^Die Hälfte der 28 Schichten des Modells ist im Spei/,
  );
  expect(slotInWords(arrived(view, 99), 3)).toMatch(/^Schicht 3: im Speicher, [\d,]+ [KMG]B$/);
  const large = model({ layers: 32, bytes: 130e6, turns: 3 });
  expect(inWords(turning(large, 12))).toMatch(
    /\d+ der 32 Schichten des Modells bleiben im Speicher\. \d+ Schichten wechseln sich ab: [\d,]+ [MG]B werden für jedes Token neu gelesen\./,
  );
});
