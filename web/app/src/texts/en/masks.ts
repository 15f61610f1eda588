// The writing view of models that fill in masked words.

export const masks = {
  text: 'Text with masks',
  insert: (mask: string) => `Insert ${mask}`,
  fill: 'Find words',
  back: 'Take the last word back',
  heading: 'Words',
  empty: (mask: string) =>
    `Write a text with ${mask} in the place of a word: the words that fit best appear here, to choose from.`,
  /** Texts with a mask, to begin with. */
  examples: [
    'Paris is the [MASK] of France.',
    'After the rain, the [MASK] smelled of [MASK].',
    'She opened the letter and began to [MASK].',
  ],
  press: 'Press “Find words”.',
  looking: 'Looking for words',
  done: 'All masks are filled in.',
  one: 'word',
  numbered: (n: number) => `word ${n}`,
  wordsForOne: 'Choose a word',
  wordsFor: (n: number) => `Choose word ${n}`,
  found: (words: string) => `The likeliest: ${words}`,
  put: (word: string) => `${word} is in the text`,
};
