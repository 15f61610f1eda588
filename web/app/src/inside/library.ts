// What the room asks of the library: the part of an engine that says what was chosen, from what, and what its layers hold.
import type { Engine } from '@sluice/engine';

export type Insight = Pick<
  Engine,
  | 'info'
  | 'tokenize'
  | 'detokenize'
  | 'countTokens'
  | 'applyTemplate'
  | 'choice'
  | 'choiceAt'
  | 'rawLogits'
  | 'lens'
  | 'attention'
  | 'pieces'
>;

/** The ids of a text as `generate` gives it to the model: with the token that the model expects before it. */
export async function encode(by: Insight, text: string, special = false): Promise<number[]> {
  const [ids, count] = await Promise.all([
    by.tokenize(text, { special }),
    by.countTokens(text, { special }),
  ]);
  const { bos } = by.info.tokenizer;
  return count > ids.length && bos !== null ? [bos, ...ids] : ids;
}
