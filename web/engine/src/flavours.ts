// Which builds of the engine this browser can run.
import { SluiceError } from './errors.js';
import { FLAVOURS, type Flavour } from './option-table.js';
import { isThreaded } from './protocol.js';

/** A module with one function () -> v128 of the given body. It is valid if the browser knows its instructions. */
function probe(...body: number[]): Uint8Array<ArrayBuffer> {
  const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
  const types = [1, 5, 1, 0x60, 0, 1, 0x7b];
  const functions = [3, 2, 1, 0];
  const code = [0, ...body, 0x0b];
  return new Uint8Array([
    ...header,
    ...types,
    ...functions,
    10,
    code.length + 2,
    1,
    code.length,
    ...code,
  ]);
}

const SPLAT = [0x41, 0, 0xfd, 0x0f]; // i32.const 0, i8x16.splat
const SIMD = probe(...SPLAT, 0xfd, 0x62); // i8x16.popcnt
const RELAXED = probe(...SPLAT, ...SPLAT, ...SPLAT, 0xfd, 0x93, 2); // i32x4.relaxed_dot_i8x16_i7x16_add_s

export interface Abilities {
  simd: boolean;
  relaxed: boolean;
  /** What threads need and this page doesn't have; null: they can run. */
  noThreads: NoThreads | null;
}

/** Browsers hide SharedArrayBuffer from pages that are not isolated. Some (WebKitGTK) have none even in isolated pages. */
type NoThreads = 'secure context' | 'isolation' | 'shared memory';

function whyNoThreads(): NoThreads | null {
  if (globalThis.crossOriginIsolated === true)
    return typeof SharedArrayBuffer === 'function' ? null : 'shared memory';
  return globalThis.isSecureContext === false ? 'secure context' : 'isolation';
}

/** Why there are no threads, and what to do about it, in words. */
const WITHOUT: Record<NoThreads, { why: string; remedy: string }> = {
  'secure context': {
    why: 'the page is served without https, and so not cross-origin isolated',
    remedy:
      'Serve it with https (or from localhost), with the headers Cross-Origin-Opener-Policy: same-origin and ' +
      'Cross-Origin-Embedder-Policy: require-corp, to use more.',
  },
  isolation: {
    why: 'the page is not cross-origin isolated',
    remedy:
      'Send Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp with it to use more.',
  },
  'shared memory': {
    why: 'this browser has no SharedArrayBuffer, though the page is cross-origin isolated',
    remedy: 'Use another browser to use more.',
  },
};

export function detectAbilities(): Abilities {
  const wasm = typeof WebAssembly === 'object';
  return {
    simd: wasm && WebAssembly.validate(SIMD),
    relaxed: wasm && WebAssembly.validate(RELAXED),
    noThreads: whyNoThreads(),
  };
}

/** What the flavour needs and this page doesn't have, with the reason, in words; '' if nothing is missing. */
function missing(flavour: Flavour, { simd, relaxed, noThreads }: Abilities): string {
  if (!simd) return "WebAssembly SIMD, which this browser doesn't have";
  if (flavour.startsWith('relaxed') && !relaxed)
    return "relaxed SIMD, which this browser doesn't have";
  return isThreaded(flavour) && noThreads !== null ? `threads, and ${WITHOUT[noThreads].why}` : '';
}

/** As many as the browser tells. */
export function processors(): number {
  return globalThis.navigator?.hardwareConcurrency ?? 1;
}

export interface Choice {
  flavour: Flavour;
  threads: number;
  notes: string[];
}

/** Chooses the flavour and the number of threads; throws unsupported_browser if no flavour runs. */
export function chooseFlavour(
  wanted: Flavour | undefined,
  threads: number | undefined,
  abilities: Abilities,
  processors: number,
): Choice {
  if (!abilities.simd) {
    throw new SluiceError(
      'unsupported_browser',
      'this browser has no WebAssembly SIMD; use Chrome or Edge 91, Firefox 89, Safari 16.4 or newer',
    );
  }
  if (wanted !== undefined && missing(wanted, abilities) !== '') {
    throw new SluiceError(
      'unsupported_browser',
      `the flavour '${wanted}' needs ${missing(wanted, abilities)}; leave the flavour open`,
    );
  }
  const flavour = wanted ?? FLAVOURS.find((f) => missing(f, abilities) === '') ?? 'simd';
  const notes: string[] = [];
  if (isThreaded(flavour)) {
    return { flavour, threads: threads ?? Math.max(1, Math.min(processors, 8)), notes };
  }
  if (wanted === undefined && abilities.noThreads !== null) {
    const { why, remedy } = WITHOUT[abilities.noThreads];
    notes.push(`One thread: ${why}. ${remedy}`);
  } else if (threads !== undefined && threads > 1) {
    notes.push(`One thread: the flavour '${flavour}' has no threads.`);
  }
  return { flavour, threads: 1, notes };
}
