// The room of the settings, the figures in detail, and the list of shortcuts. It comes with the other parts (later.ts), as a file of its own.
export { Settings } from '../settings/all';
export { Details } from '../settings/figures';
export { ShortcutList } from '../settings/shortcut-list';
