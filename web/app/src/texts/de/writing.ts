// The German of ../en/writing.ts.
import type { writing as english } from '../en/writing';

export const writing: typeof english = {
  prompt: 'Anfang',
  write: 'Schreiben',
  stop: 'Anhalten',
  keys: { enter: 'Enter', writes: ' schreibt, ', escape: 'Esc', stops: ' hält an' },
  ready: 'Bereit',
  noModel: 'Es ist kein Modell geladen. Wähle erst eines.',
  waiting: 'Wartet auf das Modell',
  waitingForRest: 'Wartet auf den Rest des Modells',
  reading: 'Liest den Anfang',
  answering: 'Das Modell antwortet gerade im Gespräch',
  promptSoFar: (facts) => `Anfang: ${facts}`,
  tokensAt: (amount, rate) => `${amount} · ${rate} Token/s`,
  bar: 'Beim Schreiben',
  toTheEnd: 'Zum Ende',

  text: 'Text',
  empty: 'Hier erscheint, was das Modell schreibt, Wort für Wort.',
  openings: 'Oder beginne mit einem von diesen:',
  continuesStories:
    'Dieses Modell setzt englische Geschichten fort. Zum Unterhalten öffne ein Chat-Modell.',
  continuesTexts: 'Dieses Modell setzt Texte fort. Zum Unterhalten öffne ein Chat-Modell.',
  openModels: 'Chat-Modell öffnen',

  endings: {
    eos: 'Der Text ist zu Ende',
    length: 'Bei der eingestellten Länge angehalten',
    stop: 'Bei einem Schlusstext angehalten',
    aborted: 'Angehalten',
    context: 'Der Kontext ist voll',
    failed: 'Abgebrochen',
  },
  ended: (how, amount) => `${how}: ${amount}`,
  seed: 'Startwert',
  writtenBy: (name) => `geschrieben von ${name}`,
  keepSeed: 'Startwert behalten',
  seedKept: 'Der Startwert steht nun in den Einstellungen',
  continue: 'Weiter',
  again: 'Noch einmal',
  copy: 'Kopieren',
  copied: 'Kopiert',
  copyLink: 'Link kopieren',
  linkCopied: 'Link kopiert',
  linkWithoutModel: (name) => `Im Link fehlt das Modell: ${name} ist eine Datei auf diesem Gerät.`,
  linkWithoutPrompt: 'Dieser Text ist zu lang für einen Link.',

  finds: (name) => `${name} schreibt nichts: Es findet Stellen in Dateien.`,
  findWith: 'Zu Finden',

  pager: 'Texte dieses Besuchs',
  place: (n, all) => `${n} von ${all}`,
  previous: 'Früherer Text',
  next: 'Späterer Text',

  writing: 'Schreibt',
  done: (amount) => `Fertig: ${amount}`,
  stopped: (amount) => `Angehalten: ${amount}`,
};
