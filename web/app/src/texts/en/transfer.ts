// What is said of files with conversations that are imported; it comes with the list.
import type { Expected, TransferCode } from '../../history/checks';
import { plural } from './plural';

export interface Params {
  expected?: Expected;
  limit?: number;
}

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
  size: (_, { limit = 0 }) => `The file is larger than ${Math.round(limit / 2 ** 20)} MiB.`,
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

export const transfer = {
  /** Why a file can't be imported: of a TransferError. */
  refused: (code: TransferCode, place: string, params: Params) =>
    `${transferWords[code](place, params)} Nothing was imported.`,
  imported: (n: number) =>
    plural(n, { one: '1 conversation was imported', other: `${n} conversations were imported` }),
};
