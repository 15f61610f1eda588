import { beforeEach, expect, it } from 'vitest';
import { inWords, partsOf, slotInWords } from '../src/model/cells';
import { chosenLanguage } from '../src/texts';
import { arrived, model as viewOf, turning } from './story/views';

beforeEach(() => {
  chosenLanguage.value = 'de';
  return () => {
    chosenLanguage.value = 'en';
  };
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

it('and in French', () => {
  chosenLanguage.value = 'fr';
  const view = viewOf({ layers: 28, table: true });
  expect(partsOf(view)).toBe('plongement, 28 couches, tête, reste du plongement');
  expect(inWords(arrived(view, 99))).toBe('Tout le modèle est en mémoire\u00a0: 28 couches.');
  expect(slotInWords(arrived(view, 99), 3)).toMatch(/^Couche 3\u00a0: en mémoire, [\d,]+ [KMG]o$/);
  const large = viewOf({ layers: 32, bytes: 130e6, turns: 3 });
  expect(inWords(turning(large, 12))).toMatch(
    /\d+ des 32 couches du modèle restent en mémoire\. \d+ couches se relaient\u00a0: [\d,]+ [MG]o sont relus pour chaque token\./,
  );
});
