// Whether the settings are open, and the list of shortcuts.
import { signal } from '@preact/signals';

export const settingsOpen = signal(false);
export const shortcutsOpen = signal(false);

export function openSettings(): void {
  settingsOpen.value = true;
}
