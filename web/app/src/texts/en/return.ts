// The model of the last visit, which comes back or is offered again.
export const back = {
  removed: (name: string) => `${name} is not on this device any more.`,
  file: (name: string) => `You last used ${name}, a file on this device.`,
  refused: (name: string) => `The browser does not let this page read ${name}.`,
  gone: (name: string) => `${name} was moved or deleted.`,
  again: (host: string) => `Get it again from ${host}`,
  open: (name: string) => `Open ${name} again`,
  own: 'Use the model of this page',
};
