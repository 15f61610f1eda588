// The texts that the bench of vectors embeds: the same for every side, on every machine.

/** Words of one letter: each is one token in BERT's vocabulary and in that of the made models (tests/make). */
const WORDS = [...'taoinshrdlucmfwyg'];
/** The tokens that stand around a text: [CLS] and [SEP], or BOS and EOS. */
const AROUND = 2;
export const LEAST_TOKENS = 10;
export const MOST_TOKENS = 500;

/** `count` texts of random words, of LEAST_TOKENS to MOST_TOKENS tokens with those around them. */
export function embedding_texts(count) {
  let state = 2026;
  const next = (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % below;
  };
  return Array.from({ length: count }, () => {
    const tokens = LEAST_TOKENS + next(MOST_TOKENS - LEAST_TOKENS + 1);
    return Array.from({ length: tokens - AROUND }, () => WORDS[next(WORDS.length)]).join(' ');
  });
}
