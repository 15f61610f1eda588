// What is said of loads, and of what was done with a model that is kept. It comes later than the page.

export const loads = {
  load: {
    loading: (name: string) => `Loading ${name}`,
    again: (name: string) => `Loading again: ${name}`,
    restReady: (name: string) => `Ready; downloading the rest of ${name}`,
    restWaits: (name: string) => `Writing waits for the rest of ${name}`,
    takesOver: (name: string) => `${name} is ready, and takes over when this text is written`,
    paused: (name: string) => `Paused: ${name}`,
    header: 'Reading the beginning of the file',
    checking: 'checking that it is the right file',
    waits: 'waits; it goes on by itself',
    waitsBrief: 'waits',
    offline: 'you are offline; it goes on by itself',
    otherTab: 'another tab downloads it',
    serverBusy: 'the server can’t serve now; it goes on by itself',
    fromDevice: 'from this device',
    wereHere: (amount: string) => `${amount} were here`,
    pause: 'Pause',
    cancel: 'Cancel',
    goOn: 'Go on',
    /** '': how much isn't known. */
    discard: 'Discard',
    discardIt: (amount: string) => `Discard the ${amount} that have come?`,
    nothingKept: 'Nothing of it could be kept: it will begin anew.',
    partKept: (amount: string) => `${amount} are on this device.`,
    anotherDay: 'You can close this tab, and go on another day.',
    stays: (name: string) => `Until then you can go on with ${name}.`,
  },

  kept: {
    keepIt: 'Keep it',
    busyComing: 'It is being fetched here. Pause or cancel that first.',
    busyUsed: 'It is in use here or in another tab. Open another model first, or close that tab.',
  },

  said: {
    removed: (name: string) => `${name} was removed`,
    free: (amount: string) => `${amount} are free again`,
    pinned: (name: string) => `${name} is always kept`,
    unpinned: (name: string) => `${name} is kept while there is room`,
  },
};
