// What this browser, or this page, has.
import type { NoThreads } from './platform.js';

export function whyNoThreads(): NoThreads | null {
  if (globalThis.crossOriginIsolated === true)
    return typeof SharedArrayBuffer === 'function' ? null : 'shared memory';
  return globalThis.isSecureContext === false ? 'secure context' : 'isolation';
}

/** Browsers have relaxed SIMD only in its final form. */
export function relaxedIsRight(): boolean {
  return true;
}

/** The number that the browser reports. */
export function processors(): number {
  return globalThis.navigator?.hardwareConcurrency ?? 1;
}

/** Not every browser tells it. */
export function deviceMemory(): number | undefined {
  return (globalThis.navigator as { deviceMemory?: number } | undefined)?.deviceMemory;
}

/** Pages know addresses only. */
export function pathOf(_source: string | URL): string | null {
  return null;
}

export function fileAt(_path: string): Promise<Blob> {
  return Promise.reject(new Error('pages know no paths'));
}

export function postable(blob: Blob): Blob | Promise<Blob> {
  return blob;
}

export function ifStillThere(work: () => void, ms: number): () => void {
  const timer = setTimeout(work, ms);
  return () => clearTimeout(timer);
}

/**
 * Asks the browser not to evict this site's storage when the disk is full. Some browsers ask the user. Only pages can do
 * this. Resolves to whether the storage is persistent.
 */
export async function askToPersist(): Promise<boolean> {
  try {
    const { storage } = navigator;
    return (await storage.persisted()) || (await storage.persist());
  } catch {
    return false; // the browser has no storage, or refuses
  }
}
