// Waits with a time limit, or until a signal fires.
import type { SluiceError } from '../../shared/errors.js';

/** Waits for `work`, but at most `limit` milliseconds. Then it throws the error of `late`, and `end` ends the work. */
export async function within<T>(
  work: Promise<T>,
  limit: number,
  late: () => SluiceError | Error,
  end: () => void,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(late());
      end();
    }, limit);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves after `ms` milliseconds, or when the signal fires, or when the device comes online. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      globalThis.removeEventListener?.('online', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    globalThis.addEventListener?.('online', end);
  });
}
