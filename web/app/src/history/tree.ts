// A conversation is a tree of messages: an edit or a new answer becomes a sibling, so that no branch is lost. All functions
// give new objects and share what did not change. They only iterate, since a tree may be 100,000 messages deep.
import { plain } from '../texts/plain-text';
import { partsOf, textOf, type Parts } from './parts';

export interface Figures {
  promptTokens: number;
  reusedTokens: number;
  tokens: number;
  tokensPerSecond: number;
  ttftMs: number;
  seed: number | null;
  model: string;
}

/** A text file that went with a message. */
export interface Attachment {
  name: string;
  text: string;
}

export type Role = 'user' | 'assistant' | 'tool';
export type Finish = 'stop' | 'length' | 'aborted' | 'error';

export interface Message {
  id: string;
  parent: string | null;
  role: Role;
  /** What it says; none: it has no text yet. */
  parts: Parts;
  attachments: Attachment[];
  /** Milliseconds since 1970. Siblings are ordered by it. */
  created: number;
  /** Null: it is being written. After a reload that means that it was cut off. */
  finish: Finish | null;
  figures: Figures | null;
  /** Messages that were left out of its prompt. */
  dropped: number;
}

/**
 * The version of a conversation and of each of its messages, as they are kept and exported. 1: a message had `content` and
 * `reasoning`, two texts. 2: it has parts.
 */
export const VERSION = 2;

export interface Conversation {
  version: typeof VERSION;
  id: string;
  title: string;
  /** The reader has named it. */
  named: boolean;
  system: string;
  /** Milliseconds since 1970. */
  created: number;
  changed: number;
  /** By id. */
  messages: Record<string, Message>;
  /** The last message of the branch that is shown. */
  leaf: string | null;
  /** For a parent ('' for none) with several children: the child that was shown last. Without an entry: the newest. */
  chosen: Record<string, string>;
  /** Name of the model last used. */
  model: string | null;
  /** Which model that is (refOf in model/source.ts); null: not known. */
  from: string | null;
}

/** What update() can change. A message keeps its place in the tree. */
export type Changes = Partial<Omit<Message, 'id' | 'parent' | 'created'>>;

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a value is an id as newId() makes them: no such id is a name that objects have by themselves. */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value);
}

/** A new id. (Pages without https have no crypto.randomUUID.) */
export function newId(): string {
  if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** A new conversation without messages. */
export function create(system = '', model: string | null = null): Conversation {
  const now = Date.now();
  return {
    version: VERSION,
    id: newId(),
    title: '',
    named: false,
    system,
    created: now,
    changed: now,
    messages: {},
    leaf: null,
    chosen: {},
    model,
    from: null,
  };
}

/** A new message under the leaf, for append(). A user's is finished, an answer is being written. */
export function message(c: Conversation, role: Role, text: string, more?: Changes): Message {
  return {
    id: newId(),
    parent: c.leaf,
    role,
    parts: partsOf(text),
    attachments: [],
    created: Date.now(),
    finish: role === 'assistant' ? null : 'stop',
    figures: null,
    dropped: 0,
    ...more,
  };
}

/** A message of a conversation; undefined if it has none with this id. */
export function messageOf(c: Conversation, id: string | null): Message | undefined {
  return id !== null && Object.hasOwn(c.messages, id) ? c.messages[id] : undefined;
}

/** By messages: for each parent ('' for none) its children, oldest first. */
const families = new WeakMap<Conversation['messages'], Map<string, string[]>>();

function familiesOf({ messages }: Conversation): Map<string, string[]> {
  const known = families.get(messages);
  if (known !== undefined) return known;
  const found = new Map<string, string[]>();
  for (const { id, parent } of Object.values(messages).sort(byAge)) {
    const family = found.get(parent ?? '');
    if (family === undefined) found.set(parent ?? '', [id]);
    else family.push(id);
  }
  families.set(messages, found);
  return found;
}

/** Orders messages, oldest first. */
export function byAge(a: Message, b: Message): number {
  return a.created - b.created || (a.id < b.id ? -1 : 1);
}

/** The messages of the branch that is shown, from the first to the leaf. */
export function path(c: Conversation): Message[] {
  const found: Message[] = [];
  const seen = new Set<string>();
  let at = messageOf(c, c.leaf);
  while (at !== undefined && !seen.has(at.id)) {
    seen.add(at.id);
    found.push(at);
    at = messageOf(c, at.parent);
  }
  return found.reverse();
}

/** The ids of a message and of those beside it, oldest first; none if there is no such message. */
export function siblings(c: Conversation, id: string): readonly string[] {
  const one = messageOf(c, id);
  return one === undefined ? [] : (familiesOf(c).get(one.parent ?? '') ?? []);
}

/**
 * Adds a message under its parent. It becomes the leaf. The first message of the user gives the title, unless the reader
 * has given one. Throws a RangeError if its id is there already or its parent is not.
 */
export function append(c: Conversation, added: Message): Conversation {
  if (messageOf(c, added.id) !== undefined) throw new RangeError('this message is there already');
  if (added.parent !== null && messageOf(c, added.parent) === undefined)
    throw new RangeError('the parent of this message is not there');
  const beside = familiesOf(c).get(added.parent ?? '') ?? [];
  // Clocks may be set back, and two messages may have the same millisecond: parents and older siblings come first.
  const older = [messageOf(c, beside.at(-1) ?? null), messageOf(c, added.parent)];
  const created = Math.max(added.created, ...older.map((one) => (one?.created ?? -1) + 1));
  const first = added.role === 'user' && added.parent === null && !c.named;
  return {
    ...c,
    title: first ? titleOf(textOf(added)) : c.title,
    changed: Date.now(),
    messages: { ...c.messages, [added.id]: { ...added, created } },
    leaf: added.id,
    chosen: beside.length === 0 ? c.chosen : { ...c.chosen, [added.parent ?? '']: added.id },
  };
}

/** Changes a message. An unknown id changes nothing. */
export function update(c: Conversation, id: string, changes: Changes): Conversation {
  const old = messageOf(c, id);
  if (old === undefined) return c;
  const { parent, created } = old;
  const messages = { ...c.messages, [id]: { ...old, ...changes, id, parent, created } };
  // The tree is the same one: no need to look at all messages again for each token.
  const known = families.get(c.messages);
  if (known !== undefined) families.set(messages, known);
  return { ...c, changed: Date.now(), messages };
}

/**
 * A new version of a message of the user beside the old one. It becomes the leaf, for an answer to follow. An unknown id,
 * or that of another role, changes nothing.
 */
export function edit(
  c: Conversation,
  id: string,
  text: string,
  attachments: Attachment[],
): Conversation {
  const old = messageOf(c, id);
  if (old?.role !== 'user') return c;
  const parent = old.parent;
  return append(c, { ...message(c, 'user', text, { attachments }), parent });
}

/** Makes the parent of an answer the leaf, so that the next answer becomes its sibling. */
export function retry(c: Conversation, id: string): Conversation {
  const old = messageOf(c, id);
  return old?.role !== 'assistant' ? c : { ...c, leaf: old.parent };
}

/** Shows the branch of a message, down to the leaf that was shown there last. */
export function choose(c: Conversation, id: string): Conversation {
  const target = messageOf(c, id);
  if (target === undefined) return c;
  const parent = target.parent ?? '';
  const chosen = siblings(c, id).length > 1 ? { ...c.chosen, [parent]: id } : c.chosen;
  return { ...c, chosen, leaf: leafUnder(c, id) };
}

/** The end of the branch below a message that was shown last. */
function leafUnder(c: Conversation, id: string): string {
  const all = familiesOf(c);
  const seen = new Set<string>();
  let at = id;
  for (;;) {
    const children = all.get(at);
    const newest = children?.at(-1);
    if (children === undefined || newest === undefined || seen.has(at)) return at;
    seen.add(at);
    const last = Object.hasOwn(c.chosen, at) ? c.chosen[at] : undefined;
    at = last !== undefined && children.includes(last) ? last : newest;
  }
}

/** Removes a message and all below it. If it was shown, its neighbour is, or else its parent. */
export function remove(c: Conversation, id: string): Conversation {
  const target = messageOf(c, id);
  if (target === undefined) return c;
  const all = familiesOf(c);
  const gone = new Set([id]);
  // A set also gives what is added to it while it is read.
  for (const one of gone) for (const child of all.get(one) ?? []) gone.add(child);
  const left = <T>(entries: Record<string, T>, stays: (key: string, value: T) => boolean) =>
    Object.fromEntries(Object.entries(entries).filter(([key, value]) => stays(key, value)));
  const beside = siblings(c, id);
  const place = beside.indexOf(id);
  const neighbour = beside[place - 1] ?? beside[place + 1];
  const rest: Conversation = {
    ...c,
    changed: Date.now(),
    messages: left(c.messages, (key) => !gone.has(key)),
    chosen: left(c.chosen, (key, value) => !gone.has(key) && !gone.has(value)),
  };
  if (c.leaf === null || !gone.has(c.leaf)) return rest;
  return neighbour === undefined ? { ...rest, leaf: target.parent } : choose(rest, neighbour);
}

/** The conversation with a title given by the reader; an empty one brings back that of its first message. */
export function rename(c: Conversation, title: string): Conversation {
  const clean = titleOf(title);
  if (clean !== '') return { ...c, title: clean, named: true, changed: Date.now() };
  const first = path(c).find(({ role }) => role === 'user');
  return {
    ...c,
    title: titleOf(first === undefined ? '' : textOf(first)),
    named: false,
    changed: Date.now(),
  };
}

/**
 * Marks what was being written when its page ended; of what had no text yet nothing stays. To call by whoever becomes the
 * writer of a conversation.
 */
export function cutOff(c: Conversation): Conversation {
  const open = Object.values(c.messages).filter(({ finish }) => finish === null);
  if (open.length === 0) return c;
  const isBegun = ({ parts }: Message): boolean => parts.length > 0;
  const closed = open
    .filter(isBegun)
    .map((one) => [one.id, { ...one, finish: 'aborted' as const }]);
  const all = { ...c, messages: { ...c.messages, ...Object.fromEntries(closed) } };
  return open.filter((one) => !isBegun(one)).reduce((left, { id }) => remove(left, id), all);
}

/** Characters of a title. */
export const MOST_TITLE = 60;
/** A title that would be cut shorter than this at a word is cut within it. */
const WORD = 30;

/** The first words of a text, for a title: one line without invisible characters; '' if there are none. */
export function titleOf(text: string): string {
  const line = plain(text.slice(0, 2000));
  if (line.length <= MOST_TITLE) return line;
  const most = line.slice(0, MOST_TITLE);
  // A word that ends just there stays whole.
  const word = most.slice(0, -1).lastIndexOf(' ');
  const cut = word < WORD ? most.slice(0, -1) : most.slice(0, word);
  return `${cut.replace(/\p{Surrogate}$/u, '').trimEnd()}…`;
}
