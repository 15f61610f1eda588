// What a page has not written yet when it ends. A browser may drop what the page asks of its database in its last moment. So
// it goes into the local storage as well, which is written at once, and from there into the database when a page comes again.
import { headOf, isNewer, isObject, readConversation, recordOf } from './records';
import { differences, type Store } from './store';
import type { Conversation } from './tree';

/** Before the id of a conversation. */
const KEY = 'sluice.last.';

/**
 * Keeps what differs in `next` from `previous`, which is known to be written; null: nothing of it is. Where the browser
 * allows no storage, or has no room, all is left to the database.
 */
export function keepLast(next: Conversation, previous: Conversation | null): void {
  const [messages, gone] =
    previous === null ? [Object.values(next.messages), []] : differences(next, previous);
  const words = {
    head: headOf(next),
    messages: messages.map(recordOf),
    gone,
    isWhole: previous === null,
  };
  try {
    localStorage.setItem(KEY + next.id, JSON.stringify(words));
  } catch {
    // as above
  }
}

/** Forgets what is kept of a conversation, or of all (null): it is written by now, or deleted. */
export function dropLast(id: string | null): void {
  for (const one of id === null ? keptIds() : [id]) {
    try {
      localStorage.removeItem(KEY + one);
    } catch {
      // Nothing was kept.
    }
  }
}

/** Writes what pages have kept to the store. What can't be written stays for the next time. Never throws. */
export async function writeLast(store: Store): Promise<void> {
  for (const id of keptIds()) {
    try {
      const words = parsed(localStorage.getItem(KEY + id));
      if (isNewer(words?.['head'])) continue;
      const before = await store.get(id);
      const whole = merged(id, before, words);
      if (whole !== null) await store.put(whole, before);
      dropLast(id);
    } catch {
      // The device is full, the store fails, or a newer page has written it: the page says so when it writes next.
    }
  }
}

function keptIds(): string[] {
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith(KEY));
    return keys.map((key) => key.slice(KEY.length));
  } catch {
    return [];
  }
}

/** A conversation with what was kept of it; null if that is damaged, older, or of one that is deleted. */
function merged(
  id: string,
  before: Conversation | null,
  words: Record<string, unknown> | null,
): Conversation | null {
  if (words === null || (before === null && words['isWhole'] !== true)) return null;
  const { head, messages, gone } = words;
  if (!isObject(head) || head['id'] !== id || !Array.isArray(messages)) return null;
  if (before !== null && !(Number(head['changed']) >= before.changed)) return null;
  const records = new Map<unknown, unknown>();
  for (const one of Object.values(before?.messages ?? {})) records.set(one.id, recordOf(one));
  for (const one of Array.isArray(gone) ? gone : []) records.delete(one);
  for (const one of messages) if (isObject(one)) records.set(one['id'], one);
  return readConversation(id, head, [...records.keys()], [...records.values()]);
}

function parsed(json: string | null): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(json ?? '');
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
