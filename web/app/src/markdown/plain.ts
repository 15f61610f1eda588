// A message as it is read aloud: without marks, sentence by sentence.
import { Blocks, type Block } from './blocks';
import { inline } from './inline';
import type { Inline } from './inline-items';
import { fence } from './lines';
import { words } from './words';

function spoken(nodes: readonly Inline[]): string {
  let text = '';
  for (const node of nodes) {
    if (node.kind === 'break') text += '\n';
    else if (node.kind === 'image') text += `${words.value.image} ${spoken(node.kids)}`;
    else if ('kids' in node) text += spoken(node.kids);
    else text += node.text;
  }
  return text;
}

function lineCount(text: string): number {
  return text === '' ? 0 : text.split('\n').length;
}

function blockText(block: Block): string {
  switch (block.type) {
    case 'code':
      return words.value.codeLines(lineCount(block.text));
    case 'row':
      return block.cells.map((cell) => spoken(inline(cell, { cell: true }))).join(', ');
    case 'paragraph':
    case 'heading':
      return spoken(inline(block.text));
    case 'maths':
    case 'plain':
      return block.text.trim();
    default:
      return block.kids
        .map(blockText)
        .filter((text) => text !== '')
        .join('\n');
  }
}

/** The text without marks, a line a block. Code is named with its number of lines, not read. */
export function plainText(markdown: string): string {
  const blocks = new Blocks();
  blocks.write(markdown);
  blocks.end(false);
  return blockText(blocks.root);
}

export interface Sentences {
  readonly sentences: readonly string[];
  /** Where the next call goes on. */
  readonly to: number;
}

/** A sentence is cut after so many characters. (A segmenter copies its whole text for each segment.) */
const LONGEST = 1000;
let segmenter: Intl.Segmenter | null | undefined;

/** Where the sentences of a short text end. */
function endsOfShort(text: string): number[] {
  segmenter ??=
    'Segmenter' in Intl ? new Intl.Segmenter(undefined, { granularity: 'sentence' }) : null;
  const places: number[] = [];
  if (segmenter === null) {
    for (const end of text.matchAll(/[.!?…]["'”’)*_]{0,5}\s{1,5}|[。！？]/g)) {
      places.push(end.index + end[0].length);
    }
    if (places.at(-1) !== text.length) places.push(text.length);
  } else
    for (const { index, segment } of segmenter.segment(text)) places.push(index + segment.length);
  return places;
}

/** Where the sentences of a text end; the last place is the text's end. */
function ends(text: string): number[] {
  const places: number[] = [];
  let from = 0;
  while (text.length - from > LONGEST) {
    const some = endsOfShort(text.slice(from, from + LONGEST));
    // The last one may go on, unless it is all there is.
    if (some.length > 1) some.pop();
    for (const place of some) places.push(from + place);
    from = places.at(-1) ?? text.length;
  }
  for (const place of endsOfShort(text.slice(from))) places.push(from + place);
  return places;
}

/** Marks that a cut between two sentences has left over. */
function tidy(text: string): string {
  return plainText(text)
    .replace(/(^|\s)(?:\*{1,3}|_{1,3}|~~)(?=\S)|(?:\*{1,3}|~~)(?=\s|$)/g, '$1')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Begins a block of its own, so what is before it is finished. */
const BEGINS = /^[ \t]*(?:#{1,6}[ \t]|>|[-+*][ \t]|\d{1,9}[.)][ \t]|\||`{3}|~{3})/;

/**
 * The sentences of a growing text that are finished, from `from` on, which is 0 or what the last call gave. With `done`
 * the text is at its end, and so is its last sentence. Code is named when its end is there. Each call reads no more
 * than what is not finished yet and what was added.
 */
export function sentences(text: string, from: number, done = false): Sentences {
  const found: string[] = [];
  const say = (markdown: string): void => {
    const said = tidy(markdown);
    if (said !== '') found.push(said);
  };
  let to = from;
  while (to < text.length) {
    const line = nextLine(text, to);
    if (line.text.trim() === '') {
      to = line.end;
      continue;
    }
    const opened = fence(line.text.trimStart());
    if (opened !== null) {
      const end = codeEnd(text, line.end, opened.mark);
      if (!line.whole && !done) break;
      if (end === null && !done) break;
      say(text.slice(to, end ?? text.length));
      to = end ?? text.length;
      continue;
    }
    // A block of text, line after line.
    let end = line.end;
    let whole = line.whole && /^[ \t]*#{1,6}[ \t]/.test(line.text);
    while (!whole && end < text.length) {
      const more = nextLine(text, end);
      if (more.whole || done || /\S\s*\S\s*\S/.test(more.text)) {
        if (more.text.trim() === '' || BEGINS.test(more.text)) {
          whole = true;
          break;
        }
      }
      end = more.end;
    }
    const rest = text.slice(to, end);
    const begun = to;
    let said = 0;
    const all = whole || done;
    const places = ends(rest);
    if (!all) places.pop();
    for (const place of places) {
      if (!all && !/[.!?…:。！？]["'”’)*_~\s]*$/.test(rest.slice(said, place))) continue;
      say(rest.slice(said, place));
      said = place;
    }
    if (all && said < rest.length) {
      say(rest.slice(said));
      said = rest.length;
    }
    to = begun + said;
    if (!all) break;
  }
  return { sentences: found, to };
}

interface TextLine {
  readonly text: string;
  readonly end: number;
  /** Its newline is there. */
  readonly whole: boolean;
}

function nextLine(text: string, from: number): TextLine {
  const newline = text.indexOf('\n', from);
  if (newline < 0) return { text: text.slice(from), end: text.length, whole: false };
  return { text: text.slice(from, newline), end: newline + 1, whole: true };
}

/** The place behind a code block's last line; null if that is not there yet. */
function codeEnd(text: string, from: number, mark: string): number | null {
  for (let at = from; at < text.length;) {
    const line = nextLine(text, at);
    if (fence(line.text.trimStart())?.closes(mark) === true) return line.end;
    at = line.end;
  }
  return null;
}
