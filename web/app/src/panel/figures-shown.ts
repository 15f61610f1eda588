// Which figures are shown: in the line below a text, and in detail.
import type { EngineStats } from '@sluice/engine';
import { run } from '../model/run';
import { stats } from '../model/state';

/** The figures of the present text, or of the last one; null until there are any. */
export function figuresShown(): EngineStats | null {
  // Until the first token of a text the figures are those of the text before.
  const begun = run.value !== 'waiting' && run.value !== 'reading';
  const s = stats.value;
  return s !== null && s.tokens > 0 && begun ? s : null;
}
