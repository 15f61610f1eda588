// Starts a flavour of the wasm module: its memory, its code, its threads.
import type createModule from '../../../wasm/module.js';
import type { ModuleOptions, SluiceModule } from '../../../wasm/module.js';
import { SluiceError } from './errors.js';
import { Refusals, compileFile, unlessForbidden, whyNotLoaded } from './own-files.js';
import type { Pool } from './pool.js';
import { isThreaded, type FlavourFiles } from './protocol.js';
import { trustedWorker } from './trusted.js';

export interface OpenModule {
  module: SluiceModule;
  memory: WebAssembly.Memory;
  /** Bytes that the memory can grow to. */
  maxBytes: number;
}

/** The fewest pages that the module accepts (wasm/CMakeLists.txt, INITIAL_MEMORY). */
const INITIAL_PAGES = 64;
const PAGE_BYTES = 65536;
const GIB_PAGES = 16384;

/** Makes a memory with the highest maximum that the browser grants: phones refuse 4 GiB. */
export function makeMemory(shared: boolean): { memory: WebAssembly.Memory; maxBytes: number } {
  let cause: unknown;
  for (let maximum = 4 * GIB_PAGES; maximum >= GIB_PAGES / 4; maximum /= 2) {
    try {
      const memory = new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum, shared });
      return { memory, maxBytes: maximum * PAGE_BYTES };
    } catch (error) {
      cause = error;
    }
  }
  throw new SluiceError(
    'out_of_memory',
    'this browser grants the engine no memory, not even 256 MiB; close other tabs and try again',
    { cause },
  );
}

/** On the page: compiled code by its address. Compiled once only, because Chromium doesn't free all memory of compiled code. */
const compiled = new Map<string, WebAssembly.Module>();

/** The longest wait for the first frame, in milliseconds. */
const FRAME_MS = 300;

/**
 * On the page: resolves when its first frame is drawn, so that on a slow connection the visible page loads before the code.
 * Resolves at once if something was drawn already, or if nothing will be: in a hidden tab, in a worker.
 */
async function firstFrame(): Promise<void> {
  if (globalThis.document?.visibilityState !== 'visible') return;
  if (performance.getEntriesByName('first-contentful-paint').length > 0) return;
  await new Promise<void>((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, FRAME_MS);
  });
}

/**
 * On the page: compiles a flavour's code while its worker starts, once. Returns null if that fails; then the worker compiles
 * it and reports what is wrong.
 */
export async function compileEarly(url: string): Promise<WebAssembly.Module | null> {
  try {
    const known = compiled.get(url);
    if (known !== undefined) return known;
    await firstFrame();
    const code = await WebAssembly.compileStreaming(fetch(url));
    compiled.set(url, code);
    return code;
  } catch {
    return null;
  }
}

/**
 * Emscripten's script makes the pool's threads with `new Worker`. This replaces Worker by one that works on pages with
 * trusted types, and that calls `failed` for a thread that does not start.
 */
function watchThreads(refusals: Refusals, failed: (error: unknown) => void): void {
  globalThis.Worker = trustedWorker((thread, address) => {
    const starting = new AbortController();
    const { signal } = starting;
    thread.addEventListener('message', () => starting.abort(), { signal });
    thread.addEventListener(
      'error',
      (event: ErrorEvent) => {
        // Emscripten's own listener would run after this one and throw the event.
        event.stopImmediatePropagation();
        event.preventDefault();
        const told = event.message || 'its script could not be loaded or run';
        void whyNotLoaded(address, 'worker', refusals).then((fault) =>
          failed(fault ?? new Error(`a thread did not start: ${told}`)),
        );
      },
      { signal },
    );
  });
}

/**
 * The browser's own import(). build.mjs puts this function at the top of the worker's script, with the comments that keep a
 * site's bundler from looking for the file in its own sources. esbuild drops such comments in a source file.
 */
declare function importAsIs(address: string): Promise<unknown>;

/** Async, because in WebKit WebAssembly.instantiate throws, and does not reject, if a policy forbids it. */
async function instantiate(
  code: WebAssembly.Module,
  imports: WebAssembly.Imports,
): Promise<WebAssembly.Instance> {
  return WebAssembly.instantiate(code, imports);
}

/**
 * Loads a flavour's two files, makes its memory and waits until its threads are ready. `pool` starts and ends them.
 * `early`: the code, if the page has compiled it.
 */
export async function openModule(
  files: FlavourFiles,
  pool: Pool,
  early: Promise<WebAssembly.Module | null>,
): Promise<OpenModule> {
  const refusals = new Refusals();
  const [code, glue] = await Promise.all([
    early.then((compiled) => compiled ?? compileFile(files.wasm, refusals)),
    (importAsIs(files.glue) as Promise<{ default: typeof createModule }>).catch(
      async (cause: unknown) => {
        throw (await whyNotLoaded(files.glue, 'module', refusals)) ?? cause;
      },
    ),
  ]);
  const { memory, maxBytes } = makeMemory(isThreaded(files.flavour));
  return new Promise((resolve, reject) => {
    watchThreads(refusals, (error) => {
      pool.broke();
      reject(error);
    });
    const options: ModuleOptions = {
      wasmMemory: memory,
      poolSize: pool.size,
      mainScriptUrlOrBlob: files.thread,
      // The module's output is dropped: the console belongs to the page.
      print: () => {},
      printErr: () => {},
      instantiateWasm: (imports, done) => {
        instantiate(code, imports).then(
          (instance) => done(instance, code),
          (error: unknown) => reject(unlessForbidden(error)),
        );
        return {};
      },
    };
    pool
      .start(glue.default, options)
      .then((module) => resolve({ module, memory, maxBytes }), reject);
  });
}
