// The model that was used last, as it is remembered from one visit to the next.

export interface Choice {
  /** The model's own name. */
  name: string;
  /** See refOf() in source.ts. */
  ref: string;
}

const KEY = 'sluice-model';

function read(from: Storage): Choice | null {
  try {
    const { name, ref } = JSON.parse(from.getItem(KEY) ?? '{}') as Record<string, unknown>;
    return typeof name === 'string' && typeof ref === 'string' ? { name, ref } : null;
  } catch {
    return null;
  }
}

/** What this tab used last; in a new one, what the reader chose last in any. */
export function lastChoice(): Choice | null {
  try {
    return read(sessionStorage) ?? read(localStorage);
  } catch {
    // Blocked storage
    return null;
  }
}

/** `chosen`: by the reader, so that it is for the next visit as well. */
export function rememberChoice(choice: Choice, chosen: boolean): void {
  try {
    const text = JSON.stringify(choice);
    sessionStorage.setItem(KEY, text);
    if (chosen) localStorage.setItem(KEY, text);
  } catch {
    // Then the next visit begins with the page's own model.
  }
}
