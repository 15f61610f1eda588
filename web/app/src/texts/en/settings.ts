// What the settings and figures say before their room is there. What only the room says is in settings-room.ts.

export const settings = {
  title: 'Settings',
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
  notANumber: (min: number, max: number) => `not a number from ${min} to ${max}`,
  notOneOf: (choices: readonly string[]) => `not one of ${choices.join(', ')}`,
  notStops: 'not a list of stop texts',
  // Figures
  figures: 'Figures',
  details: 'Details',
  perSecond: (rate: string) => `${rate} tokens/s`,
  firstTokenAfter: (time: string) => `first word after ${time}`,
  whyOneThread: 'Why not faster?',
  detailsTitle: 'How fast, and why',
};
