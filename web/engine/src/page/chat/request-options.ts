// The second argument of `create`, as OpenAI's client has it.
import { abortReason } from '../../shared/errors.js';
import { GENERATE_RULES, type Rule } from '../../shared/option-table.js';
import { invalid, reading, show } from '../options.js';
import { onAbort } from '../../shared/promises.js';
import { Body, wrong } from './body.js';

/** What ends a request. */
export interface Limits {
  signals: readonly AbortSignal[];
  /** Milliseconds within which the answer must be complete, or a stream must begin. */
  timeout: number | undefined;
}

/** The checked options. */
export interface TakenOptions extends Limits {
  /** Where the answers are written, as it was given; undefined: the engine chooses. */
  session: unknown;
}

const TIMEOUT: Rule = {
  kind: 'whole',
  expected: 'a whole number of milliseconds from 0 to 2147483647',
  least: 0,
  most: 0x7fffffff, // timers can't wait longer
};

/** Ignored: they concern the network, which is not used. `stream` counts only in the body, as in OpenAI's client. */
const IDLE = [
  ...['maxRetries', 'headers', 'idempotencyKey', 'query', 'fetchOptions', 'method', 'path'],
  ...['defaultBaseURL', 'stream'],
];

/** Checks the options. `signal`: the body's. */
export function takeRequestOptions(given: unknown, signal: AbortSignal | undefined): TakenOptions {
  if (given === undefined || given === null)
    return {
      signals: signal === undefined ? [] : [signal],
      timeout: undefined,
      session: undefined,
    };
  // A signal has no own properties, so it would be ignored without an error.
  const what = 'the second argument';
  if (reading(what, () => given instanceof AbortSignal || given instanceof AbortController))
    throw invalid(`${what} is ${show(given)}; give an object: { signal }`);
  const options = new Body(given, what, '{ signal }');
  const own = options.checked<AbortSignal>('signal', GENERATE_RULES.signal);
  const timeout = options.checked<number>('timeout', TIMEOUT);
  const session = options.take('session');
  for (const name of options.left) {
    if (IDLE.includes(name)) continue;
    const known = ['signal', 'timeout', 'session', ...IDLE].join(', ');
    throw wrong(
      name,
      `unknown option ${show(name)} in the second argument, which takes ${known}; fields of the request, such as ` +
        'messages, go into the first',
    );
  }
  const signals = [signal, own].filter((one) => one !== undefined);
  return { signals, timeout, session };
}

/** Throws if a signal has fired. */
export function checkSignals({ signals }: Limits): void {
  for (const signal of signals) if (signal.aborted) throw abortReason(signal);
}

/**
 * Calls `stop` with a signal's reason when one fires, or with a TimeoutError, as AbortSignal.timeout has it. `inTime` stops
 * the timer, `release` the timer and the signals' listeners.
 */
export function watchLimits(
  { signals, timeout }: Limits,
  stop: (reason: unknown) => void,
): { inTime: () => void; release: () => void } {
  const releases = signals.map((signal) => onAbort(signal, stop));
  const late = (): void =>
    stop(new DOMException(`there was no answer within ${timeout} ms`, 'TimeoutError'));
  const timer = timeout === undefined ? undefined : setTimeout(late, timeout);
  const inTime = (): void => clearTimeout(timer);
  return {
    inTime,
    release: () => {
      inTime();
      for (const release of releases) release();
    },
  };
}
