// What was seen of how fast this device is. It is kept from visit to visit; learn.ts adds to it.
import { effect, signal, untracked, type Signal } from '@preact/signals';
import { NOTHING, estimate, readSeen, readsOfFile, type Estimate, type Seen } from './speed';
import { weights } from './state';

export const seen = signal<Seen>(NOTHING);

/** What was measured counts so long, in milliseconds: a day. */
export const FRESH_MS = 86_400_000;

/** Takes a signal's value from the storage, and puts it there when it has changed. */
export function store<T>(
  key: string,
  by: Signal<T>,
  read: (text: string | null) => T,
  text: () => string,
): void {
  try {
    by.value = read(localStorage.getItem(key));
  } catch {
    // Blocked storage: it is known until the page is closed.
    return;
  }
  const first = by.peek();
  effect(() => {
    if (by.value === first) return;
    try {
      localStorage.setItem(key, text());
    } catch {
      // No room: as above.
    }
  });
}

/** Keeps it from now on, and sees how fast weights come from this device. */
export function keepSeen(): void {
  store('sluice.speed', seen, readSeen, () => JSON.stringify(seen.value));
  // The best rate of the day
  effect(() => {
    const view = weights.value;
    if (view?.source !== 'cache' || view.bytesPerSecond <= 0) return;
    const { bytesPerSecond } = view;
    untracked(() => {
      const { disk } = seen.value;
      const lately = disk !== null && Date.now() - disk.at < FRESH_MS;
      if (lately && disk.bytesPerSecond >= bytesPerSecond) return;
      seen.value = { ...seen.value, disk: { bytesPerSecond, at: Date.now() } };
    });
  });
}

/** About how fast a model of this type and size would be, if all of it fits. */
export function speedOfFile(type: string, bytes: number): Estimate | null {
  return estimate(readsOfFile(type, bytes, 0), seen.value);
}
