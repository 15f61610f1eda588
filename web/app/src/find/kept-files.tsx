// What Find keeps on this device, as the sheet of models shows it beside the models.
import { signal } from '@preact/signals';
import { refresh } from '../model/kept-list';
import { Removal } from '../model/removal';
import { openStore } from './store';
import { findTexts } from './texts';
import { keptTexts } from '../model/kept-texts';

/** How many files there are, and their bytes. */
export const keptFiles = signal({ files: 0, bytes: 0 });

export async function lookAtFiles(): Promise<void> {
  const store = openStore();
  const all = (await store?.list()) ?? [];
  store?.close();
  keptFiles.value = { files: all.length, bytes: all.reduce((sum, one) => sum + one.bytes, 0) };
}

/** Removes all of them. False if the browser refuses. */
async function removeFiles(): Promise<boolean> {
  const store = openStore();
  try {
    for (const { id } of (await store?.list()) ?? []) await store?.remove(id);
    return true;
  } catch {
    return false;
  } finally {
    store?.close();
    await lookAtFiles();
    await refresh();
  }
}

/** A row of the list. */
export function FilesRow() {
  const words = findTexts.value;
  const { files, bytes: size } = keptFiles.value;
  if (files === 0) return null;
  return (
    <li>
      <p class="kept-name">{words.kept}</p>
      <p class="note">{words.keptFacts(files, size)}</p>
      <Removal
        label={keptTexts.value.remove}
        of={words.kept}
        question={words.removeAllQuestion}
        remove={removeFiles}
      />
    </li>
  );
}
