// What this browser and device give the page.

export const isolated = window.crossOriginIsolated;
/** Whether threads can share memory. In some browsers they can't, even on isolated pages. */
export const sharing = isolated && typeof SharedArrayBuffer === 'function';
export const cores = Math.min(64, Math.max(1, navigator.hardwareConcurrency || 1));

/** Whether this browser has a place for models. In private windows it may still refuse. */
export const canKeep = typeof navigator.storage?.getDirectory === 'function';

/** In GiB, rounded; undefined in some browsers. */
export function deviceMemory(): number | undefined {
  return (navigator as Navigator & { deviceMemory?: number }).deviceMemory;
}

/** Whether shortcuts are held with the key ⌘. */
export const apple = /Mac|iP(hone|ad)/.test(navigator.platform);
