// Reads the module's answers: '' for success, a value as JSON, or an error as JSON (wasm/module.d.ts).
import type { Answer } from '../../../wasm/module.js';
import { SluiceError, isErrorCode } from './errors.js';

/** The value of an answer; throws if the answer is an error. */
export function parseAnswer<T>(answer: Answer): T {
  const value = JSON.parse(answer) as T & { event?: unknown; code?: unknown; message?: unknown };
  if (value.event === 'error') {
    throw new SluiceError(
      isErrorCode(value.code) ? value.code : 'worker_died',
      String(value.message),
    );
  }
  return value;
}

/** Throws if an answer without a value is an error. */
export function check(answer: Answer): void {
  if (answer !== '') parseAnswer(answer);
}
