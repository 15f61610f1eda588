// The page around the views: its head, dialogs, shortcuts, and what is said of the list before that is there (list.ts).

export const page = {
  close: 'Close',
  copied: 'Copied',
  notCopied: 'The browser does not let this page copy',
  tagline: 'A chat AI on your own device',
  title: 'Sluice: a chat AI on your own device',
  views: 'View',
  talk: 'Talk',
  write: 'Write',
  find: 'Find',
  settings: 'Settings',
  conversations: 'Conversations',
  newConversation: 'New conversation',
  untitled: 'New conversation',
  found: (n: number) =>
    n === 0 ? 'Nothing found' : n === 1 ? '1 conversation found' : `${n} conversations found`,
  removed: (title: string) => `${title} was deleted`,
  exportMarkdown: 'Save as Markdown',
  exportJson: 'Save as JSON',
  shortcuts: 'Keyboard shortcuts',
  /** As they are written on the keyboard. */
  keys: { control: 'Ctrl', shift: 'Shift', enter: 'Enter' },
  drop: 'Drop a model file to open it',
  dropAny: 'Drop a model file to open it, or a text file to attach it',
  dropFind: 'Drop text files to find in them, or a model file to open it',
  skip: 'To the field',
  partMissing: 'This part of the page could not be fetched.',
  fetchPart: 'Try again',

  /** What of a link could not be used; the name of the part stands before. */
  ignored: {
    longPrompt: (most: number) => `only its first ${most} characters were taken`,
    address: 'not an http, https or hf address',
    view: 'neither write, talk nor find',
  },
  severalModels:
    'these files are several models; choose one file, or all the parts of one split model',

  /** At the page's end. */
  footer: {
    use: 'Use this in your page',
    /** Stands after the command that makes the package. */
    packs: 'in the source makes the package; no bundler is needed.',
    cors: 'A model from another site needs that site’s permission (CORS).',
    snippet: 'HTML of a page that writes',
    newer: 'Use the newer version of this page',
    later: 'The newer version comes when the other tabs of this page are closed',
    source: 'Source',
    licence: 'Licence: Apache-2.0',
    notice: 'What this page contains, and its licences',
  },
};
