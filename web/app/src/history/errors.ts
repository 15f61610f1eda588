// What can fail when conversations are kept. The words for the reader are in texts/en/history.ts.

/**
 * 'full': the device has no room left. 'none': this browser keeps nothing for this page (a private window, or blocked by
 * the reader). 'newer': what is kept is of a newer version of the page. 'failed': anything else.
 */
export type HistoryCode = 'full' | 'none' | 'newer' | 'failed';

export class HistoryError extends Error {
  override readonly name = 'HistoryError';
  constructor(
    readonly code: HistoryCode,
    cause?: unknown,
  ) {
    super(`conversations: ${code}${cause instanceof Error ? ` (${cause.message})` : ''}`, {
      cause,
    });
  }
}

/** Any error of the browser's database as a HistoryError. `opening`: the database was being opened. */
export function explained(error: unknown, opening = false): HistoryError {
  if (error instanceof HistoryError) return error;
  const name = error instanceof Error ? error.name : '';
  if (name === 'QuotaExceededError') return new HistoryError('full', error);
  if (name === 'VersionError') return new HistoryError('newer', error);
  // Browsers refuse the database in private windows and where the reader has blocked it.
  const refused = ['SecurityError', 'InvalidStateError', 'NotAllowedError', 'NotSupportedError'];
  return new HistoryError(opening && refused.includes(name) ? 'none' : 'failed', error);
}
