// Notices, and what is said of models that are kept or offered. It comes later than the page.

export const models = {
  another: {
    nameless: 'A model without a name',
    download: (amount: string) => `Download ${amount}`,
  },

  memory: {
    takes: (total: string) => `It takes up to ${total} of memory.`,
    tooMuch: (all: string, total: string, again: string) =>
      `It would take up to ${all} of memory, which is more than it may take here. So it stays below ${total}, ` +
      `and ${again} are read again from this device for each word. That is slower: how fast this device reads decides.`,
  },

  notices: {
    offer: (host: string) => `This link asks for a model from ${host}`,
    unasked:
      'Nothing has been asked of that server yet. Once it is asked, it knows your IP address.',
    asking: 'Asking the server about it…',
    found: (name: string, parameters: string, size: string) =>
      `${name}: ${parameters} parameters, ${size} to download.`,
    look: 'Show what it is',
    askAgain: 'Ask again',
    no: 'No, keep the model I have',
    chooseFile: 'Choose another file',
    openFile: 'Choose a model file',
    theFile: 'Choose the file',
    openPage: 'Open its page',
    download: 'Download with the browser',
    search: (host: string) => `Search ${host}`,
    onDevice: 'Models on this device',
    others: 'Other models',
    address: 'Change the address',
    withoutLimit: 'Load without the limit',
    withoutKeeping: 'Load without keeping',
    removeModels: 'Remove models',
    alsoFailed: (name: string) => `${name} could not be loaded either.`,
    technical: 'Technical details',
  },

  speed: {
    reread: (rate: string) => `${rate}, read from this device for each word`,
    slow: 'slow: is read from this device for each word',
    fits: 'fits',
    fitsPartly: 'doesn’t fit whole',
  },
};
