// Models: the chip, the sheet, loads, what is kept.
import { errors } from './errors';

export const model = {
  errors: errors,

  chip: {
    label: 'Model',
    none: 'Choose a model',
    /** What a screen reader says of the chip. */
    inUse: (name: string) => `Model: ${name}`,
    coming: (name: string) => `${name} is on its way`,
    paused: (name: string) => `${name} is paused`,
  },

  /** The models on offer. */
  shelf: {
    heading: 'Models to choose from',
    about: (size: string) => `about ${size}`,
    takes: (time: string) => `about ${time} to download`,
    here: (size: string) => `on this device (${size})`,
    tooLarge: 'too large for this device, slow',
    licence: (name: string) => `Licence: ${name}`,
    terms: 'Read the terms',
    start: 'Start',
    download: (size: string) => `Download ${size}`,
    downloadAndStart: (size: string) => `Download ${size} and start`,
    accept: (size: string) => `Accept and download ${size}`,
    more: 'More models',
    inUse: 'In use',
    /** The unit of the speeds. */
    token: 'Speeds are in tokens: a token is about three quarters of a word.',
  },
  sheet: {
    title: 'Model',
    noneLoaded: 'None loaded',
    bundled:
      'Comes with this page. It writes simple children’s stories in English and knows nothing else.',
    file: 'A file on this device. It is read here and sent nowhere.',
    keptHere: 'From its server, and kept on this device for the next time.',
    notKept: 'From its server into the memory of this page. It is not kept.',
    more: 'More about this model',
    layers: 'Layers',
    layersOf: (name: string) => `Layers of ${name}`,
    another: 'Another model',
    back: 'Back to the model of this page',
  },

  facts: {
    parameters: 'Parameters',
    size: 'Size',
    memory: 'Memory',
    speed: 'Speed',
    architecture: 'Architecture',
    types: 'Types',
    layers: 'Layers',
    context: 'Context',
    vocabulary: 'Vocabulary',
    licence: 'Licence',
    from: 'From',
    upTo: (amount: string) => `up to ${amount}`,
    thisPage: 'this page',
    fromFile: (name: string, others: number) =>
      `${name}${others === 0 ? '' : ` and ${others} more`}, this device`,
  },

  speed: {
    about: (rate: string) => `about ${rate}`,
    between: (least: string, most: string) => `${least} to ${most}`,
    reread: (rate: string) => `${rate}, read from this device for each word`,
    slow: 'slow: is read from this device for each word',
    slowShort: 'slow',
    fits: 'fits',
    fitsPartly: 'doesn’t fit whole',
  },

  another: {
    nameless: 'A model without a name',
    download: (amount: string) => `Download ${amount}`,
  },

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

  said: {
    cancelled: 'Loading was cancelled',
    paused: 'Paused',
    loading: (name: string) => `Loading ${name}`,
    rest: (name: string) => `${name} can be used; the rest of it is still being downloaded`,
    ready: (name: string) => `${name} is ready`,
    removed: (name: string) => `${name} was removed`,
    free: (amount: string) => `${amount} are free again`,
    pinned: (name: string) => `${name} is always kept`,
    unpinned: (name: string) => `${name} is kept while there is room`,
  },

  kept: {
    keepIt: 'Keep it',
    busyComing: 'It is being fetched here. Pause or cancel that first.',
    busyUsed: 'It is in use here or in another tab. Open another model first, or close that tab.',
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
    close: 'Close',
    tryAgain: 'Try again',
    chooseFile: 'Choose another file',
    openFile: 'Choose a model file',
    theFile: 'Choose the file',
    openPage: 'Open its page',
    download: 'Download with the browser',
    search: (host: string) => `Search ${host}`,
    onDevice: 'Models on this device',
    others: 'Other models',
    address: 'Change the address',
    offline: 'You are offline',
    withoutLimit: 'Load without the limit',
    withoutKeeping: 'Load without keeping',
    removeModels: 'Remove models',
    alsoFailed: (name: string) => `${name} could not be loaded either.`,
    technical: 'Technical details',
    ignored: 'Parts of this link were left out',
  },
};
