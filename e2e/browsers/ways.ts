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
}

const NO_RELAXED = /relaxed SIMD/;
const NOT_ISOLATED = /not cross-origin isolated/;
const NO_SHARED_MEMORY = /no SharedArrayBuffer/;

/** By the name of the project in playwright.config.ts. */
export const WAYS: Record<string, Way> = {
  firefox: {
    browser: 'firefox',
    isolation: true,
    runs: ['relaxed-mt', 'simd-mt', 'relaxed', 'simd'],
    refused: {},
  },
  'firefox-plain': {
    browser: 'firefox',
    isolation: false,
    runs: ['relaxed', 'simd'],
    refused: { 'relaxed-mt': NOT_ISOLATED, 'simd-mt': NOT_ISOLATED },
  },
  webkit: {
    browser: 'webkit',
    isolation: true,
    sharedMemory: true,
    runs: ['simd-mt', 'simd'],
    refused: { 'relaxed-mt': NO_RELAXED, relaxed: NO_RELAXED },
  },
  // Debian's default: even isolated pages have no SharedArrayBuffer.
  'webkit-plain': {
    browser: 'webkit',
    isolation: true,
    sharedMemory: false,
    runs: ['simd'],
    refused: { 'relaxed-mt': NO_RELAXED, 'simd-mt': NO_SHARED_MEMORY, relaxed: NO_RELAXED },
  },
};
