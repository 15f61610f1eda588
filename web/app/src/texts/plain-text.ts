// Texts from elsewhere that are shown on one line: names, titles.

/**
 * A text on one line, without control characters, those that turn the direction of what follows, and halves of
 * characters. (Joiners stay: emoji and some scripts need them.)
 */
export function plain(text: string): string {
  return text
    .replace(/(?![\u200c\u200d])[\p{Cf}\p{Cs}]/gu, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
}
