// The error type of the whole library. The codes are the same as in C++ and at the command line.
import type { Facts } from './facts.js';

/** What went wrong, for programs. The message tells people the same, and what to do. */
export type ErrorCode =
  | 'bad_file'
  | 'unsupported_model'
  | 'unsupported_type'
  | 'out_of_memory'
  | 'budget_too_small'
  | 'download_failed'
  | 'download_corrupt'
  | 'offline'
  | 'storage_full'
  | 'context_full'
  | 'invalid_argument'
  | 'not_found'
  | 'closed'
  | 'busy'
  | 'worker_died'
  | 'unsupported_browser'
  | 'unsupported_environment'
  | 'aborted';

const CODES: ReadonlySet<string> = new Set<ErrorCode>([
  'bad_file',
  'unsupported_model',
  'unsupported_type',
  'out_of_memory',
  'budget_too_small',
  'download_failed',
  'download_corrupt',
  'offline',
  'storage_full',
  'context_full',
  'invalid_argument',
  'not_found',
  'closed',
  'busy',
  'worker_died',
  'unsupported_browser',
  'unsupported_environment',
  'aborted',
]);

/** An error as plain data, which can be posted between threads. */
export interface ErrorData {
  code: ErrorCode;
  message: string;
  /** The HTTP status, if the server answered. */
  status?: number;
  /** What the message tells, in fields; absent if there is nothing. */
  facts?: Facts;
  /** The field of a request's body that is wrong. */
  param?: string;
  /** The error behind this one, as text. */
  cause?: string;
}

/**
 * Every error of this library, except the reason of a signal (such as that of AbortSignal.timeout), which is thrown as it
 * is. `name` is 'AbortError' if `code` is 'aborted'.
 */
export class SluiceError extends Error {
  readonly code: ErrorCode;
  /** The HTTP status of a download that failed, if the server answered. */
  readonly status?: number;
  /** The field of a request's body that is wrong. */
  readonly param?: string;
  /** What the message tells, in fields: bytes, tokens, names. Empty if there is nothing. */
  readonly facts: Facts;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      status?: number | undefined;
      param?: string | undefined;
      facts?: Facts | undefined;
      cause?: unknown;
    } = {},
  ) {
    const { status, param, facts, cause } = options;
    super(message, cause === undefined ? undefined : { cause });
    this.name = code === 'aborted' ? 'AbortError' : 'SluiceError';
    this.code = code;
    if (status !== undefined) this.status = status;
    if (param !== undefined) this.param = param;
    this.facts = { ...facts, ...(status === undefined ? {} : { status }) };
  }

  /** For JSON.stringify: the name, and what `toErrorData` gives. */
  toJSON(): ErrorData & { name: string } {
    return { name: this.name, ...toErrorData(this) };
  }
}

/** The same error with another message. */
export function reworded(error: SluiceError, message: string): SluiceError {
  const { code, status, param, facts } = error;
  return new SluiceError(code, message, { status, param, facts, cause: error });
}

/**
 * What a call rejects with after its signal fired. As with fetch, this is the signal's reason: the TimeoutError of
 * AbortSignal.timeout, or the argument of abort(). After abort() without an argument it is a SluiceError.
 * Never undefined.
 */
export function abortReason(signal: AbortSignal): unknown {
  const reason: unknown = signal.reason;
  const given = !(reason instanceof DOMException && reason.name === 'AbortError');
  if (given && reason !== undefined) return reason;
  return new SluiceError('aborted', 'stopped by the caller', { cause: reason });
}

/**
 * The error of a module that trapped. If memory runs out, wasm/bindings.cc throws the text `out_of_memory`; when a thread throws
 * it, the browser puts words of its own before it. Any other error is worker_died.
 */
export function stoppedWorking(error: unknown): SluiceError {
  if (error instanceof SluiceError) return error;
  const text = textOf(error);
  if (text.includes('out_of_memory')) {
    return new SluiceError(
      'out_of_memory',
      'the engine ran out of memory; use a smaller model or context',
      { cause: error },
    );
  }
  return new SluiceError(
    'worker_died',
    `the engine stopped working (${text}); load the model again`,
    { facts: { said: text }, cause: error },
  );
}

/** The most causes of causes that are told. */
const MOST_CAUSES = 3;

/** A cause as text, with its own causes and their codes: Node's is 'fetch failed', whose cause says why. */
function writtenCause(error: unknown): string | undefined {
  const texts: string[] = [];
  try {
    let cause = error;
    for (let i = 0; i < MOST_CAUSES && cause !== undefined && cause !== null; ++i) {
      const { code, cause: next } = cause as { code?: unknown; cause?: unknown };
      const text = String(cause);
      texts.push(typeof code === 'string' && !text.includes(code) ? `${text} (${code})` : text);
      cause = next;
    }
  } catch {
    // A proxy whose traps throw.
  }
  return texts.length === 0 ? written(error) : texts.join(': ');
}

/** Any value as text; undefined if it can't be read. */
function written(value: unknown): string | undefined {
  try {
    return String(value);
  } catch {
    return undefined;
  }
}

/** Any thrown value as text, an error with its name: `TypeError: ..`. */
export function namedText(error: unknown): string {
  return written(error) ?? "an error that can't be read";
}

/** The message of any thrown value. */
export function textOf(error: unknown): string {
  try {
    return namedText(error instanceof Error ? error.message : error);
  } catch {
    return namedText(error);
  }
}

/** The code for an error that is no SluiceError, such as a signal's own reason (`abortReason`). */
function usualCode(error: unknown): ErrorCode {
  const ended = error instanceof DOMException && /^(Abort|Timeout)Error$/.test(error.name);
  return ended ? 'aborted' : 'worker_died';
}

function dataOf(error: SluiceError): ErrorData {
  const { status, param, facts } = error;
  const cause = error.cause === undefined ? undefined : writtenCause(error.cause);
  return {
    code: error.code,
    message: error.message,
    ...(status === undefined ? {} : { status }),
    ...(param === undefined ? {} : { param }),
    ...(Object.keys(facts).length === 0 ? {} : { facts }),
    ...(cause === undefined ? {} : { cause }),
  };
}

/**
 * Any thrown value as plain data, to be posted to another thread or written as JSON. `code`: for an error that is no SluiceError;
 * default: 'aborted' if a signal ended the call, else 'worker_died'.
 */
export function toErrorData(error: unknown, code?: ErrorCode): ErrorData {
  let other = code;
  try {
    if (error instanceof SluiceError) return dataOf(error);
    // In `errors.map(toErrorData)`, `code` is an index.
    if (!isErrorCode(other)) other = usualCode(error);
  } catch {
    // A proxy whose traps throw.
  }
  return { code: other ?? 'worker_died', message: textOf(error) };
}

/** The error of data from outside; null if the data is no error's. Reading it may throw. */
function takeError(data: Partial<ErrorData>): SluiceError | null {
  const { code, message, facts = {}, ...more } = data;
  // JSON writes NaN as null: null counts as absent.
  const [status, param, cause] = [
    more.status ?? undefined,
    more.param ?? undefined,
    more.cause ?? undefined,
  ];
  const texts = [message, param ?? '', cause ?? ''];
  const fields = Object.entries(facts).filter(([, value]) => (value ?? undefined) !== undefined);
  const plain =
    Object.prototype.toString.call(facts) === '[object Object]' &&
    fields.every(([, value]) => ['string', 'number'].includes(typeof value));
  return isErrorCode(code) &&
    texts.every((text) => typeof text === 'string') &&
    Number.isInteger(status ?? 0) &&
    plain
    ? new SluiceError(code, message as string, {
        status,
        param,
        cause,
        facts: Object.fromEntries(fields) as Facts,
      })
    : null;
}

/** The error that `toErrorData` gave; its `cause` is a text. Throws `invalid_argument` for other data. */
export function fromErrorData(data: ErrorData): SluiceError {
  let cause: unknown;
  try {
    const error = takeError(data);
    if (error !== null) return error;
  } catch (thrown) {
    cause = thrown;
  }
  const message = 'this is no error data; give what toErrorData gave';
  throw new SluiceError('invalid_argument', message, { cause });
}

/**
 * The error in a message of one of the library's workers, whose data needs no checks (unlike that of fromErrorData). A worker may
 * be of another version: an error with an unknown code becomes worker_died, and isn't lost.
 */
export function toldError(data: ErrorData): SluiceError {
  const { code, message, ...more } = (data ?? {}) as Partial<ErrorData>;
  return isErrorCode(code)
    ? new SluiceError(code, String(message), more)
    : new SluiceError(
        'worker_died',
        `a worker failed (${message}); see that all files of the library are of the same version`,
      );
}

export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && CODES.has(code);
}
