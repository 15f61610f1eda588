// What the database holds, and how it is read back. Records may be damaged or written by an older version of the page: what
// can be used of them is, and one damaged message costs no other.
import { plain } from '../texts/plain-text';
import { isPartKind, partsOf, textOf, withMore, type Parts } from './parts';
import { VERSION, byAge, isId, titleOf, type Attachment, type Conversation } from './tree';
import { type Figures, type Finish, type Message, type Role } from './tree';

/** What a list shows of a conversation. */
export interface Summary {
  id: string;
  title: string;
  changed: number;
  created: number;
  model: string | null;
}

/** A conversation without its messages. */
export type Head = Omit<Conversation, 'messages'>;

const ROLES: readonly unknown[] = ['user', 'assistant', 'tool'] satisfies Role[];
const FINISHES: readonly unknown[] = ['stop', 'length', 'aborted', 'error'] satisfies Finish[];

export function isRole(value: unknown): value is Role {
  return ROLES.includes(value);
}

export function isFinish(value: unknown): value is Finish {
  return FINISHES.includes(value);
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Characters of one text, and of a name. */
export const MOST_TEXT = 16 * 2 ** 20;
export const MOST_NAME = 1000;
/** Characters of what names a model. */
export const MOST_FROM = 4000;
/** Files of one message, and its parts. */
export const MOST_ATTACHMENTS = 100;
export const MOST_PARTS = 1000;

/** The latest time that a Date can have. */
const LATEST = 8.64e15;

export function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= LATEST;
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}

const text = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, MOST_TEXT) : '';
const time = (value: unknown): number => (isTime(value) ? value : 0);
const line = (value: unknown): string => plain(text(value).slice(0, MOST_NAME));
const name = (value: unknown): string | null => (typeof value === 'string' ? line(value) : null);
/** A part of it would name another model. */
const whence = (value: unknown): string | null =>
  typeof value === 'string' && value.length <= MOST_FROM ? value : null;

export function summaryOf({ id, title, changed, created, model }: Head): Summary {
  return { id, title, changed, created, model };
}

export function headOf(c: Conversation): Head {
  const { messages: _, ...head } = c;
  return head;
}

/** A record as a summary; null if it is none. */
export function readSummary(id: string, value: unknown): Summary | null {
  if (!isObject(value) || value['id'] !== id || typeof value['title'] !== 'string') return null;
  const { title, changed, created, model } = value;
  if (!isTime(changed) || !isTime(created)) return null;
  return { id, title: line(title), changed, created, model: name(model) };
}

/**
 * Whether a record is of a newer version than this page knows: it would be damaged by being read and written again, so it
 * is left alone. (Such a page usually has a newer database as well, which this one can't open.)
 */
export function isNewer(value: unknown): boolean {
  return isObject(value) && Number(value['version']) > VERSION;
}

/** A record as a conversation without messages. What is damaged gets a plain value. */
export function readHead(id: string, value: unknown): Head {
  const { title, named, system, created, changed, leaf, chosen, model, from } = isObject(value)
    ? value
    : {};
  const pairs = Object.entries(isObject(chosen) ? chosen : {}).filter(
    (pair): pair is [string, string] => (pair[0] === '' || isId(pair[0])) && isId(pair[1]),
  );
  return {
    version: VERSION,
    id,
    title: line(title),
    named: named === true,
    system: text(system),
    created: time(created),
    changed: time(changed),
    leaf: isId(leaf) ? leaf : null,
    chosen: Object.fromEntries(pairs),
    model: name(model),
    from: whence(from),
  };
}

/** Figures as they were written; null if they are damaged. */
export function readFigures(value: unknown): Figures | null {
  if (!isObject(value)) return null;
  const { promptTokens, tokens, tokensPerSecond, ttftMs, seed, model } = value;
  // Records of before have it by its old name.
  const reusedTokens = value['reusedTokens'] ?? value['cachedTokens'];
  if (!isCount(promptTokens) || !isCount(reusedTokens) || !isCount(tokens)) return null;
  if (!isAmount(tokensPerSecond) || !isAmount(ttftMs)) return null;
  if ((seed !== null && !isCount(seed)) || typeof model !== 'string') return null;
  const name = line(model);
  return { promptTokens, reusedTokens, tokens, tokensPerSecond, ttftMs, seed, model: name };
}

/** What is none is left out. */
export function readAttachments(value: unknown): Attachment[] {
  if (!Array.isArray(value)) return [];
  return value.slice(0, MOST_ATTACHMENTS).flatMap((one) => {
    const { name, text: whole } = isObject(one) ? one : {};
    if (typeof name !== 'string' || typeof whole !== 'string') return [];
    return [{ name: line(name), text: text(whole) }];
  });
}

/** A message as a record. */
export function recordOf(one: Message): object {
  return { version: VERSION, ...one };
}

/** What a record of any version says; null if it has no such thing. */
function readParts({ version, content, reasoning, parts }: Record<string, unknown>): Parts | null {
  // Records of the first version have none.
  if (version === undefined || version === 1)
    return typeof content === 'string' ? partsOf(text(content), text(reasoning)) : null;
  if (!Array.isArray(parts)) return null;
  let read: Parts = [];
  for (const one of parts.slice(0, MOST_PARTS)) {
    const { part, text: said } = isObject(one) ? one : {};
    if (isPartKind(part)) read = withMore(read, part, text(said));
  }
  return read;
}

/** A record as a message; null if nothing of it can be used. */
function readMessage(id: unknown, value: unknown): Message | null {
  if (!isId(id) || !isObject(value)) return null;
  const { parent, role, attachments, created, finish, figures, dropped } = value;
  const parts = readParts(value);
  // Without these two there is nothing to show.
  if (!isRole(role) || parts === null) return null;
  return {
    id,
    // An id of no other message: mended() finds a place for it.
    parent: parent === null || isId(parent) ? parent : id,
    role,
    parts,
    attachments: readAttachments(attachments),
    created: time(created),
    finish: isFinish(finish) ? finish : null,
    figures: readFigures(figures),
    dropped: isCount(dropped) ? dropped : 0,
  };
}

/**
 * Messages as a tree: one whose parent is missing, or that stands in a circle, goes under the one that was written before
 * it.
 */
export function mended(messages: Message[]): Record<string, Message> {
  const ordered = [...messages].sort(byAge);
  const tree: Record<string, Message> = {};
  const children = new Map<string | null, string[]>();
  for (const one of ordered) {
    tree[one.id] = one;
    const family = children.get(one.parent);
    if (family === undefined) children.set(one.parent, [one.id]);
    else family.push(one.id);
  }
  const reached = new Set<string>();
  const reach = (from: readonly string[]): void => {
    const rest = [...from];
    for (let id = rest.pop(); id !== undefined; id = rest.pop()) {
      if (reached.has(id)) continue;
      reached.add(id);
      for (const child of children.get(id) ?? []) rest.push(child);
    }
  };
  const place = (lost: (one: Message) => boolean): void => {
    let before: string | null = null;
    for (const one of ordered) {
      if (!reached.has(one.id) && lost(one)) {
        tree[one.id] = { ...one, parent: before };
        reach([one.id]);
      }
      if (reached.has(one.id)) before = one.id;
    }
  };
  reach(children.get(null) ?? []);
  place(({ parent }) => parent === null || !Object.hasOwn(tree, parent));
  // What is left stands in circles.
  place(() => true);
  return tree;
}

/**
 * A conversation from its records; null if there are none. Without a usable head, the messages show what was written
 * last.
 */
export function readConversation(
  id: string,
  head: unknown,
  keys: readonly unknown[],
  values: readonly unknown[],
): Conversation | null {
  if (!isObject(head) && values.length === 0) return null;
  const read = values.map((value, i) => readMessage(keys[i], value)).filter((one) => one !== null);
  const messages = mended(read);
  const found = readHead(id, head);
  const has = (one: string | null): boolean => one !== null && Object.hasOwn(messages, one);
  const all = Object.values(messages).sort(byAge);
  const leaf = has(found.leaf) ? found.leaf : (all.at(-1)?.id ?? null);
  const pairs = Object.entries(found.chosen).filter(
    ([parent, child]) => has(child) && (messages[child]?.parent ?? '') === parent,
  );
  const first = all.find(({ role }) => role === 'user');
  return {
    ...found,
    title: found.title || (first === undefined ? '' : titleOf(textOf(first))),
    messages,
    chosen: Object.fromEntries(pairs),
    // A leaf that is null although there are messages: the first message is being answered anew.
    leaf: isObject(head) && head['leaf'] === null ? null : leaf,
  };
}
