// Checks the source of a model, and converts it for a loader.
import { here, ownOrigin, pathOf } from '../platform/here.js';
import { SluiceError } from '../shared/errors.js';
import { MAX_PARTS } from '../shared/shards.js';
import { hubOf, parseAddress } from '../loader/net/addresses.js';
import type { CustomFetch } from './serve-fetch.js';
import { checkStatus, hostOf } from '../loader/net/why.js';
import { invalid, reading, show } from './options.js';
import type { Bytes } from './page-loader.js';
import type { RemoteSource } from '../shared/protocol.js';
import type { LoadOptions, ModelSource, SourceOptions } from '../shared/types.js';

/** What a loader worker reads, or what the page reads itself. */
export type Resolved =
  | { kind: 'blobs'; blobs: Blob[] }
  | { kind: 'paths'; paths: string[] }
  | (Omit<RemoteSource, 'fetch'> & { custom: CustomFetch | null })
  | { kind: 'bytes'; bytes: Bytes }
  /** Its status is a success, and its body is unread. */
  | { kind: 'response'; response: Response };

/** Where each kind comes from. */
export const ORIGINS = {
  url: 'network',
  response: 'network',
  blobs: 'file',
  paths: 'file',
  bytes: 'memory',
} as const satisfies Record<Resolved['kind'], string>;

/** A detached buffer has no bytes, like an empty one, but no view of it can be made. */
function isDetached(bytes: ArrayBuffer): boolean {
  if (bytes.byteLength > 0) return false;
  try {
    return new Uint8Array(bytes).byteLength > 0;
  } catch {
    return true;
  }
}

/** Checks the source, as it is at this call, and converts it for a loader. */
export async function resolveSource(source: ModelSource, options: LoadOptions): Promise<Resolved> {
  return reading('the source', () => resolved(source, options));
}

function resolved(source: ModelSource, options: LoadOptions): Resolved | Promise<Resolved> {
  if (source instanceof ArrayBuffer) return bytesOf('the ArrayBuffer', source, source);
  if (source instanceof Uint8Array && source.buffer instanceof ArrayBuffer)
    return bytesOf('the Uint8Array', source.buffer, source);
  if (source instanceof Response) return { kind: 'response', response: takeResponse(source) };
  const isList = Array.isArray(source);
  const list: unknown[] = isList ? Array.from(source as unknown[]) : [source];
  if (list.length === 0 || list.length > MAX_PARTS) {
    throw invalid(
      `the source is a list of ${list.length}; give the addresses or the files of one model, ${MAX_PARTS} at most`,
    );
  }
  if (list.every((one) => typeof one === 'string' || one instanceof URL)) {
    return pathsOf(list as (string | URL)[]) ?? remoteOf(list as (string | URL)[], options);
  }
  if (list.every((one) => one instanceof Blob || isHandle(one))) {
    const files = (list as (Blob | FileSystemFileHandle)[]).map(blobOf);
    return Promise.all(files).then((blobs) => ({ kind: 'blobs', blobs }));
  }
  if (isList) {
    throw invalid(
      `the source is a list with ${show(list.find((one) => typeof one !== 'string'))}; give only addresses or only files`,
    );
  }
  const memory: unknown = ArrayBuffer.isView(source) ? source.buffer : source;
  const hint =
    Object.prototype.toString.call(memory) === '[object SharedArrayBuffer]'
      ? ' (of shared memory, a copy)'
      : '';
  throw invalid(
    `the source is ${show(source)}; give an address, ${pathOf('a') == null ? '' : 'a path, '}a File, a Blob, a FileSystemFileHandle, ` +
      `an ArrayBuffer, a Uint8Array${hint} or a Response`,
  );
}

/** Null if all are addresses. */
function pathsOf(sources: (string | URL)[]): Resolved | null {
  const paths = sources.flatMap((source) => pathOf(source) ?? []);
  if (paths.length === 0) return null;
  if (paths.length < sources.length)
    throw invalid('the source is a list of paths and addresses; give only paths or only addresses');
  return { kind: 'paths', paths };
}

function bytesOf(name: Bytes['name'], buffer: ArrayBuffer, of: ArrayBuffer | Uint8Array): Resolved {
  if (isDetached(buffer)) {
    throw invalid(
      `${name} is detached: its bytes were transferred elsewhere; give the one that has them now`,
    );
  }
  const offset = of instanceof Uint8Array ? of.byteOffset : 0;
  return { kind: 'bytes', bytes: { name, buffer, offset, length: of.byteLength } };
}

function takeResponse(response: Response): Response {
  if (response.type.startsWith('opaque')) {
    throw invalid(
      `the Response is ${response.type}: scripts may not read it; fetch without mode 'no-cors' and redirect 'manual'`,
    );
  }
  if (response.type === 'error') {
    throw new SluiceError(
      'download_failed',
      'the Response is that of a failed fetch; see why it failed, or give the address itself',
      { facts: { reason: 'unreachable' } },
    );
  }
  if (response.bodyUsed || response.body?.locked === true) {
    throw invalid(
      "the Response's body is read already, or somebody is about to; give a fresh one, or a clone() made before",
    );
  }
  const { url } = response;
  checkStatus(response, url === '' ? 'the Response' : hostOf(url), url);
  return response;
}

function isHandle(source: unknown): source is FileSystemFileHandle {
  return typeof FileSystemFileHandle === 'function' && source instanceof FileSystemFileHandle;
}

function blobOf(source: Blob | FileSystemFileHandle): Blob | Promise<Blob> {
  if (!(source instanceof Blob)) return fileOf(source);
  // Throws for a proxy of a Blob, which can't be posted.
  void source.size;
  return source;
}

async function fileOf(handle: FileSystemFileHandle): Promise<Blob> {
  try {
    return await handle.getFile();
  } catch (cause) {
    throw new SluiceError('bad_file', `the file '${handle.name}' can't be read; choose it again`, {
      cause,
    });
  }
}

const SHA256 = /^[0-9a-f]{64}$/i;

/** An address as parseAddress takes it, and the hub as hubOf gives it. */
export function takeModelAddress(
  source: string | URL,
  hubUrl: string | undefined,
): { source: string; hub: string } {
  const hub = hubOf(hubUrl === undefined ? undefined : takeAddress(hubUrl).href);
  const text = String(source);
  const address = /^\s*hf:/i.test(text) ? text.trim() : takeAddress(source).href;
  // Throws for a wrong address.
  parseAddress(address, hub);
  return { source: address, hub };
}

/** The model at these addresses, and how it is fetched and cached. */
function remoteOf(sources: (string | URL)[], options: LoadOptions): Resolved {
  const { sha256 = [], hubUrl, cache, refresh = false, fetch: custom = null } = options;
  const taken = sources.map((source) => takeModelAddress(source, hubUrl));
  const addresses = taken.map(({ source }) => source);
  const { hub = '' } = taken[0] ?? {};
  const hashes =
    typeof sha256 === 'string' ? [sha256] : reading('sha256', () => Array.from(sha256));
  for (const hash of hashes as unknown[]) {
    if (typeof hash !== 'string' || !SHA256.test(hash))
      throw invalid(`sha256 holds ${show(hash)}; give 64 hexadecimal digits for each file`);
  }
  const direct = addresses.some((address) => /^(blob|data):/.test(address));
  return {
    kind: 'url',
    addresses,
    headers: takeHeaders(options.headers, addresses, hub),
    hub,
    sha256: hashes.map((hash) => hash.toLowerCase()),
    cache: direct ? 'none' : (cache ?? 'opfs'),
    asked: cache === 'opfs',
    refresh,
    custom: custom as CustomFetch | null,
  };
}

/** An absolute address that can be fetched. */
function takeAddress(source: string | URL): URL {
  let url: URL;
  try {
    if (String(source).trim() === '') throw new TypeError('nothing but blanks');
    url = new URL(source, baseAddress());
  } catch (cause) {
    throw new SluiceError(
      'invalid_argument',
      `${showAddress(source)} is not an address; give one such as https://host/model.gguf or hf:owner/repo:Q4_0`,
      { cause },
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid(
      `the address of ${url.host} holds a user name or a password, and browsers fetch no such address; ` +
        'leave them out, and give what the server wants in headers (authorization)',
    );
  }
  if (!['http:', 'https:', 'blob:', 'data:'].includes(url.protocol)) {
    throw invalid(
      `the address ${showAddress(url)} can't be fetched; give one with http or https, or choose the file itself`,
    );
  }
  return url;
}

/** The base of relative addresses: the page's, without user name and password. */
function baseAddress(): URL | undefined {
  const base = here();
  if (base === undefined) return undefined;
  const url = new URL(base);
  url.username = url.password = '';
  return url;
}

/** An address in a message: without user name and password. */
function showAddress(source: string | URL): string {
  return reading('the address', () => show(String(source).replace(/\/\/[^/]*@/, '//...@')));
}

/** Checks the headers. Error messages don't contain their values, which may be secrets. */
export function takeHeaders(
  headers: SourceOptions['headers'],
  addresses: string[],
  hub: string,
): [string, string][] {
  const given = reading('headers', () =>
    headers instanceof Headers ? [...headers.entries()] : Object.entries(headers ?? {}),
  );
  const taken = new Headers();
  for (const [name, value] of given) {
    try {
      taken.append(name, value);
    } catch (cause) {
      throw new SluiceError(
        'invalid_argument',
        `headers holds ${show(name)}, whose name or value HTTP does not allow; give names without spaces and values ` +
          'in Latin letters',
        { cause },
      );
    }
  }
  const others = [...taken.keys()].filter((name) => name !== 'authorization');
  const own = ownOrigin();
  const foreign = addresses.find((address) => {
    const { origin } = new URL(/^hf:/i.test(address) ? hub : address);
    return own !== undefined && origin !== own;
  });
  // A redirect sends all other headers along, to whatever server it names.
  if (others.length > 0 && foreign !== undefined) {
    throw invalid(
      `headers holds '${others[0]}' for another site (${showAddress(foreign)}), where only authorization may be given; ` +
        'leave it out, or give your own fetch',
    );
  }
  return [...taken.entries()];
}
