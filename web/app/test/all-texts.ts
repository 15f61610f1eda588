// All texts of the page in each of its languages.
import type { Texts } from '../src/texts/texts';

const rooms = import.meta.glob<object>('../src/texts/en/*.ts', { eager: true });
/** All that the files of the English rooms give; more than the rooms. */
export const english = Object.assign({}, ...Object.values(rooms)) as Texts;

const files = import.meta.glob<Texts>('../src/texts/languages/*.ts', {
  import: 'texts',
  eager: true,
});
/** The other languages, by their tags. */
export const others: ReadonlyMap<string, Texts> = new Map(
  Object.entries(files).map(([path, texts]) => [path.replace(/^.*\/|\.ts$/g, ''), texts]),
);

export function textsOf(language: string): Texts {
  return others.get(language) ?? english;
}
