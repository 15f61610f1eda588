// How the page learns that a worker is gone: a worker holds a lock for as long as it lives, and the
// page waits for the same lock. No event tells of a worker that closed itself or was killed.
// navigator.locks is missing in insecure contexts; there only the error event is left.

/** In the worker: takes the lock for good, and resolves when it is held. */
export function holdLifeline(name: string): Promise<void> {
  const locks = globalThis.navigator?.locks;
  if (name === '' || locks === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    void locks
      .request(name, () => {
        resolve();
        return new Promise<void>(() => {});
      })
      .catch(() => resolve());
  });
}

/** On the page: resolves once the worker that holds the lock is gone; never, where that can't be known. */
export function lifelineCut(name: string, signal: AbortSignal): Promise<void> {
  const locks = globalThis.navigator?.locks;
  if (name === '' || locks === undefined) return new Promise(() => {});
  return new Promise((resolve) => {
    void locks.request(name, { signal }, () => resolve()).catch(() => {});
  });
}

let serial = 0;

/** A name that nothing else of this origin has. */
export function uniqueName(): string {
  serial += 1;
  return `sluice-${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}-${serial}`;
}

/** The name of a worker's lock; '' where there are no locks. */
export function lifelineName(): string {
  return globalThis.navigator?.locks === undefined ? '' : uniqueName();
}
