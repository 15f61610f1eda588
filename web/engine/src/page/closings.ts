// The loaders of closed engines whose files are still being closed. Until they are, the cache counts their models as in use.

const closings = new Set<Promise<void>>();

/** Counts the files of a loader as being closed until `closed` resolves, which must not reject. */
export function nowClosing(closed: Promise<void>): void {
  closings.add(closed);
  void closed.then(() => closings.delete(closed));
}

/** Resolves when the files of all engines that this page has closed so far are closed; null: they are. */
export function closing(): Promise<unknown> | null {
  return closings.size === 0 ? null : Promise.all(closings);
}
