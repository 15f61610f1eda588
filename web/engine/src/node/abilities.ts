// What Node and this machine have, and the paths that stand for files.
import { openAsBlob, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NoThreads, Words } from '../platform/platform.js';
import { SluiceError } from '../shared/errors.js';

export const hasPolicies: boolean = false;

export const words: Words = {
  here: 'this version of Node',
  gives: 'WebAssembly gives',
  noMore: 'WebAssembly gives no more',
  others: 'other programs',
  disk: 'the system',
  grants: 'on the disk of the cache',
  site: '',
  instead: 'use Node 20 or newer',
  unsupported: 'unsupported_environment',
};

export function whyNoThreads(): NoThreads | null {
  return typeof SharedArrayBuffer === 'function' ? null : 'shared memory';
}

export function processors(): number {
  return os.availableParallelism();
}

export function deviceMemory(): number {
  return os.totalmem() / 2 ** 30;
}

/** Nothing is relative to a page's address. */
export function here(): undefined {
  return undefined;
}

/** Headers other than Authorization are sent to no site: a redirect would pass them on to another one. */
export function ownOrigin(): string {
  return 'null';
}

/** A scheme, but not the letter of a drive. */
const SCHEME = /^\s*[a-z][a-z0-9+.-]+:/i;

/** Of a text without a scheme, and of a file: URL. Relative paths are relative to the working directory. */
export function pathOf(source: string | URL): string | null {
  const text = String(source);
  if (!SCHEME.test(text)) return text.trim() === '' ? null : path.resolve(text);
  if (!/^\s*file:/i.test(text)) return null;
  try {
    return fileURLToPath(text.trim());
  } catch (cause) {
    throw new SluiceError(
      'invalid_argument',
      `${JSON.stringify(text.slice(0, 200))} names no file of this machine; give one as file:///folder/model.gguf, or a path`,
      { cause },
    );
  }
}

export function noFile(file: string, cause?: unknown): SluiceError {
  return new SluiceError(
    'not_found',
    `there is no file ${file}; check the path, or for a model of a hub give an address such as hf:owner/repo:Q4_0`,
    { cause },
  );
}

export async function fileAt(file: string): Promise<Blob> {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) throw noFile(file);
  return openAsBlob(file);
}

/** Node posts no Blob that stands for a file. */
export function postable(blob: Blob): Blob | Promise<Blob> {
  try {
    return structuredClone(blob);
  } catch {
    return blob.arrayBuffer().then((bytes) => new Blob([bytes]));
  }
}

export function ifStillThere(work: () => void, ms: number): () => void {
  const timer = setTimeout(work, ms);
  timer.unref();
  return () => clearTimeout(timer);
}

/** Nothing evicts files of the disk. */
export async function askToPersist(): Promise<boolean> {
  return true;
}
