// The strict checks of an imported file. Each error names its place in the file; nothing here recurses.
import { MOST_ATTACHMENTS, MOST_FROM, MOST_NAME, MOST_PARTS, MOST_TEXT, isCount } from './records';
import { isFinish, isObject, isRole, isTime, readFigures } from './records';
import { plain } from '../texts/plain-text';
import { isPartKind, partsOf, withMore, type Parts } from './parts';
import { VERSION, isId, type Attachment, type Conversation, type Message } from './tree';

/** Bytes of a file. */
export const MOST_BYTES = 64 * 2 ** 20;
export const MOST_CONVERSATIONS = 10_000;
/** In one conversation. */
export const MOST_MESSAGES = 100_000;

/**
 * 'size': the file has more than `limit` bytes. 'json': it is no JSON. 'format': it has no conversations. 'version': it is
 * of a newer version of the page. 'empty': it holds no conversation. At a place of it: 'type': not what is `expected`;
 * 'long', 'many': more than `limit` characters or entries; 'parent': names a message that is not there; 'cycle': the
 * message is below itself; 'twice': the id is there already.
 */
export type TransferCode =
  | 'size'
  | 'json'
  | 'format'
  | 'version'
  | 'empty'
  | 'type'
  | 'long'
  | 'many'
  | 'parent'
  | 'cycle'
  | 'twice';

/** What a place of the file must hold. The words are in texts/en/history.ts. */
export type Expected =
  | 'object'
  | 'list'
  | 'text'
  | 'textOrNull'
  | 'id'
  | 'idOrNull'
  | 'sameId'
  | 'role'
  | 'finish'
  | 'figures'
  | 'flag'
  | 'time'
  | 'count';

export class TransferError extends Error {
  override readonly name = 'TransferError';
  constructor(
    readonly code: TransferCode,
    /** Such as conversations[2].messages[5].role; '' for the whole file. */
    readonly place = '',
    readonly params: { expected?: Expected; limit?: number } = {},
  ) {
    super(`${place === '' ? 'the file' : place}: ${code} ${params.expected ?? params.limit ?? ''}`);
  }
}

type Fields = Record<string, unknown>;

function wrong(place: string, expected: Expected): TransferError {
  return new TransferError('type', place, { expected });
}

export function objectAt(value: unknown, place: string): Fields {
  if (!isObject(value)) throw wrong(place, 'object');
  return value;
}

export function listAt(value: unknown, place: string, limit: number): unknown[] {
  if (!Array.isArray(value)) throw wrong(place, 'list');
  if (value.length > limit) throw new TransferError('many', place, { limit });
  return value;
}

/** A text. Halves of characters, which no file and no model can hold, are replaced. */
export function textAt(value: unknown, place: string, limit = MOST_TEXT): string {
  if (typeof value !== 'string') throw wrong(place, 'text');
  if (value.length > limit) throw new TransferError('long', place, { limit });
  return value.replace(/\p{Surrogate}/gu, '\ufffd');
}

function timeAt(value: unknown, place: string): number {
  if (!isTime(value)) throw wrong(place, 'time');
  return value;
}

function idAt(value: unknown, place: string): string {
  if (!isId(value)) throw wrong(place, 'id');
  return value;
}

function idOrNullAt(value: unknown, place: string): string | null {
  if (value !== null && !isId(value)) throw wrong(place, 'idOrNull');
  return value;
}

function nameAt(value: unknown, place: string, limit = MOST_NAME): string | null {
  if (value !== null && typeof value !== 'string') throw wrong(place, 'textOrNull');
  return value === null ? null : textAt(value, place, limit);
}

function attachmentsAt(value: unknown, place: string): Attachment[] {
  return listAt(value, place, MOST_ATTACHMENTS).map((one, i) => {
    const { name, text } = objectAt(one, `${place}[${i}]`);
    return {
      name: plain(textAt(name, `${place}[${i}].name`, MOST_NAME)),
      text: textAt(text, `${place}[${i}].text`),
    };
  });
}

/** What a message says, in a conversation of this version. */
function partsAt(fields: Fields, place: string, version: number): Parts {
  if (version === 1) {
    return partsOf(
      textAt(fields['content'], `${place}.content`),
      textAt(fields['reasoning'], `${place}.reasoning`),
    );
  }
  let parts: Parts = [];
  for (const [i, one] of listAt(fields['parts'], `${place}.parts`, MOST_PARTS).entries()) {
    const at = `${place}.parts[${i}]`;
    const { part, text } = objectAt(one, at);
    // A kind that this page does not know is of a newer one.
    if (!isPartKind(part)) throw new TransferError('version', `${at}.part`);
    parts = withMore(parts, part, textAt(text, `${at}.text`));
  }
  return parts;
}

function messageAt(value: unknown, key: string, place: string, version: number): Message {
  const fields = objectAt(value, place);
  const { parent, role, attachments, created, finish, figures, dropped } = fields;
  if (!isId(key)) throw wrong(place, 'id');
  if (fields['id'] !== key) throw wrong(`${place}.id`, 'sameId');
  if (!isRole(role)) throw wrong(`${place}.role`, 'role');
  if (finish !== null && !isFinish(finish)) throw wrong(`${place}.finish`, 'finish');
  if (!isCount(dropped)) throw wrong(`${place}.dropped`, 'count');
  const read = readFigures(figures);
  if (read === null && figures !== null) throw wrong(`${place}.figures`, 'figures');
  // What the page reads from its own database is cut instead.
  if (read !== null) textAt((figures as Fields)['model'], `${place}.figures.model`, MOST_NAME);
  // One literal: a file may have 100,000 messages, and spreading into each takes longer than all checks.
  return {
    id: key,
    parent: idOrNullAt(parent, `${place}.parent`),
    role,
    parts: partsAt(fields, place, version),
    attachments: attachmentsAt(attachments, `${place}.attachments`),
    created: timeAt(created, `${place}.created`),
    finish,
    figures: read,
    dropped,
  };
}

/** Throws unless every message has its parent and leads to a first one. `places`: where each is in the file. */
function checkTree(messages: Record<string, Message>, places: ReadonlyMap<string, string>): void {
  const good = new Set<string>();
  for (const id in messages) {
    const walked = new Set<string>();
    let at: string | null = id;
    while (at !== null && !good.has(at)) {
      const place: string = places.get(at) ?? '';
      if (walked.has(at)) throw new TransferError('cycle', place);
      walked.add(at);
      const parent: string | null = messages[at]?.parent ?? null;
      if (parent !== null && !Object.hasOwn(messages, parent))
        throw new TransferError('parent', `${place}.parent`);
      at = parent;
    }
    for (const one of walked) good.add(one);
  }
}

/** A conversation from a file of Sluice. Unknown fields are left out. */
export function conversationAt(value: unknown, place: string): Conversation {
  const fields = objectAt(value, place);
  const { version, id, title, named, system, created, changed, leaf, chosen, model, from } = fields;
  if (version !== 1 && version !== VERSION) throw new TransferError('version', `${place}.version`);
  if (typeof named !== 'boolean') throw wrong(`${place}.named`, 'flag');
  const entries = Object.entries(objectAt(fields['messages'], `${place}.messages`));
  if (entries.length > MOST_MESSAGES)
    throw new TransferError('many', `${place}.messages`, { limit: MOST_MESSAGES });
  const messages: Record<string, Message> = {};
  const places = new Map<string, string>();
  entries.forEach(([key, entry], i) => {
    messages[key] = messageAt(entry, key, `${place}.messages[${i}]`, version);
    places.set(key, `${place}.messages[${i}]`);
  });
  checkTree(messages, places);
  const shown = idOrNullAt(leaf, `${place}.leaf`);
  if (shown !== null && !Object.hasOwn(messages, shown))
    throw new TransferError('parent', `${place}.leaf`);
  const last: Record<string, string> = {};
  Object.entries(objectAt(chosen, `${place}.chosen`)).forEach(([parent, entry], i) => {
    const child = idAt(entry, `${place}.chosen[${i}]`);
    const under = Object.hasOwn(messages, child) ? (messages[child]?.parent ?? '') : null;
    if (under !== parent) throw new TransferError('parent', `${place}.chosen[${i}]`);
    last[parent] = child;
  });
  return {
    version: VERSION,
    id: idAt(id, `${place}.id`),
    title: plain(textAt(title, `${place}.title`, MOST_NAME)),
    named,
    system: textAt(system, `${place}.system`),
    created: timeAt(created, `${place}.created`),
    changed: timeAt(changed, `${place}.changed`),
    messages,
    leaf: shown,
    chosen: last,
    model: nameAt(model, `${place}.model`),
    // Older files have none.
    from: nameAt(from ?? null, `${place}.from`, MOST_FROM),
  };
}
