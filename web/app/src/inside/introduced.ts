// Whether the reader has had enough of the first words.
import { signal } from '@preact/signals';

const KEY = 'sluice-xray-introduced';

function read(): boolean {
  try {
    return localStorage.getItem(KEY) !== null;
  } catch {
    // Some browsers keep nothing here.
    return false;
  }
}

export const introduced = signal(read());

export function setIntroduced(): void {
  introduced.value = true;
  try {
    localStorage.setItem(KEY, '1');
  } catch {
    // It is said again at the next visit.
  }
}
