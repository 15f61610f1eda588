// A long text that is pasted goes with the message as a file, so that the field stays one that can be read.
import { batch } from '@preact/signals';
import { announcement } from '../announce';
import type { Attachment } from '../history/tree';
import { detach } from './attach';
import { attachments, draft } from './state';
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

/** What it is called in each language (`pasted` of the texts). */
const NAMES = ['Pasted text', 'Eingefügter Text'];

/** Whether a file is a text that was pasted, by its name. That is kept over a reload, and stays when the language changes. */
export function wasPasted({ name }: Attachment): boolean {
  return NAMES.includes(name.replace(/ \d+$/, ''));
}

/** For the field's paste event. */
export function onPaste(event: ClipboardEvent): void {
  const text = (event.clipboardData?.getData('text/plain') ?? '').replace(/\r\n?/g, '\n');
  if (!isLong(text)) return;
  event.preventDefault();
  const names = new Set(attachments.peek().map(({ name }) => name));
  const { pasted, pastedAsFile } = talkTexts.peek();
  let name = pasted;
  for (let n = 2; names.has(name); ++n) name = `${pasted} ${n}`;
  batch(() => {
    attachments.value = [...attachments.peek(), { name, text }];
    announcement.value = pastedAsFile;
  });
}

/** Puts a text that was pasted into the field after all, where `caret` is. */
export function intoField(file: Attachment, caret: number): void {
  const text = draft.peek();
  batch(() => {
    detach(file);
    draft.value = text.slice(0, caret) + file.text + text.slice(caret);
  });
}
