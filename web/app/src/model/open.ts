// Whether the sheet of models is open.
import { batch, signal } from '@preact/signals';

export const sheetOpen = signal(false);
/** The element of the sheet that takes the focus when it is there; '': where the dialog puts it. */
export const aim = signal('');

/** `at`: the id of the element to begin with. */
export function openSheet(at: 'kept-heading' | 'shelf-heading' | 'address' | '' = ''): void {
  batch(() => {
    sheetOpen.value = true;
    aim.value = at;
  });
}

export function closeSheet(): void {
  sheetOpen.value = false;
}
