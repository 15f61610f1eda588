// The conversation that was open comes back after a reload.
import { effect } from '@preact/signals';
import { keepSummaries, openById, trouble } from '../history/library';
import { leaveDeleted } from '../list/state';
import { answering, keepWhatIsWritten, open, show } from './state';

const KEY = 'sluice-open';

function remembered(): string | null {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** Opens the conversation that this tab showed last, and remembers the one that it shows from now on. */
export async function startTalk(): Promise<void> {
  keepSummaries();
  keepWhatIsWritten();
  leaveDeleted();
  const id = remembered();
  if (id !== null) {
    const before = open.value;
    const found = await openById(id);
    // The reader may have begun another one meanwhile.
    if (found !== null && open.value === before && before.tree.value.leaf === null) show(found);
    else if (found !== open.value && found !== answering.value?.in) found?.leave();
  }
  effect(() => {
    const { id: shown, leaf } = open.value.tree.value;
    try {
      if (leaf !== null) sessionStorage.setItem(KEY, shown);
      else sessionStorage.removeItem(KEY);
    } catch (error) {
      void error;
      trouble.value ??= 'none';
    }
  });
}
