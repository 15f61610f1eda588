// Whether the settings are open.
import { signal } from '@preact/signals';

export const settingsOpen = signal(false);

export function openSettings(): void {
  settingsOpen.value = true;
}
