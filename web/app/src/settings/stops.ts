// Stop texts, as people type them and as a link holds them: on one line, what is not seen written out.

export type Stops = readonly string[];

export const MAX_STOPS = 4;
/** Characters, as JavaScript counts them. */
export const MAX_STOP = 100;

/** What stands for a character on one line. */
const WRITTEN: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\\': '\\\\' };

/** The text on one line: a new line is \n, a tab \t, a backslash \\. */
export function showStop(text: string): string {
  return text.replace(/[\n\t\\]/g, (character) => WRITTEN[character] ?? character);
}

/** The text that `showStop` shows so; \| is a bar. A backslash before anything else is a backslash. */
export function readStop(shown: string): string {
  return shown.replace(/\\([nt\\|])/g, (_, letter: string) =>
    letter === 'n' ? '\n' : letter === 't' ? '\t' : letter,
  );
}

/** Whether this can be a stop text: not empty, of bounded length, and what a model can write. */
export function isStop(text: string): boolean {
  // No text contains a lone surrogate, and other control characters can't be typed.
  return (
    text !== '' &&
    text.length <= MAX_STOP &&
    // eslint-disable-next-line no-control-regex
    !/[\u0000-\u0008\u000b-\u001f\u007f]|\p{Surrogate}/u.test(text)
  );
}

/** The list as one text: a bar between the texts, and \| for a bar. */
export function joinStops(stops: Stops): string {
  return stops.map((text) => showStop(text).replaceAll('|', '\\|')).join('|');
}

/** The list in what `joinStops` wrote; undefined if it is none, or has too many texts, or one that can't be used. */
export function splitStops(text: string): string[] | undefined {
  // No list that may be is longer: each character takes two at most.
  if (text.length > MAX_STOPS * (2 * MAX_STOP + 1)) return undefined;
  const parts = text.match(/(?:[^\\|]|\\[^]|\\$)+/g) ?? [];
  if (parts.join('|') !== text) return undefined;
  const stops = parts.map(readStop);
  return stops.length >= 1 && stops.length <= MAX_STOPS && stops.every(isStop) ? stops : undefined;
}
