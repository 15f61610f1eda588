// Brings a flavour of the wasm module to life: its memory, its code, its threads.
import type createModule from '../../../wasm/module.js';
import type { ModuleOptions, SluiceModule } from '../../../wasm/module.js';
import { SluiceError } from './errors.js';
import { isThreaded } from './flavours.js';
import type { Pool } from './pool.js';
import type { FlavourFiles } from './protocol.js';

export interface OpenModule {
  module: SluiceModule;
  memory: WebAssembly.Memory;
  /** Bytes that the memory can grow to. */
  maxBytes: number;
}

/** Pages that the module wants at least (wasm/CMakeLists.txt, INITIAL_MEMORY). */
const INITIAL_PAGES = 64;
const PAGE_BYTES = 65536;
const GIB_PAGES = 16384;

/** A memory with as high a maximum as the browser grants: phones refuse 4 GiB. */
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

/**
 * On the page: compiles a flavour's code while its worker starts. Gives null where that fails; the worker then tries
 * for itself, and says what is wrong.
 */
export async function compileEarly(url: string): Promise<WebAssembly.Module | null> {
  try {
    return await WebAssembly.compileStreaming(fetch(url));
  } catch {
    return null;
  }
}

function nameOf(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1);
}

function notFetched(url: string, cause: unknown): SluiceError {
  const what = `the engine's own file ${nameOf(url)} could not be fetched`;
  return globalThis.navigator?.onLine === false
    ? new SluiceError('offline', `${what}: this device is offline; connect it and try again`, {
        cause,
      })
    : new SluiceError('download_failed', `${what}; try again`, { cause });
}

async function compile(url: string): Promise<WebAssembly.Module> {
  const name = nameOf(url);
  let response: Response;
  try {
    response = await fetch(url);
  } catch (cause) {
    throw notFetched(url, cause);
  }
  if (!response.ok) {
    const { status } = response;
    throw new SluiceError(
      'download_failed',
      `the engine's own file ${name} could not be fetched: the server answered ${status}; put it beside the library`,
      { status },
    );
  }
  const streaming = (response.headers.get('content-type') ?? '').startsWith('application/wasm');
  return streaming
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}

/**
 * Loads a flavour's two files, makes its memory and waits until its threads, which `pool` takes charge of, stand ready.
 * `early`: its code, where the page has compiled it.
 */
export async function openModule(
  files: FlavourFiles,
  pool: Pool,
  early: Promise<WebAssembly.Module | null>,
): Promise<OpenModule> {
  const [code, glue] = await Promise.all([
    early.then((compiled) => compiled ?? compile(files.wasm)),
    (import(/* @vite-ignore */ files.glue) as Promise<{ default: typeof createModule }>).catch(
      (cause: unknown) => {
        throw notFetched(files.glue, cause);
      },
    ),
  ]);
  const { memory, maxBytes } = makeMemory(isThreaded(files.flavour));
  return new Promise((resolve, reject) => {
    const options: ModuleOptions = {
      wasmMemory: memory,
      poolSize: pool.size,
      mainScriptUrlOrBlob: files.thread,
      // What the module prints goes nowhere: the console belongs to the page.
      print: () => {},
      printErr: () => {},
      instantiateWasm: (imports, done) => {
        WebAssembly.instantiate(code, imports).then((instance) => done(instance, code), reject);
        return {};
      },
    };
    pool
      .start(glue.default, options)
      .then((module) => resolve({ module, memory, maxBytes }), reject);
  });
}
