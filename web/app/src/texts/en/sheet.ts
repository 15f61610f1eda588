// The sheet of models, which comes later.

export const sheet = {
  /** The models on offer. */
  shelf: {
    heading: 'Models to choose from',
    more: 'More models',
    inUse: 'In use',
    /** The unit of the speeds. */
    token: 'Speeds are in tokens: a token is about three quarters of a word.',
  },
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
};
