// The page's side of the stored states of conversations: `states`. The engine worker writes and reads them (kept-states.ts);
// a loader worker answers these calls.
import { ask } from './cache-worker.js';
import { invalid, show } from './options.js';
import type { StateStore } from '../shared/cache-types.js';

export const STATE_ID = 'a text of 1 to 200 characters';
const DEFAULT_LIMIT = 512_000_000;

let limit = DEFAULT_LIMIT;

/** Bytes that all states may take. */
export function stateLimit(): number {
  return limit;
}

/** Lone surrogates are refused: they have no UTF-8, so two ids could name the same file. */
export function isStateId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= 200 && !/\p{Surrogate}/u.test(id);
}

export const states: StateStore = Object.freeze({
  list: () => ask('listStates', null),
  async delete(id) {
    if (!isStateId(id)) throw invalid(`the id is ${show(id)}; give ${STATE_ID}`);
    return ask('deleteState', { id });
  },
  clear: () => ask('shrinkStates', { bytes: 0 }),
  async limit(bytes) {
    if (!Number.isSafeInteger(bytes) || bytes < 0)
      throw invalid(`bytes is ${show(bytes)}; give a whole number from 0 on`);
    limit = bytes;
    return ask('shrinkStates', { bytes });
  },
} satisfies StateStore);
