// Searches titles and contents of all conversations, in slices short enough for the page to stay quick.
import { PIECE, fold, isLow, pieces, placeOf, wordsOf, type Place } from './fold';
import { Pace, type PaceOptions } from './pace';
import { textOf } from './parts';
import { getReadable, type Store, type Summary } from './store';
import { plain } from '../texts/plain-text';
import { byAge, type Conversation } from './tree';

/** Plain text around a match: one line, without control characters. */
export interface Excerpt {
  before: string;
  match: string;
  after: string;
}

export interface Found {
  summary: Summary;
  /** The message that has most of the words; null: only the title has them. */
  message: string | null;
  excerpt: Excerpt | null;
}

export interface SearchOptions extends PaceOptions {
  signal?: AbortSignal;
}

const BEFORE = 40;
const AFTER = 100;

/**
 * Yields the conversations that have all words of `query` in title or messages, on any branch, the last changed first. Ends
 * when the signal aborts. Throws the store's HistoryError.
 */
export async function* search(
  query: string,
  store: Pick<Store, 'list' | 'get'>,
  options: SearchOptions = {},
): AsyncGenerator<Found, void, undefined> {
  const words = wordsOf(query);
  const aborted = (): boolean => options.signal?.aborted === true;
  if (words.length === 0 || aborted()) return;
  const pace = new Pace(options);
  for (const summary of await store.list()) {
    await pace.keep();
    if (aborted()) return;
    const conversation = await getReadable(store, summary.id);
    // Deleted meanwhile, or of a newer version of the page.
    if (conversation === null) continue;
    const found = await searchOne(words, summary, conversation, pace, aborted);
    if (aborted()) return;
    if (found !== null) yield found;
  }
}

interface Best {
  message: string;
  words: number;
  text: string;
  place: Place;
}

async function searchOne(
  words: readonly string[],
  summary: Summary,
  conversation: Conversation,
  pace: Pace,
  aborted: () => boolean,
): Promise<Found | null> {
  const title = fold(summary.title);
  const missing = new Set(words.filter((word) => !title.includes(word)));
  let best: Best | null = null;
  for (const one of Object.values(conversation.messages).sort(byAge)) {
    const text = textOf(one);
    const hits = new Map<string, Place>();
    // A piece ends with the longest word at least once, also if each of its letters has marks.
    const overlap = Math.min(PIECE / 2, Math.max(...words.map((word) => word.length)) * 4);
    for (const [piece, from] of pieces(text, overlap)) {
      const folded = fold(piece);
      for (const word of words) {
        const at = hits.has(word) ? -1 : folded.indexOf(word);
        if (at < 0) continue;
        const { start, end } = placeOf(piece, at, at + word.length);
        hits.set(word, { start: from + start, end: from + end });
      }
      await pace.keep();
      if (aborted()) return null;
      if (hits.size === words.length) break;
    }
    for (const word of hits.keys()) missing.delete(word);
    const [place] = [...hits.values()].sort((a, b) => a.start - b.start);
    if (place !== undefined && hits.size > (best?.words ?? 0))
      best = { message: one.id, words: hits.size, text, place };
    if (hits.size === words.length) break;
  }
  if (missing.size > 0) return null;
  return {
    summary,
    message: best?.message ?? null,
    excerpt: best === null ? null : excerptOf(best.text, best.place),
  };
}

/** The text around a place. */
function excerptOf(text: string, { start, end }: Place): Excerpt {
  let from = Math.max(0, start - BEFORE);
  let to = Math.min(text.length, end + AFTER);
  if (isLow(text, from)) ++from;
  if (isLow(text, to)) --to;
  const before = text.slice(from, start);
  const after = text.slice(end, to);
  // A cut word says nothing, if there are others.
  const first = from === 0 ? before : `…${before.replace(/^\S{0,20}\s+/u, '')}`;
  const last = to === text.length ? after : `${after.replace(/\s+\S{0,20}$/u, '')}…`;
  return { before: line(first), match: line(text.slice(start, end)), after: line(last) };
}

/** One line of plain text that keeps a space at its ends. */
function line(text: string): string {
  const clean = plain(text);
  if (clean === '') return /\s/u.test(text) ? ' ' : '';
  return `${/^\s/u.test(text) ? ' ' : ''}${clean}${/\s$/u.test(text) ? ' ' : ''}`;
}
