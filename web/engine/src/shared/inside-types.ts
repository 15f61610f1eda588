// The public types of what can be seen inside a model: what a token was chosen from, and what its layers hold.
import type { GenerateOptions } from './option-table.js';
import type { AsyncStream, Prompt } from './types.js';

/** What a token was chosen from: the model's scores, before sampling options change them. */
export interface RawLogits {
  /** The logarithm of the sum of exp of all logits: a token's log-probability is its logit minus this. */
  logSum: number;
  /** Of the probabilities of all tokens, in nats. */
  entropy: number;
  /** How many random numbers the run had drawn from its seed before this token; null: nobody has drawn. */
  draws: number | null;
  /** The tokens with the largest logits, the best first; all of them, if the vocabulary is smaller. */
  ids: Int32Array;
  /** Of each. */
  logits: Float32Array;
}

/** A step of the sampler, by the name of its option. 'penalties': all that changes logits, biases and DRY as well. */
export type ChoiceStep =
  'penalties' | 'topNSigma' | 'topK' | 'typicalP' | 'topP' | 'minP' | 'xtc' | 'temperature';

/** A token that may be chosen. */
export interface ChoiceCandidate {
  id: number;
  /** Its log-probability from the raw logits. */
  logprob: number;
  /** Its log-probability after penalties, biases and DRY; -Infinity: it is banned. */
  changed: number;
  /** The index in `steps` of the step that leaves it out; null: none does. */
  cut: number | null;
  /** Its probability when the token is drawn; 0 if it is left out. */
  p: number;
}

/** What the sampler does with logits, step by step. */
export interface Choice {
  /** False: with these options the kept logits don't suffice, and all lists are empty. Then `engine.choiceAt` can say it. */
  enough: boolean;
  /**
   * The steps that are on, in the sampler's order: how many candidates are left after each, and their share of the
   * probability, before temperature.
   */
  steps: { step: ChoiceStep; left: number; mass: number }[];
  /** The best by their raw logits, the best first; the token that is taken comes last if it is none of them. */
  candidates: ChoiceCandidate[];
  /** How many tokens can be drawn. */
  nucleus: number;
  /** Their share of the raw probability. */
  mass: number;
  /** The random number, from 0 to 1, that draws among them; null: none is drawn. */
  place: number | null;
  /** The token that it takes; -1 if the kept logits don't suffice. */
  taken: number;
}

/** Options of `engine.choice` and `engine.choiceAt`: those of `generate` that choose a token, and what the run knew. */
export interface ChoiceOptions extends GenerateOptions {
  /** How many candidates to tell, with the one that is taken; 1 to 1000. Default: 40. */
  most?: number | undefined;
  /** How many of the tokens before are the prompt's: presence and frequency penalties don't count these. Default: 0. */
  promptTokens?: number | undefined;
  /**
   * How many random numbers were drawn from `seed` (without one: 0) before this token. Default: what the raw logits say, or 0.
   */
  draws?: number | undefined;
}

export interface RawLogitsOptions {
  /** The first token that is told: from 1 on, because nothing comes before token 0. Default: 1. */
  from?: number | undefined;
  /** How many of the best logits to give for each; 1 to 256. Default: 256. */
  top?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** How far a lens is computed, in cells. */
export interface LensProgress {
  done: number;
  total: number;
}

export interface LensOptions {
  /** Positions of the ids, ascending. Default: all. */
  positions?: readonly number[] | undefined;
  /** Layers, ascending, counted from 0. Default: all. */
  layers?: readonly number[] | undefined;
  /** How many of the likeliest tokens to give for each cell; 1 to 100. Default: 3. */
  top?: number | undefined;
  signal?: AbortSignal | undefined;
  /** Called at most ten times a second, and at the end. */
  onProgress?: ((progress: LensProgress) => void) | undefined;
}

/** What a layer would have said at a position, had it been the last one. */
export interface LensCell {
  /** [id, log-probability], the likeliest first. */
  top: [number, number][];
  /** In nats. */
  entropy: number;
  /** The Jensen-Shannon divergence from what the last layer says, in nats: from 0 to ln 2. */
  divergence: number;
}

/** The logit lens: what each layer would have said. */
export interface Lens {
  layers: number[];
  positions: number[];
  /** [layer][position] */
  cells: LensCell[][];
}

export interface AttentionOptions {
  /** The position that looks back. Default: the last of the ids. */
  position?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** How much a position looks at each of those up to it. */
export interface Attention {
  position: number;
  /** The layers that have attention, counted from 0. */
  layers: number[];
  /** How many heads each of them has. */
  heads: number[];
  /** Of each of these layers: [heads][position + 1] weights. A head's weights sum to 1. */
  weights: Float32Array[];
}

/** Which state of a layer: the residual stream after it, or what its attention or its feed-forward part adds to that. */
export type StatesAt = 'residual' | 'attention' | 'ffn';

/** Whose state: of the last token, of all tokens, or the mean of all tokens. */
export type StatesOf = 'last' | 'all' | 'mean';

/** How far hidden states are computed. */
export interface StatesProgress {
  /** Prompts that are done. */
  done: number;
  /** All prompts. */
  total: number;
}

export interface HiddenStatesOptions {
  /** Layers, ascending, counted from 0. Default: all. */
  layers?: readonly number[] | undefined;
  /** Default: 'last'. */
  positions?: StatesOf | undefined;
  /** Default: 'residual'. */
  at?: StatesAt | undefined;
  signal?: AbortSignal | undefined;
  /** Called at most ten times a second, and at the end. */
  onProgress?: ((progress: StatesProgress) => void) | undefined;
}

export interface PiecesOptions {
  signal?: AbortSignal | undefined;
}

/** The calls of an engine that look inside its model. Each works in a session of its own, beside what else the engine does. */
export interface InsideCalls {
  /**
   * What the sampler does with the logits that a token was chosen from, by the sampler's own code: nothing is computed anew, so
   * that options can be tried. `before`: the ids of prompt and answer before the token.
   */
  choice(raw: RawLogits, before: readonly number[], options?: ChoiceOptions): Promise<Choice>;
  /** The same for the token after `ids`. All logits are computed anew, so that they always suffice. */
  choiceAt(ids: readonly number[], options?: ChoiceOptions): Promise<Choice>;
  /**
   * Computes anew what each token was chosen from: item k is of `ids[from + k]`, after all before it, the same bits as
   * `token.raw`. The work begins with the first item that is asked for, and ends when the loop is left.
   */
  rawLogits(ids: readonly number[], options?: RawLogitsOptions): AsyncStream<RawLogits>;
  /** What each layer would have said after each of the positions of `ids`, had it been the last one. */
  lens(ids: readonly number[], options?: LensOptions): Promise<Lens>;
  /** How much one position of `ids` looks at each of those before it, by layer and head. */
  attention(ids: readonly number[], options?: AttentionOptions): Promise<Attention>;
  /**
   * The hidden states of a prompt, [layers][positions][dim]; of a list of prompts those of each, in its order. They are computed
   * side by side, and each is the same as if its prompt were computed alone.
   */
  hiddenStates(prompt: Prompt, options?: HiddenStatesOptions): Promise<Float32Array>;
  hiddenStates(prompts: readonly Prompt[], options?: HiddenStatesOptions): Promise<Float32Array[]>;
  /** The text of each token as lists show it; control tokens by their names. */
  pieces(ids: readonly number[], options?: PiecesOptions): Promise<string[]>;
}
