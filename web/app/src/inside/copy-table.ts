import { copy } from '../ui/clipboard';

/** Puts a table on the clipboard: as HTML for documents, and as a text. Returns false if the browser refuses. */
export async function copyTable(html: string, text: string): Promise<boolean> {
  try {
    const parts = { 'text/html': html, 'text/plain': text };
    const blobs = Object.entries(parts).map(([type, part]) => [type, new Blob([part], { type })]);
    await navigator.clipboard.write([
      new ClipboardItem(Object.fromEntries(blobs) as Record<string, Blob>),
    ]);
    return true;
  } catch {
    // Some browsers take texts only.
    return copy(text);
  }
}
