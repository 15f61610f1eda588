// Text files that go with a message.
import { t } from '../texts';
import { attachments, refusal } from './state';

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

/** Adds text files to the message that is being written. */
export async function attach(files: readonly File[]): Promise<void> {
  refusal.value = '';
  const refused: string[] = [];
  for (const file of files) {
    const name = file.name.slice(0, 200);
    const text = file.size > MAX_BYTES ? null : await textOf(file);
    if (text === null) {
      const { tooLong, noText } = t.peek().talk;
      refused.push(file.size > MAX_BYTES ? tooLong(name) : noText(name));
    } else {
      attachments.value = [...attachments.value.filter((had) => had.name !== name), { name, text }];
    }
  }
  refusal.value = refused
    .map((words) => `${words}. `)
    .join('')
    .trim();
}

export function detach(name: string): void {
  attachments.value = attachments.value.filter((had) => had.name !== name);
}
