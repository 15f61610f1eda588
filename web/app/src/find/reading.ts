// Reads the text of a file, whatever it is: what is none is refused with a reason.
import { plain } from '../texts/plain-text';
import { HEAD_BYTES, kindOf, textIn, type Kind } from '../talk/kinds';

/** Bytes of a file at most: a book has about one million. */
export const MOST_BYTES = 10_000_000;
/** Characters of a name. */
const MOST_NAME = 200;

/** 'long': more than MOST_BYTES; 'lost': the browser can't read it; 'empty': no visible character; a kind: it is no text. */
export type Refusal = 'long' | 'lost' | 'empty' | Kind;

/** With its folder, if it came with one. */
export function nameOf(file: File): string {
  const whole = plain((file.webkitRelativePath || file.name).slice(-MOST_NAME));
  return whole === '' ? '?' : whole;
}

/** The text of a file, or why it can't be read. Lines end with \n. */
export async function readText(file: File): Promise<{ text: string } | { why: Refusal }> {
  const large = file.size > MOST_BYTES;
  const part = large ? file.slice(0, HEAD_BYTES) : file;
  const bytes = new Uint8Array(await part.arrayBuffer().catch(() => new ArrayBuffer(0)));
  if (bytes.length === 0) return { why: file.size > 0 ? 'lost' : 'empty' };
  const kind = kindOf(bytes);
  if (kind !== null) return { why: kind };
  if (large) return { why: 'long' };
  const text = textIn(bytes);
  if (text === null) return { why: 'other' };
  return /[^\s\p{Cf}]/u.test(text) ? { text } : { why: 'empty' };
}

/** Whether a file of a folder is hidden, or in a hidden folder: nobody means it. */
export function isHidden({ webkitRelativePath }: File): boolean {
  return /(^|\/)\./.test(webkitRelativePath);
}

/** Files of a folder at most, and folders within folders. */
const MOST_FILES = 10_000;
const MOST_DEPTH = 16;

/** All files of these folders. Each has the path within its folder as its name. */
export async function filesIn(folders: readonly FileSystemDirectoryHandle[]): Promise<File[]> {
  const files: File[] = [];
  const walk = async (folder: FileSystemDirectoryHandle, path: string, depth: number) => {
    for await (const one of folder.values()) {
      if (files.length >= MOST_FILES) return;
      const name = `${path}/${one.name}`;
      if (one.kind === 'file')
        files.push(named(await (one as FileSystemFileHandle).getFile(), name));
      else if (depth < MOST_DEPTH) await walk(one as FileSystemDirectoryHandle, name, depth + 1);
    }
  };
  for (const folder of folders) await walk(folder, folder.name, 0);
  return files;
}

function named(file: File, name: string): File {
  Object.defineProperty(file, 'webkitRelativePath', { value: name, configurable: true });
  return file;
}
