// The script that parts.ts fetches when it is needed, and else when the page is at rest.
export { Settings } from './all';
export { Details } from './figures';
export { ShortcutList } from './shortcut-list';
