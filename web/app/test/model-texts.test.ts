import { beforeEach, expect, it } from 'vitest';
import { inWords, partsOf, slotInWords } from '../src/model/cells';
import { chosenLanguage } from '../src/texts';
import * as german from '../src/texts/de';
import { arrived, model as viewOf, turning } from './story/views';

beforeEach(() => {
  chosenLanguage.value = 'de';
  return () => {
    chosenLanguage.value = 'en';
  };
});

function called(text: (...a: unknown[]) => unknown): string {
  try {
    return String(text(2, 3, 4));
  } catch {
    return 'of other values';
  }
}

/** All texts with where they are: functions of plain values are called with some that show up. */
function flat(part: unknown, where = ''): [string, string][] {
  if (typeof part === 'string') return [[where, part]];
  if (typeof part === 'function') return [[where, called(part as (...a: unknown[]) => unknown)]];
  return Object.entries(part as object).flatMap(([name, inner]) => flat(inner, `${where}.${name}`));
}

const rooms = import.meta.glob<Record<string, unknown>>('../src/texts/en/*.ts', { eager: true });
const english = Object.assign({}, ...Object.values(rooms)) as Record<string, unknown>;
it.each(Object.keys(german))('every text of %s is there in both languages', (room) => {
  const [en, de] = [english, german].map((all) => new Map(flat((all as typeof english)[room])));
  if (en === undefined || de === undefined) throw new Error('no texts');
  expect([...de.keys()]).toEqual([...en.keys()]);
  for (const [where, text] of de) expect(text === '', where).toBe(en.get(where) === '');
  if (!['model', 'another'].includes(room)) return;
  const same = [...de].filter(([where, text]) => text !== '' && text === en.get(where));
  expect(same.map(([where]) => where)).toEqual([]);
});

it('the picture of the layers is said in German', () => {
  const view = viewOf({ layers: 28, table: true });
  expect(partsOf(view)).toBe('Einbettung, 28 Schichten, Kopf, Rest der Einbettung');
  expect(inWords(arrived(view, 99))).toBe('Das ganze Modell ist im Speicher: 28 Schichten.');
  expect(inWords(arrived(view, 16))).toMatch(
    /^Die Hälfte der 28 Schichten des Modells ist im Spei/,
  );
  expect(slotInWords(arrived(view, 99), 3)).toMatch(/^Schicht 3: im Speicher, [\d,]+ [KMG]B$/);
  const large = viewOf({ layers: 32, bytes: 130e6, turns: 3 });
  expect(inWords(turning(large, 12))).toMatch(
    /\d+ der 32 Schichten des Modells bleiben im Speicher\. \d+ Schichten wechseln sich ab: [\d,]+ [MG]B werden für jedes Token neu gelesen\./,
  );
});
