// Which conversation this tab showed last, so that it comes back after a reload.
const KEY = 'sluice-open';

export function remembered(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** Null: none. Returns whether the browser has a place for it. */
export function remember(id: string | null): boolean {
  try {
    if (id === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, id);
    return true;
  } catch {
    return false;
  }
}
