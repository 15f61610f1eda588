// Conversations as files: written as JSON, and read again with every field checked. (Markdown is in markdown-file.ts.) The
// page fetches this script when a file is wanted.
import { MOST_BYTES, MOST_CONVERSATIONS, MOST_MESSAGES, TransferError } from './checks';
import { conversationAt, listAt, objectAt, textAt } from './checks';
import { Pace, type PaceOptions } from './pace';
import { MOST_NAME, isObject } from './records';
import { partsOf, textOf } from './parts';
import { getReadable, type Store } from './store';
import { plain } from '../texts/plain-text';
import { create, newId, titleOf } from './tree';
import { type Conversation, type Message } from './tree';

export { TransferError, type Expected, type TransferCode } from './checks';

const FORMAT = 'sluice-conversations';

const HEAD = `{"format":"${FORMAT}","version":1,"conversations":[\n`;
const TAIL = '\n]}\n';

/** Conversations as a JSON file. */
export function toJson(conversations: readonly Conversation[]): Blob {
  return fileOf(conversations.map((c) => new Blob([JSON.stringify(c)])));
}

function fileOf(parts: readonly Blob[]): Blob {
  const between = parts.flatMap((part, i) => (i === 0 ? [part] : [',\n', part]));
  return new Blob([HEAD, ...between, TAIL], { type: 'application/json' });
}

/**
 * All conversations of a store as JSON files. Usually it is one; what is more than a file that can be imported goes into
 * further ones. Throws the store's HistoryError.
 */
export async function allToJson(
  store: Pick<Store, 'list' | 'get'>,
  most = MOST_BYTES,
): Promise<Blob[]> {
  const files: Blob[] = [];
  let parts: Blob[] = [];
  let bytes = HEAD.length + TAIL.length;
  for (const { id } of await store.list()) {
    const conversation = await getReadable(store, id);
    // Deleted meanwhile, or of a newer version of the page.
    if (conversation === null) continue;
    const part = new Blob([JSON.stringify(conversation)]);
    if (parts.length > 0 && bytes + part.size + 2 > most) {
      files.push(fileOf(parts));
      parts = [];
      bytes = HEAD.length + TAIL.length;
    }
    parts.push(part);
    bytes += part.size + 2;
  }
  if (parts.length > 0 || files.length === 0) files.push(fileOf(parts));
  return files;
}

/**
 * The conversations in a file: one that toJson() wrote, or a list of messages with role and content as other programs write
 * them, alone or as `messages`. Store.add() keeps them. Throws a TransferError that names the place of what can't be used;
 * then nothing of the file is given.
 */
export async function fromFile(file: Blob, options?: PaceOptions): Promise<Conversation[]> {
  if (file.size > MOST_BYTES) throw new TransferError('size', '', { limit: MOST_BYTES });
  const text = await file.text();
  const pace = new Pace(options);
  const reading = read(text);
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value;
    await pace.keep();
  }
}

/** fromFile() for a text, in one go. */
export function fromJson(text: string): Conversation[] {
  const reading = read(text);
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value;
  }
}

/** Reads a text, one conversation at a step. */
function* read(text: string): Generator<undefined, Conversation[], undefined> {
  const value: unknown = (yield* readLines(text)) ?? parsed(text);
  if (Array.isArray(value)) return [fromMessages({ messages: value }, '')];
  if (!isObject(value)) throw new TransferError('format');
  if (value['format'] !== FORMAT) {
    if (!Array.isArray(value['messages'])) throw new TransferError('format');
    return [fromMessages(value, 'messages')];
  }
  if (value['version'] !== 1) throw new TransferError('version', 'version');
  const list = listAt(value['conversations'], 'conversations', MOST_CONVERSATIONS);
  if (list.length === 0) throw new TransferError('empty');
  const taken = new Set<string>();
  const found: Conversation[] = [];
  for (const [i, entry] of list.entries()) {
    const place = `conversations[${i}]`;
    const conversation = conversationAt(entry, place);
    if (taken.has(conversation.id)) throw new TransferError('twice', `${place}.id`);
    taken.add(conversation.id);
    found.push(conversation);
    yield;
  }
  return found;
}

/** What a file holds that fileOf() wrote, with a line for each conversation; null: it is another one. */
function* readLines(text: string): Generator<undefined, object | null, undefined> {
  if (!text.startsWith(HEAD) || !text.endsWith(TAIL)) return null;
  const conversations: unknown[] = [];
  for (const line of text.slice(HEAD.length, -TAIL.length).split(',\n', MOST_CONVERSATIONS + 1)) {
    try {
      conversations.push(JSON.parse(line));
    } catch {
      return null;
    }
    yield;
  }
  return { format: FORMAT, version: 1, conversations };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Some browsers give up on deep nesting: that is no file of conversations either.
    throw new TransferError('json');
  }
}

const SYSTEM: readonly unknown[] = ['system', 'developer'];

/** A conversation of messages with role and content, one after another. */
function fromMessages(value: Record<string, unknown>, place: string): Conversation {
  const list = listAt(value['messages'], place, MOST_MESSAGES);
  const system: string[] = [];
  const messages: Record<string, Message> = {};
  const c = create();
  let leaf: string | null = null;
  for (const [i, entry] of list.entries()) {
    const at = `${place}[${i}]`;
    const { role, content, reasoning_content } = objectAt(entry, at);
    const said = contentAt(content, `${at}.content`);
    if (SYSTEM.includes(role)) {
      system.push(said);
      continue;
    }
    if (role !== 'user' && role !== 'assistant' && role !== 'tool')
      throw new TransferError('type', `${at}.role`, { expected: 'role' });
    const id = newId();
    messages[id] = {
      id,
      parent: leaf,
      role,
      parts: partsOf(said, textAt(reasoning_content ?? '', `${at}.reasoning_content`)),
      attachments: [],
      created: c.created + i,
      finish: 'stop',
      figures: null,
      dropped: 0,
    };
    leaf = id;
  }
  if (leaf === null) throw new TransferError('empty');
  const { title, model } = value;
  const given = typeof title === 'string' ? titleOf(title) : '';
  const first = Object.values(messages).find(({ role }) => role === 'user');
  return {
    ...c,
    messages,
    leaf,
    system: system.join('\n\n'),
    title: given || (first === undefined ? '' : titleOf(textOf(first))),
    named: given !== '',
    model: typeof model === 'string' ? plain(model.slice(0, MOST_NAME)) : null,
  };
}

/** A content: a text, none (a call of a tool), or a list of parts with texts. */
function contentAt(value: unknown, place: string): string {
  if (value === null) return '';
  if (!Array.isArray(value)) return textAt(value, place);
  const parts = listAt(value, place, MOST_MESSAGES).map((part, i) =>
    textAt(objectAt(part, `${place}[${i}]`)['text'], `${place}[${i}].text`),
  );
  return textAt(parts.join('\n\n'), place);
}
