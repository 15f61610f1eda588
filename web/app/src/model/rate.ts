// How fast the last download came, kept from visit to visit: it tells about how long the next one takes.
import { effect, signal } from '@preact/signals';
import { loading } from './state';

const KEY = 'sluice.download';
/** A download has to bring so much before its rate counts, in bytes. */
const ENOUGH = 4_000_000;

/** Bytes a second; null: nothing was downloaded yet. */
export const downloadRate = signal<number | null>(null);

/** Anything can be in a browser's storage. */
function read(): number | null {
  try {
    const rate = Number(localStorage.getItem(KEY));
    return Number.isFinite(rate) && rate > 0 ? rate : null;
  } catch {
    return null;
  }
}

/** Watches downloads from now on. */
export function keepRate(): void {
  downloadRate.value = read();
  let latest = 0;
  effect(() => {
    const { source, progress } = loading.value ?? {};
    if (source?.kind === 'address' && progress?.source === 'network') {
      const { loaded, cachedBytes, bytesPerSecond } = progress;
      if (loaded - cachedBytes >= ENOUGH && bytesPerSecond > 0) latest = bytesPerSecond;
    }
    // Not with each step of a load
    if (loading.value !== null || latest === 0) return;
    downloadRate.value = latest;
    latest = 0;
    try {
      localStorage.setItem(KEY, String(Math.round(downloadRate.peek() ?? 0)));
    } catch {
      // No storage: it is known until the page is closed.
    }
  });
}
