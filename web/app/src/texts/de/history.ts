// The German of ../en/history.ts.
import type { HistoryCode } from '../../history/errors';
import type { Expected, TransferCode } from '../../history/checks';
import type { MarkdownWords } from '../../history/markdown-file';
import type { Params, history as english } from '../en/history';
import { mebibytes } from '../en/history';

const expectedWords: Record<Expected, string> = {
  object: 'ein Objekt',
  list: 'eine Liste',
  text: 'ein Text',
  textOrNull: 'ein Text oder null',
  id: 'eine Kennung wie 0b8f3c1e-5a4d-4c6b-9e2f-7d1a3b5c9e0f',
  idOrNull: 'eine Kennung oder null',
  sameId: 'die Kennung, unter der die Nachricht steht',
  role: 'user, assistant oder tool',
  finish: 'stop, length, aborted, error oder null',
  figures: 'die Kennzahlen einer Antwort oder null',
  flag: 'true oder false',
  time: 'eine Zeit in Millisekunden seit 1970',
  count: 'eine ganze Zahl ab 0',
};

const transferWords: Record<TransferCode, (place: string, params: Params) => string> = {
  size: (_, { limit = 0 }) => `Die Datei ist größer als ${mebibytes(limit)} MiB.`,
  json: () => 'Die Datei ist kein JSON.',
  format: () =>
    'In der Datei sind keine Gespräche: weder welche von Sluice noch eine Liste von Nachrichten.',
  version: (place) => `${place}: Die Datei stammt von einer neueren Version dieser Seite.`,
  empty: () => 'In der Datei sind keine Nachrichten.',
  type: (place, { expected = 'object' }) =>
    `${place}: Hier wird ${expectedWords[expected]} erwartet.`,
  long: (place, { limit = 0 }) => `${place}: Der Text hat mehr als ${limit} Zeichen.`,
  many: (place, { limit = 0 }) => `${place || 'Die Datei'}: Es sind mehr als ${limit} Einträge.`,
  parent: (place) =>
    `${place}: Diese Nachricht gibt es im Gespräch nicht, oder nicht an dieser Stelle.`,
  cycle: (place) => `${place}: Diese Nachricht ist eine Antwort auf sich selbst.`,
  twice: (place) => `${place}: Diese Kennung kommt zweimal vor.`,
};

const problemsWords: Record<HistoryCode, string> = {
  full: 'Auf diesem Gerät ist kein Platz mehr, darum ist das zuletzt Gesagte nicht gespeichert. Lösche Gespräche oder Modelle, oder exportiere dieses Gespräch.',
  none: 'Dieser Browser speichert für diese Seite nichts, vielleicht weil das Fenster privat ist. Gespräche bleiben, bis du die Seite schließt; exportiere, was du behalten willst.',
  newer:
    'In einem anderen Tab ist eine neuere Version dieser Seite. Lade diesen Tab neu, um weiterzumachen: Was er noch nicht gespeichert hat, geht verloren, kopiere es also vorher.',
  failed:
    'Das Gespräch konnte nicht gespeichert werden. Noch ist es hier; exportiere es, um sicherzugehen.',
};

const markdownWords: MarkdownWords = {
  untitled: 'Gespräch',
  system: 'Systemprompt',
  roles: { user: 'Du', assistant: 'Antwort', tool: 'Werkzeug' },
  reasoning: 'Überlegung',
};

export const history: typeof english = {
  problems: problemsWords,
  refused: (code, place, params) =>
    `${transferWords[code](place, params)} Es wurde nichts importiert.`,
  imported: (n) => (n === 1 ? '1 Gespräch wurde importiert' : `${n} Gespräche wurden importiert`),
  markdown: markdownWords,
  allFile: 'Sluice-Gespräche',
  readOnly: 'Dieses Gespräch wird in einem anderen Tab geschrieben.',
  takeOver: 'Hier schreiben',
};
