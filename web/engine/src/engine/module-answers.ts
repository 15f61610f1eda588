// Reads the module's answers: '' for success, a value as JSON, or an error as JSON (wasm/module.d.ts).
import type { Answer } from '../../../../wasm/module.js';
import { SluiceError, isErrorCode } from '../shared/errors.js';
import type { Facts } from '../shared/facts.js';

/** The value of an answer; throws if the answer is an error. */
export function parseAnswer<T>(answer: Answer): T {
  const value = JSON.parse(answer) as T &
    Partial<Record<'event' | 'code' | 'message', unknown>> & {
      facts?: Facts;
    };
  if (value.event === 'error') {
    throw new SluiceError(
      isErrorCode(value.code) ? value.code : 'worker_died',
      String(value.message),
      value.facts === undefined ? {} : { facts: value.facts },
    );
  }
  return value;
}

/** Throws if an answer without a value is an error. */
export function check(answer: Answer): void {
  if (answer !== '') parseAnswer(answer);
}
