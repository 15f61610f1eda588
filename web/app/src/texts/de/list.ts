// The German of ../en/list.ts.
import type { list as english } from '../en/list';

export const list: typeof english = {
  search: 'Suchen',
  searching: 'Sucht',
  showMore: (n) => `Mehr zeigen (noch ${n})`,
  none: 'Gespräche bleiben auf diesem Gerät, und nirgends sonst.',
  more: (title) => `Mehr zu ${title}`,
  allMore: 'Mehr',
  rename: 'Umbenennen',
  renameField: 'Titel des Gesprächs',
  save: 'Sichern',
  removeQuestion: (title) => `„${title}“ löschen?`,
  removeAll: 'Alle löschen',
  removeAllQuestion: (n) => `Alle ${n} Gespräche löschen? Das lässt sich nicht rückgängig machen.`,
  keep: 'Behalten',
  exportAll: 'Alle als JSON sichern',
  importJson: 'Importieren',
  today: 'Heute',
  yesterday: 'Gestern',
  week: 'Letzte 7 Tage',
  older: 'Älter',
  fold: 'Die Liste der Gespräche ausblenden',
  remove: 'Löschen',
  deleted: 'Gelöscht.',
  undo: 'Rückgängig',
  takenBack: 'Das Gespräch ist wieder da',
};
