// The conversation that was open comes back after a reload.
import { effect } from '@preact/signals';
import { keepSummaries, openById, trouble } from '../history/library';
import { leaveDeleted } from '../list/state';
import { remember, remembered } from './remembered';
import { answering, draft, keepDrafts, keepWhatIsWritten, open, show } from './state';

/** Opens the conversation that this tab showed last, and remembers the one that it shows from now on. */
export async function startTalk(): Promise<void> {
  keepSummaries();
  keepWhatIsWritten();
  leaveDeleted();
  const id = remembered();
  let gone: string | null = null;
  if (id !== null) {
    const before = open.value;
    const found = await openById(id);
    if (found === null) gone = id;
    // The reader may have begun another one meanwhile.
    if (found !== null && open.value === before && before.tree.value.leaf === null) {
      // What was typed before is meant for the conversation that comes back.
      const typed = draft.value;
      draft.value = '';
      show(found);
      if (typed !== '') draft.value = typed;
    }
    if (found !== open.value && found !== answering.value?.in) found?.leave();
  }
  keepDrafts(gone);
  effect(() => {
    const { id: shown, leaf } = open.value.tree.value;
    if (!remember(leaf === null ? null : shown)) trouble.value ??= 'none';
  });
}
