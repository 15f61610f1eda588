// Helpers for promises, signals and the caller's callbacks.
import { abortReason } from './errors.js';

/** Calls a function of the caller. Its error must not stop the work; it is reported as an uncaught error. */
export function callBack<T>(callback: (value: T) => void, value: T): void {
  try {
    callback(value);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

/** A promise with its functions. If nobody listens, its rejection is not reported. */
export function deferred<T = void>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: unknown) => void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  promise.catch(() => {});
  return { promise, resolve, reject };
}

/** The value of `work`. When the signal fires, its reason is thrown at once; the work continues. */
export async function unlessAborted<T>(
  work: T | Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T> {
  const { promise: aborted, reject } = deferred<never>();
  if (signal?.aborted) reject(abortReason(signal));
  const release = onAbort(signal, reject);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    release();
  }
}

/** Calls back with the error to throw when the signal fires. The returned function removes the listener. */
export function onAbort(
  signal: AbortSignal | undefined,
  callback: (reason: unknown) => void,
): () => void {
  if (signal === undefined) return () => {};
  const heard = (): void => callback(abortReason(signal));
  signal.addEventListener('abort', heard, { once: true });
  return () => signal.removeEventListener('abort', heard);
}

/** Waits for `event`, but at most `limit` milliseconds. */
export async function atMost(limit: number, event: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limit);
  });
  await Promise.race([event, patience]);
  clearTimeout(timer);
}
