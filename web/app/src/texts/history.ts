// What is said to the reader of kept conversations: errors, and the words in files.
import type { HistoryCode } from '../history/errors';
import type { Expected, TransferCode } from '../history/checks';
import type { MarkdownWords } from '../history/markdown-file';

interface Params {
  expected?: Expected;
  limit?: number;
}

const mebibytes = (bytes: number): string => String(Math.round(bytes / 2 ** 20));

const enExpected: Record<Expected, string> = {
  object: 'an object',
  list: 'a list',
  text: 'a text',
  textOrNull: 'a text or null',
  id: 'an id like 0b8f3c1e-5a4d-4c6b-9e2f-7d1a3b5c9e0f',
  idOrNull: 'an id or null',
  sameId: 'the id under which the message stands',
  role: 'user, assistant or tool',
  finish: 'stop, length, aborted, error or null',
  figures: 'the figures of an answer or null',
  flag: 'true or false',
  time: 'a time in milliseconds since 1970',
  count: 'a whole number from 0 on',
};

const deExpected: Record<Expected, string> = {
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

const enTransfer: Record<TransferCode, (place: string, params: Params) => string> = {
  size: (_, { limit = 0 }) => `The file is larger than ${mebibytes(limit)} MiB.`,
  json: () => 'The file is not JSON.',
  format: () => 'The file has no conversations: neither Sluice’s nor a list of messages.',
  version: (place) => `${place}: the file was written by a newer version of this page.`,
  empty: () => 'The file has no messages.',
  type: (place, { expected = 'object' }) => `${place}: ${enExpected[expected]} is expected here.`,
  long: (place, { limit = 0 }) => `${place}: the text has more than ${limit} characters.`,
  many: (place, { limit = 0 }) => `${place || 'the file'}: there are more than ${limit} entries.`,
  parent: (place) => `${place}: this message is not in the conversation, or not in this place.`,
  cycle: (place) => `${place}: this message is an answer to itself.`,
  twice: (place) => `${place}: this id is there twice.`,
};

const deTransfer: Record<TransferCode, (place: string, params: Params) => string> = {
  size: (_, { limit = 0 }) => `Die Datei ist größer als ${mebibytes(limit)} MiB.`,
  json: () => 'Die Datei ist kein JSON.',
  format: () =>
    'In der Datei sind keine Gespräche: weder welche von Sluice noch eine Liste von Nachrichten.',
  version: (place) => `${place}: Die Datei stammt von einer neueren Version dieser Seite.`,
  empty: () => 'In der Datei sind keine Nachrichten.',
  type: (place, { expected = 'object' }) => `${place}: Hier wird ${deExpected[expected]} erwartet.`,
  long: (place, { limit = 0 }) => `${place}: Der Text hat mehr als ${limit} Zeichen.`,
  many: (place, { limit = 0 }) => `${place || 'Die Datei'}: Es sind mehr als ${limit} Einträge.`,
  parent: (place) =>
    `${place}: Diese Nachricht gibt es im Gespräch nicht, oder nicht an dieser Stelle.`,
  cycle: (place) => `${place}: Diese Nachricht ist eine Antwort auf sich selbst.`,
  twice: (place) => `${place}: Diese Kennung kommt zweimal vor.`,
};

const enProblems: Record<HistoryCode, string> = {
  full: 'There is no room left on this device, so what was said last isn’t kept. Delete conversations or models, or export this one.',
  none: 'This browser keeps nothing for this page, perhaps because the window is private. Conversations last until you close the page; export what you want to keep.',
  newer:
    'Another tab has a newer version of this page. Reload this tab to go on: what it hasn’t kept yet is lost, so copy that first.',
  failed: 'The conversation couldn’t be kept. It’s still here; export it if you want to be safe.',
};

const deProblems: Record<HistoryCode, string> = {
  full: 'Auf diesem Gerät ist kein Platz mehr, darum ist das zuletzt Gesagte nicht gespeichert. Lösche Gespräche oder Modelle, oder exportiere dieses Gespräch.',
  none: 'Dieser Browser speichert für diese Seite nichts, vielleicht weil das Fenster privat ist. Gespräche bleiben, bis du die Seite schließt; exportiere, was du behalten willst.',
  newer:
    'In einem anderen Tab ist eine neuere Version dieser Seite. Lade diesen Tab neu, um weiterzumachen: Was er noch nicht gespeichert hat, geht verloren, kopiere es also vorher.',
  failed:
    'Das Gespräch konnte nicht gespeichert werden. Noch ist es hier; exportiere es, um sicherzugehen.',
};

const enMarkdown: MarkdownWords = {
  untitled: 'Conversation',
  system: 'System prompt',
  roles: { user: 'You', assistant: 'Answer', tool: 'Tool' },
  reasoning: 'Thinking',
};

const deMarkdown: MarkdownWords = {
  untitled: 'Gespräch',
  system: 'Systemprompt',
  roles: { user: 'Du', assistant: 'Antwort', tool: 'Werkzeug' },
  reasoning: 'Überlegung',
};

const en = {
  /** Why conversations can't be kept, by HistoryError.code. */
  problems: enProblems,
  /** Why a file can't be imported: of a TransferError. */
  refused: (code: TransferCode, place: string, params: Params) =>
    `${enTransfer[code](place, params)} Nothing was imported.`,
  imported: (n: number) =>
    n === 1 ? '1 conversation was imported' : `${n} conversations were imported`,
  /** For toMarkdown(). */
  markdown: enMarkdown,
  /** The name of the file with all conversations, without its ending. */
  allFile: 'Sluice conversations',
  readOnly: 'This conversation is being written in another tab.',
  takeOver: 'Write here',
};

const de: typeof en = {
  problems: deProblems,
  refused: (code, place, params) =>
    `${deTransfer[code](place, params)} Es wurde nichts importiert.`,
  imported: (n) => (n === 1 ? '1 Gespräch wurde importiert' : `${n} Gespräche wurden importiert`),
  markdown: deMarkdown,
  allFile: 'Sluice-Gespräche',
  readOnly: 'Dieses Gespräch wird in einem anderen Tab geschrieben.',
  takeOver: 'Hier schreiben',
};

export const history = { en, de };
