// The model that was used last, as it is remembered from one visit to the next.
import { plain } from '../texts/plain-text';
import { OWN, parseModelAddress } from './source';

export interface Choice {
  /** The model's own name. */
  name: string;
  /** See refOf() in source.ts. */
  ref: string;
}

const KEY = 'sluice-model';
export const MOST_NAME = 200;
const MOST_REF = 4000;

/** Whether a text is what refOf() makes. Anything can be in a browser's storage, or in a conversation from elsewhere. */
export function isRef(text: string): boolean {
  if (text.length > MOST_REF) return false;
  return text === OWN || text.startsWith('file:') || parseModelAddress(text) === text;
}

function read(from: Storage): Choice | null {
  try {
    const { name, ref } = JSON.parse(from.getItem(KEY) ?? '{}') as Record<string, unknown>;
    if (typeof name !== 'string' || typeof ref !== 'string' || !isRef(ref)) return null;
    return { name: plain(name.slice(0, MOST_NAME)), ref };
  } catch {
    return null;
  }
}

/** What this tab used last; in a new one, what the reader chose last in any. */
export function lastChoice(): Choice | null {
  try {
    return read(sessionStorage) ?? read(localStorage);
  } catch {
    // Blocked storage
    return null;
  }
}

/** `chosen`: by the reader, so that it is for the next visit as well. */
export function rememberChoice(choice: Choice, chosen: boolean): void {
  try {
    const text = JSON.stringify(choice);
    sessionStorage.setItem(KEY, text);
    if (chosen) localStorage.setItem(KEY, text);
  } catch {
    // Then the next visit begins with the page's own model.
  }
}
