// The German of ../en/talk-room.ts.
import { bytes, count, tokens } from '../../format';
import type { talkRoom as english } from '../en/talk-room';

export const talkRoom: typeof english = {
  nearlyFull:
    'Der Kontext ist fast voll. Die ältesten Nachrichten fehlen dann in den nächsten Antworten.',
  counting: 'Die Nachricht wird gezählt.',
  messageTooLong: (over, context) =>
    `Diese Nachricht ist ${tokens(over)} länger als der Kontext von ${tokens(context)}.`,
  outgrown: (over) =>
    `Das Gespräch ist ${tokens(over)} länger als der Kontext. Die ältesten Nachrichten fehlen dann.`,
  shorten: 'Kürze sie, oder teile sie auf.',
  removeFile: 'Entferne eine Datei, oder kürze die Nachricht.',
  largerContext: (context, more) =>
    `Einen Kontext von ${count(context)} nehmen (${bytes(more)} mehr Speicher)`,
  pasted: 'Eingefügter Text',
  pastedAsFile: 'Der lange Text hängt jetzt an der Nachricht',
  pastedBack: 'Ins Feld',
  pastedBackLabel: (name) => `${name} ins Feld setzen`,
  noChatModel: 'Kein Chat-Modell.',
  goOn: 'Weiter',
  unread: {
    tooLong: (name) => `${name} ist länger als 1 MB, mehr als ein Gespräch fassen kann.`,
    lost: (name) => `${name} konnte nicht gelesen werden. Gibt es die Datei noch?`,
    pdf: (name) => `${name} ist ein PDF. So etwas kann Sluice noch nicht lesen.`,
    picture: (name) => `${name} ist ein Bild. So etwas kann Sluice noch nicht lesen.`,
    office: (name) => `${name} ist ein Office-Dokument. So etwas kann Sluice noch nicht lesen.`,
    archive: (name) => `${name} ist ein Archiv. So etwas kann Sluice noch nicht lesen.`,
    sound: (name) => `${name} ist eine Tonaufnahme. So etwas kann Sluice noch nicht lesen.`,
    film: (name) => `${name} ist ein Film. So etwas kann Sluice noch nicht lesen.`,
    model: (name) =>
      `${name} ist ein Modell. Drücke oben auf den Namen des Modells, um es zu öffnen.`,
    weights: (name) =>
      `${name} ist ein Modell in einer Form, die die Seite nicht lesen kann. Suche eine Datei davon, deren Name auf .gguf endet, oder mache eine mit dem Programm (sluice convert).`,
    other: (name) => `${name} ist keine Textdatei, und Sluice kann sie nicht lesen.`,
  },
  savedPrompts: 'Gesicherte Systemprompts',
  promptName: 'Name zum Sichern',
  savePrompt: 'Sichern',
  promptSaved: (name) => `${name} ist auf diesem Gerät gesichert`,
  removePrompt: (name) => `Den Systemprompt ${name} löschen`,
  waitsFor: (name) => `Wartet auf ${name}`,
  waitsPaused: 'Wartet, bis das Laden weitergeht',
  unanswered: 'Darauf hat noch niemand geantwortet.',
  onlyStories: (name) => `${name} erzählt nur Geschichten und kann keine Fragen beantworten.`,
  couldAnswer: (name) => `${name} kann es und passt zu diesem Gerät.`,
  answerWith: (name) => `Mit ${name} antworten`,
  answerWhenHere: (name) => `Mit ${name} antworten, sobald es da ist`,
  goOnAndAnswer: (name) => `${name} weiter laden, dann antworten`,
  tellStory: (name) => `${name} eine Geschichte erzählen lassen`,
  writtenWith: (name) => `Geschrieben mit ${name}.`,
  writtenWithOther: (file) => `Geschrieben mit einer früheren oder anderen Datei namens ${file}.`,
  loadIt: 'Laden',
  findIt: (file) => `${file} wieder auswählen`,
  loadFrom: (host) => `Laden von ${host}`,
  goOnWith: (name) => `Weiter mit ${name}`,
};
