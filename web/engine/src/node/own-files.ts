// The library's own files in Node: dist/node/ has the scripts, dist/wasm/ the modules.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { RefusalsLike, Script } from '../platform/platform.js';
import { SluiceError, namedText } from '../shared/errors.js';
import type { Flavour } from '../shared/types.js';

// In a variable, so that bundlers don't look for the files: they would copy them to where they don't find each other.
const OWN: string = import.meta.url;

/** A script of dist/node/. This file becomes a part of scripts that lie there. */
export function fileBeside(name: string): URL {
  return new URL(name, OWN);
}

export function filesBeside(flavour: Flavour): { glue: string; wasm: string; analysis: string } {
  const file = (name: string): string => new URL(`../wasm/sluice-${name}`, OWN).href;
  return {
    glue: file(`${flavour}.mjs`),
    wasm: file(`${flavour}.wasm`),
    analysis: file('analysis.mjs'),
  };
}

/** Nothing refuses files here. */
export class Refusals implements RefusalsLike {
  of(): undefined {
    return undefined;
  }
  async ofFailed(): Promise<undefined> {
    return undefined;
  }
}

function missing(address: string, cause?: unknown): SluiceError {
  return new SluiceError(
    'unsupported_environment',
    `${address}, a file of the library, is missing or can't be read; keep the package's dist folder together, or say where it is ` +
      'with configure({ baseUrl })',
    { cause },
  );
}

export async function whyNotLoaded(address: string, _script: Script): Promise<SluiceError | null> {
  const isThere = address.startsWith('file:') && existsSync(fileURLToPath(address));
  return isThere ? null : missing(address);
}

export function withoutOrigin(): null {
  return null;
}

/** Compiled code by its address. */
const compiled = new Map<string, Promise<WebAssembly.Module>>();

async function load(address: string): Promise<WebAssembly.Module> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = await readFile(new URL(address));
  } catch (cause) {
    throw missing(address, cause);
  }
  try {
    return await WebAssembly.compile(bytes);
  } catch (cause) {
    throw new SluiceError(
      'unsupported_environment',
      `${address}, a file of the library, can't be compiled (${namedText(cause)}): it is damaged, or this version of Node is too ` +
        'old for it; install the package again, or use Node 20 or newer',
      { cause },
    );
  }
}

export async function compileFile(address: string): Promise<WebAssembly.Module> {
  return load(address);
}

export async function compileEarly(address: string): Promise<WebAssembly.Module | null> {
  let code = compiled.get(address);
  if (code === undefined) {
    code = load(address);
    compiled.set(address, code);
  }
  try {
    return await code;
  } catch {
    compiled.delete(address);
    return null;
  }
}

export function importScript(address: string): Promise<unknown> {
  return import(address);
}

export function unlessForbidden(error: unknown): unknown {
  return error;
}
