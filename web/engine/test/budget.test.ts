import { afterEach, describe, expect, it, vi } from 'vitest';
import { budgetNote } from '../src/engine/budget.js';
import { chooseBudget, memoryLimit } from '../src/shared/budget.js';
import type { MemoryPlan } from '../src/shared/types.js';

const MIB = 1 << 20;
const GIB = 1 << 30;

/** As a browser on a device with so many GiB tells it. */
function onDevice(deviceMemory: number | undefined): void {
  vi.stubGlobal('navigator', { deviceMemory });
}
afterEach(() => {
  vi.unstubAllGlobals();
});

describe('the memory that a model may take', () => {
  it.each([
    [undefined, 4, 2 * GIB],
    [undefined, 0.5, GIB],
    [undefined, 64, 4 * GIB - 128 * MIB],
    [undefined, undefined, 4 * GIB - 128 * MIB],
    [300_000_000, 4, 300_000_000],
    [9e9, 64, 4 * GIB - 128 * MIB],
  ])('option %s, device %s: %s', (given, device, bytes) => {
    onDevice(device);
    expect(memoryLimit(given)).toBe(bytes);
  });

  it('is what a module can have where nothing is told of the device', () => {
    vi.stubGlobal('navigator', undefined);
    expect(memoryLimit()).toBe(4 * GIB - 128 * MIB);
  });
});

describe('the budget', () => {
  it.each([
    // The option, the browser's most, the device's memory, what is chosen.
    [undefined, 4 * GIB, 8, 4 * GIB - 128 * MIB, 'browser'],
    [undefined, 4 * GIB, undefined, 4 * GIB - 128 * MIB, 'browser'],
    [undefined, 4 * GIB, 4, 2 * GIB, 'device'],
    // Browsers tell no less than 0.25.
    [undefined, 4 * GIB, 0.25, GIB, 'device'],
    [undefined, 1 * GIB, 8, 960 * MIB, 'browser'],
    [undefined, 256 * MIB, 2, 240 * MIB, 'browser'],
    [300_000_000, 4 * GIB, 8, 300_000_000, 'given'],
    [3 * GIB, 4 * GIB, 2, 3 * GIB, 'given'],
    [9e9, 4 * GIB, 8, 4 * GIB - 128 * MIB, 'browser'],
  ])('option %s, browser %s, device %s: %s', (given, most, device, bytes, reason) => {
    expect(chooseBudget(given, most, device)).toEqual({ bytes, reason });
  });

  it('is told if not all of the model stays in memory', () => {
    const memory = { all: 4.9e9, rereadBytes: 2.7e9 } as MemoryPlan;
    expect(budgetNote(memory, { bytes: 2 * GIB, reason: 'device' })).toEqual({
      code: 'weights_reread',
      message:
        "the model needs 4.9 GB of memory and gets 2.15 GB (half of this device's memory; the option memoryBudget sets " +
        'another limit): 2.7 GB of its weights are read again for each token, and once for each prompt',
      audience: 'user',
      facts: { neededBytes: 4.9e9, availableBytes: 2 * GIB, rereadBytes: 2.7e9, limit: 'device' },
    });
    expect(budgetNote({ ...memory, rereadBytes: 0 }, { bytes: 1, reason: 'given' })).toBeNull();
  });
});
