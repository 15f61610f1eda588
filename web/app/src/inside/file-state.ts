// The trace from a file that is looked into, in the place of the page's views.
import { batch, signal } from '@preact/signals';
import { subjectOfFile } from './file-subject';
import { fileOpen } from './open';
import type { Subject } from './subject';
import { TraceFileError, readTrace } from './trace-file';

/** A file, as far as it is read. */
export interface OpenFile {
  name: string;
  /** Null: it is being read, or can't be. */
  subject: Subject | null;
  /** Its last line was not whole. */
  cut: boolean;
  /** Why it can't be read; null: it can. */
  refused: TraceFileError | null;
}

export const file = signal<OpenFile | null>(null);
/** Counts the files: one that is still read is no more shown when another comes. */
let opened = 0;

/** Opens a file with a trace, and shows it, or why it can't be shown. Never rejects. */
export async function openTrace(given: File): Promise<void> {
  const mine = ++opened;
  const { name } = given;
  const none = { name, subject: null, cut: false, refused: null };
  batch(() => {
    file.value = none;
    fileOpen.value = true;
  });
  try {
    const { trace, cut } = await readTrace(given);
    if (mine !== opened) return;
    file.value = { ...none, subject: subjectOfFile(`file ${mine}`, trace), cut };
  } catch (error) {
    if (mine !== opened) return;
    const refused =
      error instanceof TraceFileError ? error : new TraceFileError('unread', 0, '', error);
    file.value = { ...none, refused };
  }
}

/** How a trace begins, as the page and the program write it. */
const BEGINS = '{"event":"trace"';

/** Opens a file that may be something else. False: it is no trace. */
export async function openIfTrace(given: File): Promise<boolean> {
  // Where it can't be read, whoever takes it says so.
  const begins = await given
    .slice(0, BEGINS.length)
    .text()
    .catch(() => '');
  if (begins !== BEGINS) return false;
  void openTrace(given);
  return true;
}

export function closeTrace(): void {
  opened += 1;
  batch(() => {
    file.value = null;
    fileOpen.value = false;
  });
}
