// What the settings and figures say before their room is there. What only the room says is in settings-room.ts.
const en = {
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
  preset: { precise: 'Precise', balanced: 'Balanced', wild: 'Wild', own: 'Own' },
  notANumber: (min: number, max: number) => `not a number from ${min} to ${max}`,
  notOneOf: (choices: readonly string[]) => `not one of ${choices.join(', ')}`,
  notStops: 'not a list of stop texts',
  // Figures
  figures: 'Figures',
  details: 'Details',
  perSecond: (rate: string) => `${rate} tokens/s`,
  firstTokenAfter: (time: string) => `first token ${time}`,
  whyOneThread: 'One thread: why?',
  detailsTitle: 'How fast, and why',
};

const de: typeof en = {
  title: 'Einstellungen',
  summary: (preset, length, seed, memory) =>
    [
      preset,
      length,
      ...(seed === null ? [] : [`Startwert ${seed}`]),
      ...(memory === null ? [] : [`Speicher bis ${memory} MB`]),
    ].join(', '),
  upTo: (tokens) => `bis zu ${tokens}`,
  untilItEnds: 'bis die Antwort endet',
  preset: { precise: 'Genau', balanced: 'Ausgewogen', wild: 'Wild', own: 'Eigene' },
  notANumber: (min, max) => `keine Zahl von ${min} bis ${max}`,
  notOneOf: (choices) => `nicht eines von ${choices.join(', ')}`,
  notStops: 'keine Liste von Schlusstexten',
  figures: 'Zahlen',
  details: 'Details',
  perSecond: (rate) => `${rate} Token/s`,
  firstTokenAfter: (time) => `erstes Token ${time}`,
  whyOneThread: 'Ein Thread: warum?',
  detailsTitle: 'Wie schnell, und warum',
};

export const settings = { en, de };
