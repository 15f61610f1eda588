// The memory that models take: whether a model can stay until another one is loaded, and what is said of it.
import type { MemoryPlan } from '@sluice/engine';
import { bytes } from '../format';
import { t } from '../texts';

const GIB = 1024 ** 3;
/** Assumed if the browser does not tell the device's memory. */
const USUAL_GIB = 4;
/** What a page's module can grow to, less what the library leaves free. */
const MOST = 3.9e9;

/**
 * Two models fit if together they take at most a quarter of the device's memory. `next`: the bytes of the new model;
 * `held`: the bytes of the old one; `deviceGib`: navigator.deviceMemory, if the browser has it.
 */
export function bothFit(next: number, held: number, deviceGib: number | undefined): boolean {
  return next + held <= ((deviceGib ?? USUAL_GIB) * GIB) / 4;
}

/**
 * The bytes that a model may take here: what is set, or half of the device's memory, as the library chooses; no browser
 * gives a page more than 4 GiB. `set`: the setting, in bytes.
 */
export function limitOf(set: number | undefined, deviceGib: number | undefined): number {
  const half = deviceGib === undefined ? MOST : Math.max(GIB, (deviceGib * GIB) / 2);
  return Math.min(set ?? half, MOST);
}

/** What a model would take, for a reader who decides whether to load it. '' if that is not known. */
export function planInWords(plan: MemoryPlan | null): string {
  if (plan === null) return '';
  const { all, total, rereadBytes } = plan;
  const words = t.value.model.memory;
  if (rereadBytes === 0) return words.takes(bytes(total));
  return words.tooMuch(bytes(all), bytes(total), bytes(rereadBytes));
}
