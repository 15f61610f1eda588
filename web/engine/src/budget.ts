// The memory that a model may take, and what a page tells its user about it.
import { sized } from './sized.js';
import type { MemoryPlan } from './types.js';

/** What decided it: the caller, the browser's limit for a page, or the device's memory. */
export type BudgetReason = 'given' | 'browser' | 'device';

export interface Budget {
  bytes: number;
  reason: BudgetReason;
}

const MIB = 1 << 20;
const GIB = 1 << 30;
/** What the heap may need besides: the budget is a plan, and memory is allocated in blocks. */
const MARGIN = 128 * MIB;

/**
 * The budget of a model whose bytes can be read again. `given`: the option memoryBudget. `maxBytes`: what the module's memory
 * can grow to. `deviceMemory`: navigator.deviceMemory, in GiB, which not every browser tells.
 */
export function chooseBudget(
  given: number | undefined,
  maxBytes: number,
  deviceMemory: number | undefined,
): Budget {
  const most = maxBytes - Math.min(MARGIN, maxBytes / 16);
  const half = deviceMemory === undefined ? Infinity : Math.max(GIB, (deviceMemory * GIB) / 2);
  const wished: Budget =
    given === undefined
      ? { bytes: Math.floor(half), reason: 'device' }
      : { bytes: given, reason: 'given' };
  return wished.bytes <= most ? wished : { bytes: most, reason: 'browser' };
}

const REASONS: Record<BudgetReason, string> = {
  given: 'as memoryBudget says',
  browser: 'the most that this browser gives a page',
  device: "half of this device's memory; the option memoryBudget sets another limit",
};

/** The note on a model of which not all stays in memory; null if all does. */
export function budgetNote(memory: MemoryPlan, { bytes, reason }: Budget): string | null {
  if (memory.rereadBytes === 0) return null;
  return (
    `the model needs ${sized(memory.all)} of memory and gets ${sized(bytes)} (${REASONS[reason]}): ` +
    `${sized(memory.rereadBytes)} of its weights are read again for each token, and for each block of a prompt`
  );
}
