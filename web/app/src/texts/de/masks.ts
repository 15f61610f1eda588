// The German of ../en/masks.ts.
import type { masks as english } from '../en/masks';

export const masks: typeof english = {
  text: 'Text mit Lücken',
  insert: (mask) => `${mask} einfügen`,
  fill: 'Wörter suchen',
  back: 'Das letzte Wort zurücknehmen',
  heading: 'Wörter',
  empty: (mask) =>
    `Schreibe einen Text mit ${mask} an der Stelle eines Worts: Hier erscheinen die Wörter zur Auswahl, die am besten passen.`,
  press: 'Drücke „Wörter suchen“.',
  looking: 'Sucht nach Wörtern',
  done: 'Alle Lücken sind gefüllt.',
  one: 'Wort',
  numbered: (n) => `Wort ${n}`,
  wordsForOne: 'Wähle ein Wort',
  wordsFor: (n) => `Wähle Wort ${n}`,
  found: (words) => `Am wahrscheinlichsten: ${words}`,
  put: (word) => `${word} steht im Text`,
};
