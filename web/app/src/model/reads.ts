// What the speed of a model is learned from: what its tokens read, and what a text shows. It comes later than the page.
import type { EngineStats, ModelInfo } from '@sluice/engine';
import { EIGHT_BITS, TEXTS, type Reads, type Seen } from './speed';

/** What a token of a model with this header reads. */
export function readsOf({ memory, types }: ModelInfo): Reads {
  const { bytesPerToken = 0, rereadBytes = 0 } = memory ?? {};
  const all = Object.entries(types);
  const bytes = (of: typeof all): number => of.reduce((sum, [, type]) => sum + type.bytes, 0);
  const wide = all.filter(([name]) => EIGHT_BITS.includes(name));
  const eightBits = bytes(wide) > bytes(all) / 2;
  return { decodeBytes: bytesPerToken || null, rereadBytes, eightBits };
}

/** Shorter texts show too little. */
export const LEAST_TOKENS = 16;

/** What a text or an answer has shown. */
export type Ran = Pick<EngineStats, 'tokens' | 'tokensPerSecond' | 'bytesPerToken'> & {
  eightBits: boolean;
};

/** `texts` with what one more text has shown; the same if it shows nothing. */
export function withText(
  texts: Seen['texts'],
  { tokens, tokensPerSecond, bytesPerToken, eightBits }: Ran,
  at: number,
): Seen['texts'] {
  if (tokens < LEAST_TOKENS || !(tokensPerSecond > 0) || !(bytesPerToken > 0)) return texts;
  const bytesPerSecond = tokensPerSecond * bytesPerToken;
  const one = { bytesPerSecond, decodeBytes: bytesPerToken, eightBits, at };
  // Of a model the newest counts.
  return [...texts.filter(({ decodeBytes }) => decodeBytes !== bytesPerToken), one].slice(-TEXTS);
}
