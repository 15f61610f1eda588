// Starts a flavour of the wasm module: its memory, its code, its threads.
import type createModule from '../../../../wasm/module.js';
import type { ModuleOptions, SluiceModule } from '../../../../wasm/module.js';
import { SluiceError } from '../shared/errors.js';
import {
  Refusals,
  compileFile,
  importScript,
  unlessForbidden,
  watchThreads,
  whyNotLoaded,
  words,
} from '../platform/here.js';
import type { AnalysisScript } from './analysis.js';
import type { Pool } from './pool.js';
import { isThreaded, type FlavourFiles } from '../shared/protocol.js';

export interface OpenModule {
  module: SluiceModule;
  memory: WebAssembly.Memory;
  /** Bytes that the memory can grow to. */
  maxBytes: number;
  /** Loads what computes given texts, and looks inside a model. */
  loadAnalysis: () => Promise<AnalysisScript>;
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
    `${words.here} grants the engine no memory, not even 256 MiB; close ${words.others} and try again`,
    { cause },
  );
}

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
  const load = (address: string): Promise<unknown> =>
    importScript(address).catch(async (cause: unknown) => {
      throw (await whyNotLoaded(address, 'module', refusals)) ?? cause;
    });
  const [code, glue] = await Promise.all([
    early.then((compiled) => compiled ?? compileFile(files.wasm, refusals)),
    load(files.glue) as Promise<{ default: typeof createModule }>,
  ]);
  const loadAnalysis = (): Promise<AnalysisScript> =>
    load(files.analysis) as Promise<AnalysisScript>;
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
      .then((module) => resolve({ module, memory, maxBytes, loadAnalysis }), reject);
  });
}
