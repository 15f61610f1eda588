// A text with masks, and the words that a model would put in their places.
import { batch, signal } from '@preact/signals';
import { announcement } from '../announce';
import { does } from '../model/makes';
import { withEngine } from '../model/use';
import { begin, busy } from '../run';
import { masksTexts } from './masks-texts';
import { prompt } from './prompt';

/** As models of masked words spell it. */
export const MASK = '[MASK]';
/** Words for each mask. */
const TOP = 5;

export interface Choice {
  word: string;
  /** It goes on with the word before it. */
  joins: boolean;
  /** 0 to 1 */
  probability: number;
}

/** What was found for a text: for each of its masks, the likeliest words first. */
export const filling = signal<{ text: string; masks: Choice[][] } | null>(null);
/** The texts before words were chosen, the last one at the end. */
export const before = signal<readonly string[]>([]);

/** A text between masks: "a [MASK] b" is ["a ", " b"]. */
export function parts(text: string): string[] {
  return text.split(MASK);
}

export function choiceOf({ token, logprob }: { token: string; logprob: number }): Choice {
  const joins = token.startsWith('##');
  return { word: (joins ? token.slice(2) : token).trim(), joins, probability: Math.exp(logprob) };
}

/** The text with a word in the place of one of its masks. */
export function filled(text: string, mask: number, { word, joins }: Choice): string {
  const all = parts(text);
  const start = all.slice(0, mask + 1).join(MASK);
  return (joins ? start.trimEnd() : start) + word + all.slice(mask + 1).join(MASK);
}

/** Finds words for the text that is in the field. */
export function fill(): void {
  const text = prompt.peek();
  if (busy.peek() || does.peek() !== 'fills' || parts(text).length < 2) return;
  void begin(async (abort) => {
    const outcome = await withEngine(abort, async (by) => {
      const found = await by.fillMask(text, { top: TOP, signal: abort });
      const masks = found.map(({ top }) =>
        top.map(choiceOf).filter(({ word }) => word !== '' && word !== MASK),
      );
      // Masks beyond those that are spelled out would have no place.
      filling.value = { text, masks: masks.slice(0, parts(text).length - 1) };
    });
    if (outcome.kind !== 'done') return;
    const words = (filling.peek()?.masks ?? []).map((all) => all[0]?.word ?? '').join(', ');
    announcement.value = masksTexts.peek().found(words);
  });
}

/** Puts a word into the text; where masks are left, finds words for them anew. */
export function choose(mask: number, choice: Choice): void {
  const now = filling.peek();
  if (now === null || busy.peek()) return;
  const text = filled(now.text, mask, choice);
  batch(() => {
    before.value = [...before.peek(), now.text];
    prompt.value = text;
    filling.value = null;
    announcement.value = masksTexts.peek().put(choice.word);
  });
  fill();
}

/** Takes the last word back. */
export function takeBack(): void {
  const text = before.peek().at(-1);
  if (text === undefined || busy.peek()) return;
  batch(() => {
    before.value = before.peek().slice(0, -1);
    prompt.value = text;
    filling.value = null;
  });
  fill();
}
