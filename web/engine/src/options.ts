// Options as users write them, checked and brought into the form that the core takes.
import { SluiceError } from './errors.js';
import { FLAVOURS } from './flavours.js';
import type { LoaderSource } from './protocol.js';
import type { GenerateOptions, LoadOptions, ModelSource, Prompt, SourceOptions } from './types.js';

function invalid(message: string): SluiceError {
  return new SluiceError('invalid_argument', message);
}

export function show(value: unknown): string {
  if (typeof value === 'string') return `'${value.slice(0, 60)}'`;
  return typeof value === 'object' && value !== null
    ? Object.prototype.toString.call(value)
    : String(value);
}

/** Options that this library handles itself; all others go to the core, which refuses those it doesn't know. */
const OWN = new Set(['flavour', 'cache', 'headers', 'signal', 'onProgress', 'stallTimeout']);

/** JSON for the core. Leaves out what is undefined; refuses what JSON would drop or turn into null. */
function coreJson(options: object, own: ReadonlySet<string>): string {
  const out: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    if (value === undefined || own.has(name)) continue;
    if (typeof value === 'number' && !Number.isFinite(value)) {
      throw invalid(`${name} is ${value}; give a finite number`);
    }
    if (!['number', 'string', 'boolean'].includes(typeof value) && !Array.isArray(value)) {
      throw invalid(`${name} is ${show(value)}; see the documentation for what it takes`);
    }
    out[name] = value;
  }
  return JSON.stringify(out);
}

export function checkSignal(signal: unknown): void {
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw invalid(`signal is ${show(signal)}; give an AbortSignal`);
  }
}

export function checkSourceOptions(options: SourceOptions): void {
  checkSignal(options.signal);
  const stall = options.stallTimeout;
  if (stall !== undefined && !(typeof stall === 'number' && stall > 0 && stall <= 0x7fffffff)) {
    throw invalid(`stallTimeout is ${show(stall)}; give milliseconds from 1 to 2147483647`);
  }
}

/** Checks the options of load and probe; gives those that are the core's as JSON, without threads. */
export function loadOptionsJson(options: LoadOptions): string {
  checkSourceOptions(options);
  if (options.flavour !== undefined && !FLAVOURS.includes(options.flavour)) {
    throw invalid(
      `flavour is ${show(options.flavour)}; give one of ${FLAVOURS.join(', ')}, or none`,
    );
  }
  if (options.cache !== undefined && options.cache !== 'none') {
    throw invalid(
      `cache: ${show(options.cache)} is not available in this version; leave it out, or give 'none'`,
    );
  }
  if ('sha256' in options && options.sha256 !== undefined) {
    throw invalid('sha256 is not available in this version; leave it out');
  }
  if (options.onProgress !== undefined && typeof options.onProgress !== 'function') {
    throw invalid(`onProgress is ${show(options.onProgress)}; give a function`);
  }
  const threads = options.threads;
  if (threads !== undefined && !(Number.isInteger(threads) && threads >= 1 && threads <= 64)) {
    throw invalid(
      `threads is ${show(threads)}; give a whole number from 1 to 64, or none for the best`,
    );
  }
  return coreJson(options, new Set([...OWN, 'threads']));
}

/** Options of generate as the core takes them; a seed is drawn where there is none, so that stats can name it. */
export function generateOptionsJson(options: GenerateOptions): string {
  checkSignal(options.signal);
  const seed = options.seed ?? (crypto.getRandomValues(new Uint32Array(1))[0] as number);
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw invalid(`seed is ${show(seed)}; give a whole number from 0 to 2^53 - 1`);
  }
  const stop = typeof options.stop === 'string' ? [options.stop] : options.stop;
  return coreJson({ ...options, seed, stop }, new Set(['signal']));
}

export function checkIds(ids: unknown, name: string): asserts ids is readonly number[] {
  if (!Array.isArray(ids)) throw invalid(`${name} is ${show(ids)}; give an array of token ids`);
  const bad: unknown = ids.find((id) => !Number.isInteger(id) || id < 0 || id > 0x7fffffff);
  if (bad !== undefined || ids.includes(undefined)) {
    throw invalid(`${name} holds ${show(bad)}; token ids are whole numbers from 0 on`);
  }
}

export function checkText(text: unknown, name: string): asserts text is string {
  if (typeof text !== 'string') throw invalid(`${name} is ${show(text)}; give a string`);
}

export function checkPrompt(prompt: unknown): asserts prompt is Prompt {
  if (typeof prompt !== 'string') checkIds(prompt, 'prompt');
}

export function checkCount(value: unknown, name: string, max: number): asserts value is number {
  if (!(Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max)) {
    throw invalid(`${name} is ${show(value)}; give a whole number from 0 to ${max}`);
  }
}

/** What a loader reads, or bytes that the page hands over itself. */
export type Resolved = LoaderSource | { kind: 'bytes'; bytes: ArrayBuffer };

export async function resolveSource(
  source: ModelSource,
  headers: SourceOptions['headers'],
): Promise<Resolved> {
  if (source instanceof ArrayBuffer) return { kind: 'bytes', bytes: source };
  if (source instanceof Blob) return { kind: 'blob', blob: source };
  if (typeof source === 'string' || source instanceof URL)
    return { kind: 'url', ...request(source, headers) };
  if (Array.isArray(source)) {
    throw invalid(
      'a model split into several files is not available in this version; give one address or file',
    );
  }
  if (typeof FileSystemFileHandle === 'function' && source instanceof FileSystemFileHandle) {
    try {
      return { kind: 'blob', blob: await source.getFile() };
    } catch (cause) {
      throw new SluiceError(
        'bad_file',
        `the file '${source.name}' can't be read; choose it again`,
        { cause },
      );
    }
  }
  throw invalid(
    `the source is ${show(source)}; give an address, a File, a Blob, a FileSystemFileHandle or an ArrayBuffer`,
  );
}

function request(
  source: string | URL,
  headers: SourceOptions['headers'],
): { url: string; headers: [string, string][] } {
  let url: URL;
  try {
    url = new URL(source, globalThis.document?.baseURI ?? globalThis.location?.href);
  } catch (cause) {
    throw new SluiceError(
      'invalid_argument',
      `${show(source)} is not an address; give one such as https://host/model.gguf`,
      { cause },
    );
  }
  if (!['http:', 'https:', 'blob:', 'data:'].includes(url.protocol)) {
    throw invalid(
      `the address ${show(url.href)} can't be fetched; give one with http or https, or choose the file itself`,
    );
  }
  try {
    return { url: url.href, headers: [...new Headers(headers).entries()] };
  } catch (cause) {
    throw new SluiceError(
      'invalid_argument',
      'headers holds a name or value that HTTP does not allow',
      { cause },
    );
  }
}
