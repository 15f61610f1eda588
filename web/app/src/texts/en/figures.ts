// How the settings are in short, and the figures of a text: they come with the views.

export const figures = {
  /** The button that opens the settings says in short how they are. */
  summary: (preset: string, length: string, seed: string | null, memory: string | null): string =>
    [
      preset,
      length,
      ...(seed === null ? [] : [`seed ${seed}`]),
      ...(memory === null ? [] : [`memory up to ${memory} MB`]),
    ].join(', '),
  upTo: (tokens: string) => `up to ${tokens}`,
  untilItEnds: 'until the answer ends',
  preset: { precise: 'Precise', balanced: 'Balanced', wild: 'Wild', own: 'Custom' },
  figures: 'Figures',
  details: 'Details',
  perSecond: (rate: string) => `${rate} tokens/s`,
  firstTokenAfter: (time: string) => `first word after ${time}`,
  whyOneThread: 'Why not faster?',
  detailsTitle: 'How fast, and why',
};
