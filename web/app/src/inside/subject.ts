// A text that is looked into, as the room that shows it has it.
import type { TraceOwner } from '../history/traces';
import type { TokenLog } from './log';
import type { Insight } from './library';
import type { Trace } from './trace';

/** A text that was written on from a token of this one, or the one that this one was written on from. */
export interface Related {
  id: string;
  /** Characters of both texts before the token that differs. */
  at: number;
  /** The token that the reader chose there. */
  text: string;
  kind: 'parent' | 'branch';
}

export interface Subject {
  /** Stays the same while the text grows. */
  readonly id: string;
  readonly log: TokenLog;
  /** Whether it is being written. */
  readonly growing: boolean;
  /** What the model is called that wrote it; null: not known. */
  readonly by: string | null;
  /** Whether that is the model in use: only that one can say more of it. */
  readonly own: boolean;
  readonly related: readonly Related[];
  /** Under what it is kept how it was chosen; undefined: that is not kept. */
  readonly keptAs?: TraceOwner;
  /** It is of a file, which says all that is known of it: no model is needed to look at it. */
  readonly file?: Trace;
  /** All that was written so far, without the prompt. */
  text(): string;
  /** The element that shows this text and no other, as it is; null: there is none. */
  element?(): Element | null;
  /** All that stood before the run that began after so many characters of the text. */
  before(begun: number): string;
  /** The ids of that, as the model was given them. */
  encode(by: Insight, begun: number): Promise<number[]>;
  /** Makes tokens of a text of which nobody has kept any, as the model cuts it. Resolves with whether there are some now. */
  retell?(by: Insight): Promise<boolean>;
  /**
   * Writes on with another token in the place of `at` (counted from the first token of run `first`), as another text. `prompt`: the ids
   * before that first token. False: not now.
   */
  branch(first: number, at: number, chosen: Chosen, prompt: readonly number[]): boolean;
  show(id: string): void;
}

export interface Chosen {
  id: number;
  text: string;
  logprob: number;
}
