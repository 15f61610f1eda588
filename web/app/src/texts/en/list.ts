// The list of conversations, which comes later.
import { plural } from './plural';

export const list = {
  untitled: 'New conversation',
  found: (n: number) =>
    n === 0
      ? 'Nothing found'
      : plural(n, { one: '1 conversation found', other: `${n} conversations found` }),
  removed: (title: string) => `${title} was deleted`,
  search: 'Search',
  searching: 'Searching',
  showMore: (n: number) => `Show more (${n} left)`,
  none: 'Conversations are kept on this device, and nowhere else.',
  more: (title: string) => `More for ${title}`,
  allMore: 'More',
  rename: 'Rename',
  renameField: 'Title of the conversation',
  save: 'Save',
  removeQuestion: (title: string) => `Delete “${title}”?`,
  removeAll: 'Delete all',
  removeAllQuestion: (n: number) => `Delete all ${n} conversations? This can’t be undone.`,
  keep: 'Keep',
  exportAll: 'Save all as JSON',
  importJson: 'Import',
  today: 'Today',
  yesterday: 'Yesterday',
  week: 'Last 7 days',
  older: 'Older',
  fold: 'Hide the list of conversations',
  remove: 'Delete',
  deleted: 'Deleted.',
  undo: 'Undo',
  takenBack: 'The conversation is back',
};
