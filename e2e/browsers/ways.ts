// The browsers that browsers.spec.ts runs in, and the flavours that each refuses.
import type { Flavour } from '@sluice/engine';

export interface Way {
  browser: 'firefox' | 'webkit';
  /** Whether pages are served with the headers for cross-origin isolation. */
  isolation: boolean;
  /** Whether WebKit is told to have SharedArrayBuffer. */
  sharedMemory?: boolean;
  /** The flavours that run there, from best to least. */
  runs: Flavour[];
  /** The error of each other flavour. If one runs with a newer browser, the tests fail; then move it to `runs`. */
  refused: Partial<Record<Flavour, RegExp>>;
  /** Why nothing is kept there; null if models are kept. */
  keepsNothing: RegExp | null;
}

const NO_RELAXED = /relaxed SIMD/;
const NOT_ISOLATED = /not cross-origin isolated/;
/**
 * WebKitGTK 2.50 has no navigator.storage. With the features StorageAPI, FileSystem and AccessHandle switched on it has one, but
 * the handles of files, which the cache needs, came to its GLib ports only later (WebKit pull request 70649).
 */
const NO_FILES = /isn't kept on this device: this browser has no private file system/;
const NO_SHARED_MEMORY = /no SharedArrayBuffer/;

/** By the name of the project in playwright.config.ts. */
export const WAYS: Record<string, Way> = {
  firefox: {
    browser: 'firefox',
    isolation: true,
    runs: ['relaxed-mt', 'simd-mt', 'relaxed', 'simd'],
    refused: {},
    keepsNothing: null,
  },
  'firefox-plain': {
    browser: 'firefox',
    isolation: false,
    runs: ['relaxed', 'simd'],
    refused: { 'relaxed-mt': NOT_ISOLATED, 'simd-mt': NOT_ISOLATED },
    keepsNothing: null,
  },
  webkit: {
    browser: 'webkit',
    isolation: true,
    sharedMemory: true,
    runs: ['simd-mt', 'simd'],
    refused: { 'relaxed-mt': NO_RELAXED, relaxed: NO_RELAXED },
    keepsNothing: NO_FILES,
  },
  // Debian's default: even isolated pages have no SharedArrayBuffer.
  'webkit-plain': {
    browser: 'webkit',
    isolation: true,
    sharedMemory: false,
    runs: ['simd'],
    refused: { 'relaxed-mt': NO_RELAXED, 'simd-mt': NO_SHARED_MEMORY, relaxed: NO_RELAXED },
    keepsNothing: NO_FILES,
  },
};
