// Text files that go with a message.
import { batch } from '@preact/signals';
import type { Attachment } from '../history/tree';
import { t } from '../texts';
import { attachments, refusal, replaceFile, unread } from './state';

const MAX_BYTES = 1_000_000;

/** The text of a file; null if it is not UTF-8 text. */
async function textOf(file: File): Promise<string | null> {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
    return text.includes('\0') ? null : text.replace(/\r\n?/g, '\n');
  } catch {
    return null;
  }
}

/**
 * Adds text files to the message that is being written now. Each has its place there at once, and its text when it is read,
 * wherever that message is by then. Until then the message can't be sent.
 */
export async function attach(files: readonly File[]): Promise<void> {
  const places = files.map(({ name }): Attachment => ({ name: name.slice(0, 200), text: '' }));
  batch(() => {
    refusal.value = '';
    unread.value = new Set([...unread.peek(), ...places]);
    attachments.value = [...attachments.peek(), ...places];
  });
  const { tooLong, noText } = t.peek().talk;
  for (const [i, file] of files.entries()) {
    const place = places[i] as Attachment;
    const { name } = place;
    const text = file.size > MAX_BYTES ? null : await textOf(file);
    if (text !== null) replaceFile(place, [{ name, text }], '');
    else replaceFile(place, [], `${(file.size > MAX_BYTES ? tooLong : noText)(name)}.`);
  }
}

export function detach(file: Attachment): void {
  attachments.value = attachments.value.filter((had) => had !== file);
}
