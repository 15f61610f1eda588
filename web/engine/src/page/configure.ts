// configure: where the library's own files are, if not beside its script.
import { SluiceError } from '../shared/errors.js';
import { invalid, reading, show } from './options.js';
import { here, workerFolder } from '../platform/here.js';
import type { Flavour } from '../shared/types.js';

/** The scripts of the library's workers. */
export type WorkerFile = 'engine-worker.js' | 'loader-worker.js';

/** The two files of a flavour: Emscripten's script, and the code. */
export type WasmFile = `sluice-${Flavour | 'analysis'}.mjs` | `sluice-${Flavour}.wasm`;

/** The address of a folder, or a function that gives each file's address. Both may be relative to the page's address. */
export type FileUrl<Name extends string> = string | URL | ((file: Name) => string | URL);

/** Where the library's files are. They must be of the library's own version. Those left out are found beside its script. */
export interface Configuration {
  /** The folder with `engine-worker.js`, `loader-worker.js` and `wasm/`, as the package's `dist` has them. */
  baseUrl?: string | URL | undefined;
  /** The workers alone: their folder, or the address of each. Overrides `baseUrl`. */
  workerUrl?: FileUrl<WorkerFile> | undefined;
  /** The content of `wasm/` alone: its folder, or the address of each file. Overrides `baseUrl`. */
  wasmUrl?: FileUrl<WasmFile> | undefined;
}

const NAMES = ['baseUrl', 'workerUrl', 'wasmUrl'] as const;

/** A folder, or a function that returns each file's address. */
type Of = string | ((file: never) => unknown);
/** A copy of the configuration: the caller may change a URL or an object afterwards. */
type Settings = { baseUrl?: string; workerUrl?: Of; wasmUrl?: Of };

/** Returns the address of a file of `dist/`; null: it is beside the library's script. */
type Find = (
  which: 'workerUrl' | 'wasmUrl',
  path: 'wasm/' | typeof workerFolder,
  file: WorkerFile | WasmFile,
) => string | null;

/** Set by `configure`. Null if it was not called: a bundler can then leave out this code. */
let find: Find | null = null;

/** The address that `configure` gave a worker's script; null: it is beside the library's. */
export function workerAddress(file: WorkerFile): string | null {
  return find === null ? null : find('workerUrl', workerFolder, file);
}

/** The address that `configure` gave a file of `wasm/`; null: it is beside the library's script. */
export function wasmAddress(file: WasmFile): string | null {
  return find === null ? null : find('wasmUrl', 'wasm/', file);
}

/** An address as it was given. */
function addressOf(name: string, given: unknown): string {
  if (typeof given !== 'string' && !(given instanceof URL))
    throw invalid(`${name} is ${show(given)}; give an address, as a string or a URL`);
  return String(given);
}

/** Checks and completes an address. `base`: what a relative one is relative to. */
function parsed(name: string, given: string, base = here()): URL {
  let url: URL;
  try {
    url = new URL(given, base);
  } catch (cause) {
    throw new SluiceError(
      'invalid_argument',
      `${name} is ${show(given)}, which is no address; give one as 'https://cdn.example/sluice/', or one that is ` +
        "relative to the page, as './sluice/'",
      { cause },
    );
  }
  if (url.username !== '' || url.password !== '')
    throw invalid(`${name} has a user name or a password; browsers load no script with these`);
  if (url.hash !== '') throw invalid(`${name} has a fragment ('#..'); leave it out`);
  return url;
}

/** The address of a folder, with a slash at its end. */
function folder(name: string, given: string, base = here()): URL {
  const url = parsed(name, given, base);
  if (url.search !== '')
    throw invalid(
      `${name} has a query ('?..'), which a folder can't have; give workerUrl and wasmUrl as functions`,
    );
  if (!/^[\w+.-]+:\/\//.test(url.href))
    throw invalid(`${name} is ${show(url.href)}, which is no address of a folder`);
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

function finder(taken: Settings): Find {
  return (which, path, file) => {
    const own = taken[which];
    if (typeof own === 'function') {
      const name = `what ${which}('${file}') gives`;
      return parsed(
        name,
        reading(name, () => addressOf(name, own(file as never))),
      ).href;
    }
    if (own !== undefined) return new URL(file, folder(which, own)).href;
    const { baseUrl } = taken;
    return baseUrl === undefined ? null : new URL(path + file, folder('baseUrl', baseUrl)).href;
  };
}

/**
 * Sets where the library's files are, if not beside its script: for a CDN, or a bundler that doesn't copy them. Replaces the
 * configuration of an earlier call; `configure({})` resets it. It applies to workers that are started afterwards, so call it
 * before the first engine. `invalid_argument` if it is wrong. (A function's addresses are checked when it is called.)
 */
export function configure(configuration: Configuration): void {
  const list = reading('the configuration', () => Array.isArray(configuration));
  if (typeof configuration !== 'object' || configuration === null || list)
    throw invalid(`the configuration is ${show(configuration)}; give an object with baseUrl`);
  const names = reading('the configuration', () => Object.keys(configuration));
  const unknown = names.find((name) => !NAMES.includes(name as never));
  if (unknown !== undefined)
    throw invalid(
      `${show(unknown)} is unknown in the configuration; it may have ${NAMES.join(', ')}`,
    );
  const taken: Settings = {};
  for (const name of NAMES) {
    const given: unknown = reading(name, () => configuration[name]);
    if (given === undefined) continue;
    if (typeof given === 'function' && name !== 'baseUrl') {
      taken[name] = given as Of;
      continue;
    }
    const address = reading(name, () => addressOf(name, given));
    const page = here();
    const url = folder(name, address, page ?? 'https://page.example/');
    // Resolved now: the page's address may change later (pushState). On a server a relative address can only be checked.
    taken[name] = page === undefined ? address : url.href;
  }
  find = finder(taken);
}
