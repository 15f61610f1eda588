// The German of ../en/settings.ts.
import type { settings as english } from '../en/settings';

export const settings: typeof english = {
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
  firstTokenAfter: (time) => `erstes Wort nach ${time}`,
  whyOneThread: 'Warum nicht schneller?',
  detailsTitle: 'Wie schnell, und warum',
};
