// What is said to the reader of kept conversations: errors, and the words in files.
import type { HistoryCode } from '../../history/errors';
import type { Expected, TransferCode } from '../../history/checks';
import type { MarkdownWords } from '../../history/markdown-file';

export interface Params {
  expected?: Expected;
  limit?: number;
}

export const mebibytes = (bytes: number): string => String(Math.round(bytes / 2 ** 20));

const expectedWords: Record<Expected, string> = {
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

const transferWords: Record<TransferCode, (place: string, params: Params) => string> = {
  size: (_, { limit = 0 }) => `The file is larger than ${mebibytes(limit)} MiB.`,
  json: () => 'The file is not JSON.',
  format: () => 'The file has no conversations: neither Sluice’s nor a list of messages.',
  version: (place) => `${place}: the file was written by a newer version of this page.`,
  empty: () => 'The file has no messages.',
  type: (place, { expected = 'object' }) =>
    `${place}: ${expectedWords[expected]} is expected here.`,
  long: (place, { limit = 0 }) => `${place}: the text has more than ${limit} characters.`,
  many: (place, { limit = 0 }) => `${place || 'the file'}: there are more than ${limit} entries.`,
  parent: (place) => `${place}: this message is not in the conversation, or not in this place.`,
  cycle: (place) => `${place}: this message is an answer to itself.`,
  twice: (place) => `${place}: this id is there twice.`,
};

const problemsWords: Record<HistoryCode, string> = {
  full: 'There is no room left on this device, so what was said last isn’t kept. Delete conversations or models, or export this one.',
  none: 'This browser keeps nothing for this page, perhaps because the window is private. Conversations last until you close the page; export what you want to keep.',
  newer:
    'Another tab has a newer version of this page. Reload this tab to go on: what it hasn’t kept yet is lost, so copy that first.',
  failed: 'The conversation couldn’t be kept. It’s still here; export it if you want to be safe.',
};

const markdownWords: MarkdownWords = {
  untitled: 'Conversation',
  system: 'System prompt',
  roles: { user: 'You', assistant: 'Answer', tool: 'Tool' },
  reasoning: 'Thinking',
};

export const history = {
  /** Why conversations can't be kept, by HistoryError.code. */
  problems: problemsWords,
  /** Why a file can't be imported: of a TransferError. */
  refused: (code: TransferCode, place: string, params: Params) =>
    `${transferWords[code](place, params)} Nothing was imported.`,
  imported: (n: number) =>
    n === 1 ? '1 conversation was imported' : `${n} conversations were imported`,
  /** For toMarkdown(). */
  markdown: markdownWords,
  /** The name of the file with all conversations, without its ending. */
  allFile: 'Sluice conversations',
  readOnly: 'This conversation is being written in another tab.',
  takeOver: 'Write here',
};
