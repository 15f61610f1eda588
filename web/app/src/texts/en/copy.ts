// Copies of the reader's own files.
export const copy = {
  keep: (size: string) => `Keep a copy in this browser (${size})`,
  why: 'With a copy in this browser it opens by itself at your next visit.',
  noRoom: (size: string, room: string) =>
    `A copy would take ${size}, and this browser has room for ${room}.`,
  copying: (amount: string) => `Copying: ${amount}`,
  cancel: 'Cancel',
  here: 'A copy of it is kept in this browser.',
  kept: (name: string) => `A copy of ${name} is kept`,
  full: 'This browser has no more room for a copy. Remove a model that is kept, and try again.',
  failed: 'The copy could not be made. Is the file still there?',
  isCopy: 'copy of a file of yours',
};
