// The memory that a model would take, in words.
import type { MemoryPlan } from '@sluice/engine';
import { bytes } from '../texts/format';
import { modelsTexts } from './models-texts';

/** What a model would take, for a reader who decides whether to load it. '' if that is not known. */
export function planInWords(plan: MemoryPlan | null): string {
  if (plan === null) return '';
  const { all, total, rereadBytes } = plan;
  const words = modelsTexts.value.memory;
  if (rereadBytes === 0) return words.takes(bytes(total));
  return words.tooMuch(bytes(all), bytes(total), bytes(rereadBytes));
}
