// How the page learns that a worker is gone: a worker holds a lock as long as it lives, and the page
// waits for the same lock. There is no event for a worker that closed itself or was killed.
// Insecure contexts have no navigator.locks; there only the error event is left.

export function hasLifelines(): boolean {
  return globalThis.navigator?.locks !== undefined;
}

/** In the worker: takes the lock for good. Resolves when it is held, or at once without locks. */
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

/** Resolves when all workers that hold the lock are gone; never, without locks or after `signal` fired. */
export function lifelineCut(name: string, signal: AbortSignal): Promise<void> {
  const locks = globalThis.navigator?.locks;
  if (name === '' || locks === undefined) return new Promise(() => {});
  return new Promise((resolve) => {
    void locks.request(name, { signal }, () => resolve()).catch(() => {});
  });
}

let serial = 0;

/** A name that is unique among the threads of this origin. */
export function uniqueName(): string {
  serial += 1;
  return `sluice-${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}-${serial}`;
}

/** The name of a worker's lock; '' if there are no locks. */
export function lifelineName(): string {
  return hasLifelines() ? uniqueName() : '';
}
