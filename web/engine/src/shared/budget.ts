// How much memory a model may take.
import { deviceMemory } from '../platform/here.js';

/** What set the budget: the caller, the browser's limit for a page, or the device's memory. */
export type BudgetReason = 'given' | 'browser' | 'device';

export interface Budget {
  bytes: number;
  reason: BudgetReason;
}

const MIB = 1 << 20;
const GIB = 1 << 30;
/** What the heap may need beyond the budget, which is an estimate; memory is also allocated in blocks. */
const MARGIN = 128 * MIB;
/** The most memory of a module, in bytes. */
const MOST = 4 * GIB;

/**
 * The budget of a model whose source can be read again. `given`: the option memoryBudget. `maxBytes`: the limit of the module's
 * memory. `device`: the device's memory in GiB, if that is known.
 */
export function chooseBudget(
  given: number | undefined,
  maxBytes: number,
  device: number | undefined,
): Budget {
  const most = maxBytes - Math.min(MARGIN, maxBytes / 16);
  const half = device === undefined ? Infinity : Math.max(GIB, (device * GIB) / 2);
  const wished: Budget =
    given === undefined
      ? { bytes: Math.floor(half), reason: 'device' }
      : { bytes: given, reason: 'given' };
  return wished.bytes <= most ? wished : { bytes: most, reason: 'browser' };
}

/**
 * The bytes of memory that a model may take here if its source can be read again, as Engine.load chooses them with this
 * `memoryBudget`. A phone's browser may give less.
 */
export function memoryLimit(memoryBudget?: number): number {
  return chooseBudget(memoryBudget, MOST, deviceMemory()).bytes;
}
