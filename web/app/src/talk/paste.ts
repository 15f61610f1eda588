// A long text that is pasted goes with the message as a file, so that the field stays one that can be read.
import { batch } from '@preact/signals';
import { announcement } from '../ui/announce';
import type { Attachment } from '../history/tree';
import type { FieldController } from './field-controller';
import { talkRoom } from '../texts/en/talk-room';
import { inAllLanguages } from '../texts/all-languages';
import { talkTexts } from './texts';

/** From more characters or lines than these on. */
const MOST_CHARACTERS = 4000;
const MOST_LINES = 60;

export function isLong(text: string): boolean {
  if (text.length > MOST_CHARACTERS) return true;
  let lines = 1;
  for (const _ of text.matchAll(/\n/g)) if (++lines > MOST_LINES) return true;
  return false;
}

/** Its name is in the language in which it was pasted. */
const rooms = inAllLanguages('talkRoom', talkRoom);

/** Whether a file is a text that was pasted, by its name. That is kept over a reload, and stays when the language changes. */
export function wasPasted({ name }: Attachment): boolean {
  const plain = name.replace(/ \d+$/, '');
  return rooms.value.some(({ pasted }) => pasted === plain);
}

/** For the field's paste event. */
export function onPaste(into: FieldController, event: ClipboardEvent): void {
  const text = (event.clipboardData?.getData('text/plain') ?? '').replace(/\r\n?/g, '\n');
  if (!isLong(text)) return;
  event.preventDefault();
  const names = new Set(into.attachments.peek().map(({ name }) => name));
  const { pasted, pastedAsFile } = talkTexts.peek();
  let name = pasted;
  for (let n = 2; names.has(name); ++n) name = `${pasted} ${n}`;
  batch(() => {
    into.addText(name, text);
    announcement.value = pastedAsFile;
  });
}

/** Puts a text that was pasted into the field after all, where `caret` is. */
export function backIntoField(of: FieldController, file: Attachment, caret: number): void {
  const text = of.draft.peek();
  batch(() => {
    of.remove(file);
    of.draft.value = text.slice(0, caret) + file.text + text.slice(caret);
  });
}
