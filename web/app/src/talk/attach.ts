// Text files that go with a message.
import type { Attachment } from '../history/tree';
import { HEAD_BYTES, kindOf, textIn } from './kinds';
import { MOST_NAME } from './drafts';
import type { FieldController } from './field-controller';
import { talkTexts } from './texts';

const MAX_BYTES = 1_000_000;

/** Why a file can't be read, in words; '' with its text. */
async function readFile(file: File): Promise<{ text: string; why: string }> {
  const { name, size } = file;
  const { unread: words } = talkTexts.peek();
  const head = size > MAX_BYTES ? file.slice(0, HEAD_BYTES) : file;
  const bytes = new Uint8Array(await head.arrayBuffer().catch(() => new ArrayBuffer(0)));
  if (bytes.length === 0 && size > 0) return { text: '', why: words.lost(name) };
  const kind = kindOf(bytes);
  if (kind === null && size > MAX_BYTES) return { text: '', why: words.tooLong(name) };
  const text = kind === null ? textIn(bytes) : null;
  return text === null ? { text: '', why: words[kind ?? 'other'](name) } : { text, why: '' };
}

/**
 * Adds text files to the message that is being written now. Each has its place there at once, and its text when it is read,
 * wherever that message is by then. Until then the message can't be sent.
 */
export async function attach(to: FieldController, files: readonly File[]): Promise<void> {
  const places = files.map(({ name }): Attachment => ({
    name: name.slice(0, MOST_NAME),
    text: '',
  }));
  to.add(places);
  for (const [i, file] of files.entries()) {
    const place = places[i] as Attachment;
    const { text, why } = await readFile(file);
    to.settle(place, why === '' ? [{ name: place.name, text }] : [], why);
  }
}
