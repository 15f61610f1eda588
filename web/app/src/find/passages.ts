// Cuts a text into passages: at paragraphs if it can, else after sentences, lines or words.
import { Pace } from '../history/pace';

/** Where a passage is: its first character and the one after its last, as in String.slice, and its line, from 1 on. */
export interface Place {
  start: number;
  end: number;
  line: number;
}

/** Letters of a passage at most: about 200 tokens. */
const MOST = 900;
/** It is no shorter than this where it ends at a paragraph, a sentence or a line. */
const LEAST = 300;
/** What a passage repeats of the one before it, so that no sentence stands without what leads to it. */
const OVERLAP = 150;
/** A character of these scripts is about a token, like four letters of others. */
const DENSE = /[\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef]/;
const DENSE_WEIGHT = 4;

const PARAGRAPH = /\n[^\S\n]*\n\s*/g;
const SENTENCE = /[.!?…]["'”’)\]]*\s+|[。！？]["'”’）」』]*\s*/g;
const LINE = /\n\s*/g;
const WORD = /\s+/g;

function weightAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0x1100 && DENSE.test(text[at] ?? '') ? DENSE_WEIGHT : 1;
}

/** The place that is so many letters after `at`, at the end at most; never within a character. */
function forward(text: string, at: number, letters: number): number {
  let left = letters;
  let place = at;
  while (place < text.length && left > 0) left -= weightAt(text, place++);
  return whole(text, place);
}

/** The same place, or the one before it if it is within a character of two units. */
function whole(text: string, at: number): number {
  const before = text.charCodeAt(at - 1);
  const after = text.charCodeAt(at);
  const within = before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000;
  return within ? at - 1 : at;
}

/** The end of the last match that is `from` or later; -1: none is. */
function lastEnd(text: string, pattern: RegExp, from: number): number {
  let found = -1;
  for (const match of text.matchAll(pattern)) {
    const end = match.index + match[0].length;
    if (end >= from) found = end;
  }
  return found;
}

/** The end of the first match that is `from` or later and before the end of `text`; -1: none is. */
function firstEnd(text: string, pattern: RegExp, from: number): number {
  for (const match of text.matchAll(pattern)) {
    const end = match.index + match[0].length;
    if (end >= from && end < text.length) return end;
  }
  return -1;
}

/** Where the passage from `at` on ends, and where the next one begins. */
function borders(text: string, at: number): [end: number, next: number] {
  const limit = forward(text, at, MOST);
  if (limit >= text.length) return [text.length, text.length];
  const part = text.slice(at, limit);
  const least = forward(text, at, LEAST) - at;
  const paragraph = lastEnd(part, PARAGRAPH, least);
  if (paragraph > 0) return [at + paragraph, at + paragraph];
  const sizes = [SENTENCE, LINE, WORD].map((pattern) => lastEnd(part, pattern, least));
  const size = sizes.find((one) => one > 0) ?? part.length;
  // The next one begins with the last sentence of this one, or with its last words.
  const tail = text.slice(at, at + size);
  const from = Math.max(1, size - OVERLAP);
  const again = [SENTENCE, LINE, WORD].map((pattern) => firstEnd(tail, pattern, from));
  const next = again.find((one) => one > 0) ?? size;
  return [at + size, at + next];
}

/** The passages of a text, in their order. Those without any visible character are left out. */
export async function cut(text: string, pace = new Pace()): Promise<Place[]> {
  const places: Place[] = [];
  let line = 1;
  let counted = 0;
  let at = 0;
  const space = /\s*/y;
  while (at < text.length) {
    await pace.keep();
    space.lastIndex = at;
    space.exec(text);
    at = space.lastIndex;
    if (at >= text.length) break;
    for (; counted < at; ++counted) if (text.charCodeAt(counted) === 10) ++line;
    const [end, next] = borders(text, at);
    places.push({ start: at, end: at + text.slice(at, end).trimEnd().length, line });
    at = next;
  }
  return places;
}
