// The page around the views: its head, dialogs, shortcuts, and what is said of the list before that is there (list.ts).

export const page = {
  close: 'Close',
  copied: 'Copied',
  notCopied: 'The browser does not let this page copy',
  tagline: 'A chat AI on your own device',
  title: 'Sluice: a chat AI on your own device',
  /** What is said of something, after its name. Either may be '', where it is shown apart. */
  named: (name: string, said: string) => `${name}: ${said}`,
  views: 'View',
  talk: 'Talk',
  write: 'Write',
  find: 'Find',
  settings: 'Settings',
  conversations: 'Conversations',
  newConversation: 'New conversation',
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
};
