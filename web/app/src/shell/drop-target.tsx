import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { t } from '../texts';
import { findParts } from '../find/parts';
import { insideParts } from '../inside/parts';
import { openFiles } from '../model/offer';
import type { Handles } from '../model/source';
import { talkParts } from '../talk/parts';
import { view } from '../ui/view';

function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes('Files') ?? false;
}

/** A trace is looked into; other files go where they belong. */
async function takeAny(files: File[], handles: Handles): Promise<void> {
  const [first] = files;
  const named = first !== undefined && /\.jsonl$/i.test(first.name);
  if (!named || !(await (await insideParts.fetch())?.openIfTrace(first))) take(files, handles);
}

/** A model is opened; in the conversation any other file goes with the message, and in Find it is read. */
function take(files: File[], handles: Handles): void {
  const model = files.some(({ name }) => name.toLowerCase().endsWith('.gguf'));
  if (!model && view.peek() === 'find') {
    void findParts.fetch().then((room) => room?.addDropped(files, handles));
    return;
  }
  const opens = model || view.peek() === 'write';
  if (opens) openFiles(files, handles);
  // With none, it only takes back what was said of other files.
  void talkParts.fetch().then((all) => all?.attach(opens ? [] : files));
}

/** Accepts files dropped anywhere on the page, and says so while one is dragged over it. */
export function DropTarget() {
  const over = useSignal(false);
  useEffect(() => {
    const abort = new AbortController();
    const { signal } = abort;
    const onOver = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      over.value = true;
    };
    const onLeave = (event: DragEvent): void => {
      // relatedTarget is null only if the pointer leaves the window.
      if (event.relatedTarget === null) over.value = false;
    };
    const onDrop = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      over.value = false;
      // To be asked for within the event
      const items = [...(event.dataTransfer?.items ?? [])] as (DataTransferItem & {
        getAsFileSystemHandle?(): Promise<FileSystemHandle | null>;
      })[];
      const handles = Promise.all(
        items.map(async (one) => (await one.getAsFileSystemHandle?.()) ?? null),
      );
      void takeAny([...(event.dataTransfer?.files ?? [])], handles);
    };
    window.addEventListener('dragover', onOver, { signal });
    window.addEventListener('dragleave', onLeave, { signal });
    window.addEventListener('drop', onDrop, { signal });
    return () => abort.abort();
  }, []);
  if (!over.value) return null;
  const { drop, dropAny, dropFind } = t.value.page;
  return (
    <div class="drop" aria-hidden="true">
      <p>{{ talk: dropAny, write: drop, find: dropFind }[view.value]}</p>
    </div>
  );
}
