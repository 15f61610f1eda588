// Texts as a search compares them: without case, accents and other marks. Each character is folded by itself, so that a
// text can be searched in pieces and a place in the folded text leads back to the text.

/** Letters that are no letter with a mark, but are searched as one. */
const ALIKE: Readonly<Record<string, string>> = {
  ß: 'ss',
  ς: 'σ',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ı: 'i',
};

export function fold(text: string): string {
  const low = text.toLowerCase();
  if (/^[\0-\x7f]*$/.test(low)) return low;
  return low
    .normalize('NFKD')
    .replace(/[\p{Mn}\u00ad\u200b]/gu, '')
    .replace(/[ßςæœøłđı]/g, (letter) => ALIKE[letter] ?? letter);
}

/** The words of a query, each once: what is longer or more than anybody types is left out. */
export function wordsOf(query: string): string[] {
  const words = fold(query.slice(0, 500)).split(/\s+/u);
  return [...new Set(words)].filter((word) => word !== '').slice(0, 20);
}

/** A place in a text: where a word begins and ends. */
export interface Place {
  start: number;
  end: number;
}

/** Where the folded range [from, to) lies in a text. */
export function placeOf(text: string, from: number, to: number): Place {
  let folded = 0;
  let at = 0;
  // Blocks before the range need no look at each character.
  for (let next = 0; next < text.length;) {
    next = Math.min(text.length, at + 512);
    if (isLow(text, next)) ++next;
    const { length } = fold(text.slice(at, next));
    if (folded + length > from) break;
    folded += length;
    at = next;
  }
  let start = at;
  let found = false;
  for (const character of text.slice(at, at + 4096)) {
    if (folded >= to && fold(character) !== '') break;
    if (!found && folded + fold(character).length > from) {
      found = true;
      start = at;
    }
    folded += fold(character).length;
    at += character.length;
  }
  return { start, end: at };
}

/** Characters of a text that are folded at once: a few milliseconds of work. */
export const PIECE = 1 << 16;

/** Cuts a text into pieces that overlap by `overlap`, so that no word is cut in all of them, and no character is. */
export function* pieces(text: string, overlap: number): Generator<[piece: string, from: number]> {
  for (let from = 0; ;) {
    let to = Math.min(text.length, from + PIECE);
    if (isLow(text, to)) ++to;
    yield [text.slice(from, to), from];
    if (to >= text.length) return;
    from = to - overlap;
    if (isLow(text, from)) --from;
  }
}

/** Whether the character at `at` is the second half of one. */
export function isLow(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}
