// The model of the last visit, which comes back or is offered again.
export const back = {
  removed: (name: string) => `${name} is not on this device any more.`,
  file: (name: string) => `You last used ${name}, a file on this device.`,
  unknown: (name: string, file: string) =>
    `You last used ${name}, the file ${file} on this device. This browser can’t find it again by itself.`,
  refused: (name: string) => `The browser does not let this page read ${name}.`,
  gone: (name: string) => `${name} was moved or deleted.`,
  changed: (name: string, file: string) => `${file} has changed since you last used it as ${name}.`,
  other: (name: string, file: string) =>
    `${file} is not the file that you used as ${name}, or it has changed since.`,
  again: (host: string) => `Get it again from ${host}`,
  open: (name: string) => `Open ${name} again`,
  find: (file: string) => `Choose ${file} again`,
  use: (file: string) => `Use ${file} as it is now`,
  own: 'Use the model of this page',
};
