// Files that the page gives the reader.
import { plain } from '../texts/plain-text';

/** A file's name for a title: without what file systems refuse. `extension` has no dot. */
export function fileName(title: string, extension: string): string {
  // Some systems refuse these characters, names that begin or end with a dot, and names of devices.
  const clean = plain(title)
    .replace(/[\\/:*?"<>|]+/g, ' ')
    .replace(/\s+/g, ' ')
    .replace(/^[\s.]+|[\s.]+$/g, '');
  const device = /^(con|prn|aux|nul|com\d|lpt\d)$/i.test(clean);
  return `${clean === '' || device ? 'sluice' : clean}.${extension}`;
}

/** Gives the reader a file. */
export function saveFile(name: string, file: Blob): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // By then the browser has begun to read it.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
