// Beginnings for those who have none.
import type { Language } from '../texts';

/** For models that know nothing but English stories for children. */
export const STORIES: readonly string[] = [
  'One day, a little fox found a red balloon. The fox',
  'Lily and her grandpa went to the beach. They wanted to',
  'Tom had a small boat that could',
];

/** For all others, in the page's language. */
export const OPENINGS: Readonly<Record<Language, readonly string[]>> = {
  en: [
    'The letter had lain on the kitchen table for three days before',
    'How a river finds its way to the sea: it begins',
    'Dear reader of a hundred years from now,',
  ],
  de: [
    'Der Brief lag schon drei Tage auf dem Küchentisch, als',
    'Wie ein Fluss den Weg zum Meer findet: Er beginnt',
    'Liebe Leserin in hundert Jahren,',
  ],
};

/** With a mask, for models that fill it in. */
export const MASKED: Readonly<Record<Language, readonly string[]>> = {
  en: [
    'Paris is the [MASK] of France.',
    'After the rain, the [MASK] smelled of [MASK].',
    'She opened the letter and began to [MASK].',
  ],
  de: [
    'Paris ist die [MASK] von Frankreich.',
    'Nach dem Regen roch der [MASK] nach [MASK].',
    'Sie öffnete den Brief und begann zu [MASK].',
  ],
};
