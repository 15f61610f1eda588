// Copying: some browsers refuse the clipboard, and the reader is told.

/** Puts a text on the clipboard. Returns false if the browser refuses. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
