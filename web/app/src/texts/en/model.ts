// Models: the chip, the sheet, loads, what is kept.
import { errors } from './errors';

export const model = {
  errors,

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
  },

  sheet: {
    title: 'Model',
  },

  speed: {
    about: (rate: string) => `about ${rate}`,
    between: (least: string, most: string) => `${least} to ${most}`,
    slowShort: 'slow',
  },

  said: {
    cancelled: 'Loading was cancelled',
    paused: 'Paused',
    loading: (name: string) => `Loading ${name}`,
    rest: (name: string) => `${name} can be used; the rest of it is still being downloaded`,
    ready: (name: string) => `${name} is ready`,
  },

  notices: {
    close: 'Close',
    tryAgain: 'Try again',
    offline: 'You are offline',
    ignored: 'Parts of this link were left out',
  },
};
