// The memory budget of a model, and the notes and errors about it.
import { deviceMemory, words } from '../platform/here.js';
import { chooseBudget, type Budget, type BudgetReason } from '../shared/budget.js';
import { SluiceError, type ErrorData } from '../shared/errors.js';
import type { Facts } from '../shared/facts.js';
import { makeNote, type Note } from '../shared/notes.js';
import type { Access } from '../shared/protocol.js';
import { sized } from '../shared/sized.js';
import type { MemoryPlan, ModelInfo } from '../shared/types.js';

const REASONS: Record<BudgetReason, string> = {
  given: 'as memoryBudget says',
  browser: `the most that ${words.gives}`,
  device: "half of this device's memory; the option memoryBudget sets another limit",
};

/** The note on a model with streamed weights; null if all weights stay in memory. */
export function budgetNote({ all, rereadBytes }: MemoryPlan, budget: Budget): Note | null {
  if (rereadBytes === 0) return null;
  const { bytes, reason } = budget;
  return makeNote(
    'weights_reread',
    `the model needs ${sized(all)} of memory and gets ${sized(bytes)} (${REASONS[reason]}): ` +
      `${sized(rereadBytes)} of its weights are read again for each token, and once for each prompt`,
    { neededBytes: all, availableBytes: bytes, rereadBytes, limit: reason },
  );
}

/** How much memory there is for a model. */
export interface Room {
  /** The limit of the module's memory. */
  maxBytes: number;
  /** Null if all weights must stay in memory, because the source can't be read again. */
  budget: Budget | null;
  /** The core's load options as JSON, with the budget. */
  options: string;
}

/** `options`: the core's load options as JSON. */
export function roomFor(options: string, maxBytes: number, access: Access): Room {
  if (access !== 'rereadable') return { maxBytes, budget: null, options };
  const given = JSON.parse(options) as { memoryBudget?: number };
  const budget = chooseBudget(given.memoryBudget, maxBytes, deviceMemory());
  return { maxBytes, budget, options: JSON.stringify({ ...given, memoryBudget: budget.bytes }) };
}

/** Why the model can't run here; null if it can. */
export function tooLarge(
  { memory }: ModelInfo,
  { maxBytes, budget, options }: Room,
): ErrorData | null {
  if (memory === null) return null;
  const { memoryBudget = Infinity } = JSON.parse(options) as { memoryBudget?: number };
  const needed = budget === null ? memory.all : memory.least;
  if (needed <= Math.min(maxBytes, memoryBudget)) return null;
  const needs = `the model needs ${needed} bytes${budget === null ? '' : ' at least'} (weights, cache and activations), and`;
  const todo =
    memory.least < needed
      ? 'use a smaller model or a smaller contextSize, or a source that can be read again: a file, or an address if ' +
        `${words.here} can keep the model`
      : 'use a smaller model or a smaller contextSize';
  const browser = budget === null ? needed > maxBytes : budget.reason === 'browser';
  const most = budget === null ? maxBytes : budget.bytes;
  const facts: Facts = {
    neededBytes: memory.all,
    availableBytes: browser ? most : memoryBudget,
    ...(budget === null ? {} : { leastBytes: memory.least }),
    limit: browser ? 'browser' : (budget?.reason ?? 'given'),
  };
  return browser
    ? {
        code: 'out_of_memory',
        message: `${needs} ${words.gives} ${most} at most; ${todo}`,
        facts,
      }
    : {
        code: 'budget_too_small',
        message: `${needs} memoryBudget is ${memoryBudget}${
          budget?.reason === 'device' ? " by default, half of this device's memory" : ''
        }; give it more, or ${todo}`,
        facts,
      };
}

/** Adds to the core's error who chose the budget, which the core can't know. */
export function explained(error: unknown, { budget }: Room): unknown {
  if (!(error instanceof SluiceError) || error.code !== 'budget_too_small') return error;
  const limit = budget?.reason ?? 'given';
  const facts: Facts = { ...error.facts, limit };
  if (limit === 'browser') {
    const message = `${error.message}. ${words.noMore}`;
    return new SluiceError('out_of_memory', message, { facts });
  }
  const why = "By default it is half of this device's memory; the option memoryBudget sets another";
  const message = limit === 'device' ? `${error.message}. ${why} limit` : error.message;
  return new SluiceError(error.code, message, { facts });
}
