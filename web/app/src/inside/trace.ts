// What a text was chosen from: its tokens, each with the logits that it was drawn by.

import type { RawLogits } from '@sluice/engine';

export type { RawLogits };

/** Raw logits that are kept of each token. */
export const MOST_KEPT = 256;

/** A token of the text. */
export interface TraceToken {
  id: number;
  text: string;
  /** The logarithm of its probability by the model alone, without temperature and filters. */
  logprob: number;
  /** Null: it was written while nobody looked, and has not been computed since. */
  raw: RawLogits | null;
}

/** A text and how it was chosen. */
export interface Trace {
  model: {
    name: string;
    architecture: string | null;
    /** Tokens of the vocabulary. */
    vocab: number;
    /** Null: not known. */
    layers: number | null;
  };
  promptText: string;
  promptIds: number[];
  tokens: TraceToken[];
  /** The sampling options by the library's names. */
  options: Record<string, unknown>;
  /** A string: it is beyond the whole numbers of a double. Null: not known. */
  seed: number | string | null;
  /** How candidates are shown, by their ids. There may be others in it, and some may be missing. */
  pieces: Map<number, string>;
}
