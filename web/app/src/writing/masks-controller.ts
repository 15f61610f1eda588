// A text with masks, and the words that a model would put in their places.
import { batch, signal, type ReadonlySignal, type Signal } from '@preact/signals';
import type { Lender } from '../model/lender';
import type { Does } from '../model/makes';
import type { Runs } from '../model/run';

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

export interface MasksNeeds {
  /** The text. */
  prompt: Signal<string>;
  lender: Pick<Lender, 'lend'>;
  runs: Pick<Runs, 'begin' | 'busy'>;
  /** What the model in use is for; null: there is none. */
  does: ReadonlySignal<Does | null>;
  /** Tells screen readers which words were found, or which one was put into the text. */
  announce(what: 'found' | 'put', words: string): void;
}

export class MasksController {
  readonly prompt: Signal<string>;
  /** What was found for a text: for each of its masks, the likeliest words first. */
  readonly filling = signal<{ text: string; masks: Choice[][] } | null>(null);
  /** The texts before words were chosen, the last one at the end. */
  readonly before = signal<readonly string[]>([]);
  readonly #needs: MasksNeeds;

  constructor(needs: MasksNeeds) {
    this.#needs = needs;
    this.prompt = needs.prompt;
  }

  /** Finds words for the text that is in the field. */
  fill(): void {
    const { lender, runs, does, announce } = this.#needs;
    const text = this.prompt.peek();
    if (runs.busy.peek() || does.peek() !== 'fills' || parts(text).length < 2) return;
    void runs.begin(async (abort) => {
      const outcome = await lender.lend(abort, 'ready', async (by) => {
        const found = await by.fillMask(text, { top: TOP, signal: abort });
        const masks = found.map(({ top }) =>
          top.map(choiceOf).filter(({ word }) => word !== '' && word !== MASK),
        );
        // Masks beyond those that are spelled out would have no place.
        this.filling.value = { text, masks: masks.slice(0, parts(text).length - 1) };
      });
      if (outcome.kind !== 'done') return;
      const masks = this.filling.peek()?.masks ?? [];
      announce('found', masks.map((all) => all[0]?.word ?? '').join(', '));
    });
  }

  /** Puts a word into the text; where masks are left, finds words for them anew. */
  choose(mask: number, choice: Choice): void {
    const now = this.filling.peek();
    if (now === null || this.#needs.runs.busy.peek()) return;
    batch(() => {
      this.before.value = [...this.before.peek(), now.text];
      this.prompt.value = filled(now.text, mask, choice);
      this.filling.value = null;
      this.#needs.announce('put', choice.word);
    });
    this.fill();
  }

  /** Takes the last word back. */
  takeBack(): void {
    const text = this.before.peek().at(-1);
    if (text === undefined || this.#needs.runs.busy.peek()) return;
    batch(() => {
      this.before.value = this.before.peek().slice(0, -1);
      this.prompt.value = text;
      this.filling.value = null;
    });
    this.fill();
  }
}
