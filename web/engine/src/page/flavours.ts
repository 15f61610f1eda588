// Which builds of the engine can run here.
import { relaxedIsRight, whyNoThreads, words } from '../platform/here.js';
import type { NoThreads, Words } from '../platform/platform.js';
import { SluiceError } from '../shared/errors.js';
import type { Facts } from '../shared/facts.js';
import { makeNote, type Note, type NoteCode } from '../shared/notes.js';
import { FLAVOURS, type Flavour } from '../shared/option-table.js';
import { isThreaded } from '../shared/protocol.js';

/** A module with one function () -> v128 of the given body. It is valid if its instructions are known here. */
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

/** Why there are no threads, and what to do about it, in words. */
const WITHOUT: Record<NoThreads, { code: NoteCode; why: string; remedy: string }> = {
  'secure context': {
    code: 'threads_need_https',
    why: 'the page is served without https, and so not cross-origin isolated',
    remedy:
      'Serve it with https (or from localhost), with the headers Cross-Origin-Opener-Policy: same-origin and ' +
      'Cross-Origin-Embedder-Policy: require-corp, to use more.',
  },
  isolation: {
    code: 'threads_need_isolation',
    why: 'the page is not cross-origin isolated',
    remedy:
      'Send Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: require-corp with it to use more.',
  },
  'shared memory': {
    code: 'threads_need_shared_memory',
    why: 'this browser has no SharedArrayBuffer, though the page is cross-origin isolated',
    remedy: 'Use another browser to use more.',
  },
};

export function detectAbilities(): Abilities {
  const wasm = typeof WebAssembly === 'object';
  return {
    simd: wasm && WebAssembly.validate(SIMD),
    relaxed: wasm && WebAssembly.validate(RELAXED) && relaxedIsRight(),
    noThreads: whyNoThreads(),
  };
}

interface Missing {
  code: Words['unsupported'] | 'unsupported_environment';
  missing: NonNullable<Facts['missing']>;
  /** What is missing, with the reason, in words. */
  words: string;
}

/** What the flavour needs, and this browser or this page doesn't have; null: nothing is missing. */
function missing(flavour: Flavour, { simd, relaxed, noThreads }: Abilities): Missing | null {
  const code = words.unsupported;
  if (!simd)
    return { code, missing: 'simd', words: `WebAssembly SIMD, which ${words.here} doesn't have` };
  if (flavour.startsWith('relaxed') && !relaxed)
    return {
      code,
      missing: 'relaxed_simd',
      words: `relaxed SIMD, which ${words.here} doesn't have`,
    };
  if (!isThreaded(flavour) || noThreads === null) return null;
  return {
    code: noThreads === 'shared memory' ? code : 'unsupported_environment',
    missing: 'threads',
    words: `threads, and ${WITHOUT[noThreads].why}`,
  };
}

export interface Choice {
  flavour: Flavour;
  threads: number;
  notes: Note[];
}

/**
 * Chooses the flavour and the number of threads. Throws unsupported_browser (in Node unsupported_environment) if no flavour runs, or not the wanted one;
 * unsupported_environment if the page keeps it from running.
 */
export function chooseFlavour(
  wanted: Flavour | undefined,
  threads: number | undefined,
  abilities: Abilities,
  processors: number,
): Choice {
  if (!abilities.simd) {
    throw new SluiceError(
      words.unsupported,
      `${words.here} has no WebAssembly SIMD; ${words.instead}`,
      { facts: { missing: 'simd' } },
    );
  }
  const lack = wanted === undefined ? null : missing(wanted, abilities);
  if (lack !== null) {
    throw new SluiceError(
      lack.code,
      `the flavour '${wanted}' needs ${lack.words}; leave the flavour open`,
      { facts: { missing: lack.missing } },
    );
  }
  const flavour = wanted ?? FLAVOURS.find((f) => missing(f, abilities) === null) ?? 'simd';
  const notes: Note[] = [];
  if (isThreaded(flavour)) {
    return { flavour, threads: threads ?? Math.max(1, Math.min(processors, 8)), notes };
  }
  if (wanted === undefined && abilities.noThreads !== null) {
    const { code, why, remedy } = WITHOUT[abilities.noThreads];
    const audience = code === 'threads_need_shared_memory' ? 'user' : 'developer';
    notes.push(makeNote(code, `One thread: ${why}. ${remedy}`, {}, audience));
  } else if (threads !== undefined && threads > 1) {
    const message = `One thread: the flavour '${flavour}' has no threads.`;
    notes.push(makeNote('threads_need_flavour', message, {}, 'developer'));
  }
  return { flavour, threads: 1, notes };
}
