import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { openFiles } from '../link';

function hasFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes('Files') ?? false;
}

/** Accepts a file dropped anywhere on the page, and says so while one is dragged over it. */
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
      openFiles([...(event.dataTransfer?.files ?? [])], 'composer');
    };
    window.addEventListener('dragover', onOver, { signal });
    window.addEventListener('dragleave', onLeave, { signal });
    window.addEventListener('drop', onDrop, { signal });
    return () => abort.abort();
  }, []);
  if (!over.value) return null;
  return (
    <div class="drop" aria-hidden="true">
      <p>Drop the .gguf file to open it</p>
    </div>
  );
}
