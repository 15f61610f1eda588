// One error type for the whole library; the codes are the same in C++, at the command line and here.

/** What went wrong, for programs. The message says it for people, with what to do. */
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
  | 'busy'
  | 'worker_died'
  | 'unsupported_browser'
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
  'busy',
  'worker_died',
  'unsupported_browser',
  'aborted',
]);

/** An error as it travels between threads: plain data. */
export interface ErrorData {
  code: ErrorCode;
  message: string;
  /** The HTTP status, where the server answered with one. */
  status?: number;
}

/**
 * Every failure of this library, but a signal's own reason (an AbortSignal.timeout's, say), which is handed on as it is.
 * `name` is 'AbortError' when `code` is 'aborted'.
 */
export class SluiceError extends Error {
  readonly code: ErrorCode;
  /** The HTTP status of a download that failed, where the server answered. */
  readonly status?: number;

  constructor(
    code: ErrorCode,
    message: string,
    options: { status?: number; cause?: unknown } = {},
  ) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = code === 'aborted' ? 'AbortError' : 'SluiceError';
    this.code = code;
    if (options.status !== undefined) this.status = options.status;
  }
}

/**
 * What a call rejects with when its signal has fired. As with fetch that is the signal's reason: the TimeoutError of
 * AbortSignal.timeout, or what the caller gave to abort(). Of abort() with nothing it is a SluiceError, never undefined.
 */
export function abortReason(signal: AbortSignal): unknown {
  const reason: unknown = signal.reason;
  const given = !(reason instanceof DOMException && reason.name === 'AbortError');
  if (given && reason !== undefined) return reason;
  return new SluiceError('aborted', 'stopped by the caller', { cause: reason });
}

/** What a broken module is to its user: out_of_memory where it said so before it fell. */
export function stoppedWorking(error: unknown): SluiceError {
  if (error instanceof SluiceError) return error;
  const text = error instanceof Error ? error.message : String(error);
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
    { cause: error },
  );
}

/** To and from the form that travels between threads. */
export function toErrorData(error: unknown, code: ErrorCode = 'worker_died'): ErrorData {
  if (error instanceof SluiceError) {
    return {
      code: error.code,
      message: error.message,
      ...(error.status === undefined ? {} : { status: error.status }),
    };
  }
  return { code, message: error instanceof Error ? error.message : String(error) };
}

export function fromErrorData(data: ErrorData): SluiceError {
  return new SluiceError(
    data.code,
    data.message,
    data.status === undefined ? {} : { status: data.status },
  );
}

export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && CODES.has(code);
}
