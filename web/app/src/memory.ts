// The memory that models take: whether a model can stay until another one is loaded, and what is said of it.
import type { MemoryPlan } from '@sluice/engine';
import { bytes } from './format';

const GIB = 1024 ** 3;
/** Assumed if the browser does not tell the device's memory. */
const USUAL_GIB = 4;

/**
 * Two models fit if together they take at most a quarter of the device's memory. `next`: the bytes of the new model;
 * `held`: the bytes of the old one; `deviceGib`: navigator.deviceMemory, if the browser has it.
 */
export function bothFit(next: number, held: number, deviceGib: number | undefined): boolean {
  return next + held <= ((deviceGib ?? USUAL_GIB) * GIB) / 4;
}

/** What a model would take, for a reader who decides whether to load it. '' if that is not known. */
export function planInWords(plan: MemoryPlan | null): string {
  if (plan === null) return '';
  const { all, total, rereadBytes } = plan;
  if (rereadBytes === 0) return `It takes up to ${bytes(total)} of memory.`;
  return (
    `It would take up to ${bytes(all)} of memory, which is more than it may take here. So it stays below ${bytes(total)}, ` +
    `and ${bytes(rereadBytes)} are read again from this device for each token. That is slower: how fast this device ` +
    `reads decides.`
  );
}

/** A note of the library in the page's words: what its options are called here, and a sentence's first letter. */
export function noteInWords(note: string): string {
  const text = note
    .replace('as memoryBudget says', 'as it is set under Settings, Memory')
    .replace(
      'the option memoryBudget sets another limit',
      'another limit can be set under Settings, Memory',
    );
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
