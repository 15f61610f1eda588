// What is in the fields of conversations and not sent yet, kept in the tab's session storage over a reload.
import { isObject, readAttachments } from '../history/records';
import type { Attachment } from '../history/tree';

export interface Draft {
  text: string;
  attachments: Attachment[];
}

/** Characters of a file's name. */
export const MOST_NAME = 200;

export const NOTHING: Draft = { text: '', attachments: [] };

/** What is in a field. */
export interface Field extends Draft {
  /** The message of the reader's that is being edited, by its id. */
  editing: string | null;
  /** What was in the field when the reader began to edit it: it comes back afterwards. */
  aside: Draft;
  /** Why files could not be attached, or ''. It is not kept. */
  refusal: string;
}

/** By conversation, by its id; '' for a new one. The ones that were left last come last. */
export type Fields = ReadonlyMap<string, Field>;

/** Characters of what is kept; the browser takes two bytes for each. */
const MOST_CHARACTERS = 1_000_000;
const VERSION = 1;
const KEY = 'sluice-drafts';

export function isEmpty({ text, attachments }: Draft): boolean {
  return text === '' && attachments.length === 0;
}

/** Without the oldest fields, and then without files, if it would be too much to keep. */
export function toJson(fields: Fields): string {
  const kept = [...fields].map(([of, { refusal: _, ...field }]) => ({ of, ...field }));
  const json = (): string => JSON.stringify({ version: VERSION, fields: kept });
  while (kept.length > 1 && json().length > MOST_CHARACTERS) kept.shift();
  const [last] = kept;
  if (last !== undefined && json().length > MOST_CHARACTERS) {
    kept[0] = { ...last, attachments: [], aside: { ...last.aside, attachments: [] } };
  }
  return json();
}

function readDraft(value: unknown): Draft | null {
  if (!isObject(value) || typeof value['text'] !== 'string') return null;
  return { text: value['text'], attachments: readAttachments(value['attachments']) };
}

/** The fields in `json`; what is none is left out. Never throws. */
export function fromJson(json: string | null): Fields {
  let value: unknown;
  try {
    value = JSON.parse(json ?? '');
  } catch {
    return new Map();
  }
  if (!isObject(value) || value['version'] !== VERSION || !Array.isArray(value['fields']))
    return new Map();
  const read: [string, Field][] = [];
  for (const one of value['fields'].filter(isObject)) {
    const { of, editing } = one;
    const [draft, aside] = [readDraft(one), readDraft(one['aside'])];
    if (typeof of !== 'string' || draft === null || aside === null) continue;
    const edited = typeof editing === 'string' ? editing : null;
    read.push([of, { ...draft, editing: edited, aside, refusal: '' }]);
  }
  return new Map(read);
}

/** Where the browser allows no storage, or has no room, drafts stay until the tab is closed or loaded again. */
export function keepFields(fields: Fields): void {
  try {
    if (fields.size === 0) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, toJson(fields));
  } catch {
    // as above
  }
}

export function keptFields(): Fields {
  try {
    return fromJson(sessionStorage.getItem(KEY));
  } catch {
    return new Map();
  }
}
