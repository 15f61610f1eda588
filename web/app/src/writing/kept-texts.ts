// The texts of this visit, as they are kept in the tab's session storage over a reload.
import type { Finish } from '@sluice/engine';
import { isCount, isObject } from '../history/records';
import { isId, newId } from '../history/tree';
import { readRuns } from '../inside/kept-runs';
import type { KeptRun } from '../inside/log';
import { parseModelAddress } from '../model/source';
import { MAX_PROMPT } from '../link/prompt';

/** Which model wrote a text. */
export interface By {
  name: string;
  kind: 'bundled' | 'address' | 'files';
  /** Its address if it has one that a link can name. */
  url: string | null;
}

export interface Written {
  /** Stays the same while it grows. */
  id: string;
  /** What the reader gave. */
  prompt: string;
  /** All that was written after it. */
  text: string;
  /** Tokens of the text. */
  tokens: number;
  /** How it ended; null while it is being written, or if it failed. */
  finish: Finish | null;
  /** The seed of the last run; null until it has ended. */
  seed: number | null;
  by: By | null;
  /** Where in the text the last run began: after Continue it is not 0. */
  begun: number;
  /** The settings of the last run, as in a fragment. */
  settings: string;
  /** Its tokens, where they are known. */
  runs: readonly KeptRun[];
  /** The text that this one was written on from, and the characters that both have, after the prompt; null: from none. */
  branch: { of: string; at: number } | null;
}

export interface Texts {
  /** From the oldest to the newest. */
  texts: Written[];
  /** The place of the one that is shown. */
  at: number;
}

export const MOST_TEXTS = 20;
/** Characters of what is kept; the browser takes two bytes for each. */
const MOST_CHARACTERS = 500_000;
const VERSION = 1;
const FINISHES: readonly unknown[] = ['eos', 'length', 'stop', 'aborted', 'context', null];

/** Drops the oldest texts, but never the one that is shown, until there are few enough. */
export function bounded({ texts, at }: Texts): Texts {
  const kept = [...texts];
  let place = at;
  const drop = (): void => {
    const oldest = place === 0 && kept.length > 1 ? 1 : 0;
    kept.splice(oldest, 1);
    if (oldest < place) place -= 1;
  };
  while (kept.length > MOST_TEXTS) drop();
  while (kept.length > 0 && JSON.stringify(kept).length > MOST_CHARACTERS) drop();
  return { texts: kept, at: Math.max(0, Math.min(place, kept.length - 1)) };
}

export function toJson({ texts, at }: Texts): string {
  return JSON.stringify({ version: VERSION, at, texts });
}

function readBy(value: unknown): By | null | undefined {
  if (value === null) return null;
  if (!isObject(value) || typeof value['name'] !== 'string') return undefined;
  const { name, kind, url } = value;
  if (kind === 'address') {
    const address = typeof url === 'string' ? parseModelAddress(url) : undefined;
    return address === undefined ? undefined : { name, kind, url: address };
  }
  return kind === 'bundled' || kind === 'files' ? { name, kind, url: null } : undefined;
}

function readText(value: unknown): Written | undefined {
  if (!isObject(value)) return undefined;
  const { prompt, text, tokens, finish, seed, begun, settings } = value;
  const by = readBy(value['by']);
  if (typeof prompt !== 'string' || prompt.length > MAX_PROMPT) return undefined;
  if (typeof text !== 'string' || text === '' || by === undefined) return undefined;
  if (!isCount(tokens) || !isCount(begun) || begun > text.length) return undefined;
  if (seed !== null && !isCount(seed)) return undefined;
  if (!FINISHES.includes(finish) || typeof settings !== 'string') return undefined;
  const id = isId(value['id']) ? value['id'] : newId();
  const runs = readRuns(value['runs'], text.length);
  const branch = readBranch(value['branch'], text.length);
  const how = { finish: finish as Finish | null, seed, by, begun, settings };
  return { id, prompt, text, tokens, ...how, runs, branch };
}

function readBranch(value: unknown, length: number): Written['branch'] {
  if (!isObject(value)) return null;
  const { of, at } = value;
  return isId(of) && isCount(at) && at < length ? { of, at } : null;
}

/** The texts in `json`; what is no text is left out. Never throws. */
export function fromJson(json: string | null): Texts {
  const none: Texts = { texts: [], at: 0 };
  if (json === null || json.length > 2 * MOST_CHARACTERS) return none;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return none;
  }
  if (!isObject(value) || value['version'] !== VERSION || !Array.isArray(value['texts']))
    return none;
  const texts = value['texts'].map(readText).filter((text) => text !== undefined);
  const at = isCount(value['at']) ? value['at'] : texts.length;
  return bounded({ texts, at: Math.max(0, Math.min(at, texts.length - 1)) });
}

const KEY = 'sluice-texts';

/** Where the browser allows no storage, texts stay until the tab is closed or loaded again. */
export function keepTexts(now: Texts): void {
  try {
    sessionStorage.setItem(KEY, toJson(now));
  } catch {
    // as above
  }
}

export function keptTexts(): Texts {
  try {
    return fromJson(sessionStorage.getItem(KEY));
  } catch {
    return fromJson(null);
  }
}
