// Finds out why one of the library's own files did not load: a worker's script, a module that it imports, Emscripten's
// glue, the wasm. Browsers tell scripts little more than that it did not.
import { SluiceError } from '../shared/errors.js';
import { failedAt, plainUrl } from '../shared/facts.js';
import type { FileRefusal, RefusalsLike, Script } from './platform.js';

/** Milliseconds to find out why a file did not load, at most. */
const PATIENCE_MS = 5000;
/** Milliseconds to wait for the event of a refusal. */
const MOMENT_MS = 100;
/** The most files that are examined. */
const MOST_FILES = 40;

/** Characters of an address in a message, at most. */
const SHOWN = 300;

/** An address in a message: without credentials and fragment. A data: address can have megabytes. */
function shown(address: string): string {
  const url = new URL(address);
  url.username = url.password = url.hash = '';
  const most = url.protocol === 'data:' ? 60 : SHOWN;
  return url.href.length <= most ? url.href : `${url.href.slice(0, most)}..`;
}

/** The address of this page or worker; undefined where there is none, as on a server that renders pages. */
export function here(): string | undefined {
  return globalThis.document?.baseURI ?? globalThis.location?.href;
}

/** The page's origin. */
export function ownOrigin(): string | undefined {
  return (globalThis.location as Location | undefined)?.origin;
}

/** Whether a script lies on another origin than this page or worker. */
export function isForeign(address: string): boolean {
  const { origin } = globalThis as { origin?: string };
  return origin !== undefined && new URL(address).origin !== origin;
}

/** The Content-Security-Policy that applies here, in words. A worker started from a blob has its page's policy. */
export function policyHere(): string {
  return globalThis.document === undefined && globalThis.location?.protocol !== 'blob:'
    ? "the Content-Security-Policy sent with the library's workers"
    : "this page's Content-Security-Policy";
}

/** What a policy calls the blobs that start workers from other origins (trusted.ts). */
const BLOB = 'blob:';

function refusalOf(address: string, directive: string): FileRefusal {
  const place = isForeign(address) ? new URL(address).origin : "'self'";
  const allowed = directive === 'worker-src' && isForeign(address) ? BLOB : place;
  return { policy: policyHere(), directive, remedy: `add ${allowed} to its ${directive}` };
}

/** Collects what the Content-Security-Policy of this page or worker refuses from now on. */
export class Refusals implements RefusalsLike {
  readonly #directives = new Map<string, string>();

  /** `until`: ends the collecting. */
  constructor(until?: AbortSignal) {
    const listen = globalThis.addEventListener as typeof globalThis.addEventListener | undefined;
    listen?.call(
      globalThis,
      'securitypolicyviolation',
      (event) => {
        const { blockedURI, disposition, effectiveDirective } =
          event as SecurityPolicyViolationEvent;
        if (disposition !== 'enforce') return;
        // People write script-src, not the narrower script-src-elem.
        this.#directives.set(blockedURI, effectiveDirective.replace(/-elem$/, ''));
      },
      until === undefined ? {} : { signal: until },
    );
  }

  /** The refusal of this address; undefined if there was none. */
  of(address: string): FileRefusal | undefined {
    const url = new URL(address);
    url.hash = '';
    const blob = isForeign(address) ? this.#directives.get('blob') : undefined;
    const directive = this.#directives.get(url.href) ?? blob;
    return directive === undefined ? undefined : refusalOf(address, directive);
  }

  /** As of(), after a failed fetch: the event of a refusal fires a moment later than the failure. */
  async ofFailed(address: string): Promise<FileRefusal | undefined> {
    if (this.of(address) === undefined)
      await new Promise((resolve) => setTimeout(resolve, MOMENT_MS));
    return this.of(address);
  }
}

/** The error of a library's file that a policy refused. */
function refused(address: string, { policy, directive, remedy }: FileRefusal): SluiceError {
  return new SluiceError(
    'unsupported_environment',
    `${policy} (${directive}) forbids ${shown(address)}, a file of the library; ${remedy}`,
    { facts: { missing: 'policy' } },
  );
}

/** What to do about a missing file. Vite's dev server, before Vite 8, moves a package to its cache without the files beside it. */
function remedy(address: string): string {
  return /\/deps\/(wasm\/)?(\w+-worker\.js|sluice-[\w-]+\.\w+)(\?|$)/.test(address)
    ? "Vite has moved the library into its cache without its files: add optimizeDeps: { exclude: ['@sluice/engine'] } " +
        'to vite.config'
    : "put the package's whole dist folder on the server, or all that your bundler has made, and if it isn't beside the " +
        'script, say where with configure({ baseUrl })';
}

/** The error of a file whose fetch failed. */
function notFetched(address: string, cause: unknown): SluiceError {
  const what = `${shown(address)}, a file of the library, could not be fetched`;
  return globalThis.navigator?.onLine === false
    ? new SluiceError('offline', `${what}: this device is offline; connect it and try again`, {
        facts: { url: plainUrl(address) },
        cause,
      })
    : new SluiceError(
        'download_failed',
        `${what}: the server did not answer, ${isForeign(address) ? "or doesn't permit it to this page (CORS: Access-Control-Allow-Origin), " : ''}` +
          `or ${policyHere()} (connect-src) forbids it; see to that and try again`,
        { facts: failedAt(address, 'library'), cause },
      );
}

function notSent(address: string, status: number): SluiceError {
  const gone = status === 404 || status === 410;
  return new SluiceError(
    'download_failed',
    `${shown(address)}, a file of the library, ${gone ? 'is missing' : 'did not come'}: the server answered ${status}; ` +
      (gone ? remedy(address) : 'see to that and try again'),
    { status, facts: failedAt(address, 'library') },
  );
}

function wrongType(address: string, type: string, expected: string): SluiceError {
  const came = type === '' ? 'without a content type' : `as ${type.split(';')[0]}`;
  const page = /^(text\/html|application\/xhtml)/i.test(type);
  const todo = page
    ? `it is probably missing there: ${remedy(address)}`
    : `let the server send it as ${expected}`;
  return new SluiceError(
    'download_failed',
    `${shown(address)}, a file of the library, came ${came}, where ${expected} was expected; ${todo}`,
    { facts: failedAt(address, 'library') },
  );
}

interface Look {
  script: Script;
  refusals: RefusalsLike;
  limit: AbortSignal;
  /** The addresses examined so far. */
  seen: Set<string>;
}

/** What is wrong with a script, or with one that it imports; null if nothing is found. */
async function faultOf(address: string, look: Look): Promise<SluiceError | null> {
  const { script, refusals, limit, seen } = look;
  if (seen.has(address) || seen.size >= MOST_FILES) return null;
  const isWorker = script !== 'module' && seen.size === 0;
  seen.add(address);
  const refusal = refusals.of(address);
  if (refusal !== undefined) return refused(address, refusal);
  let response: Response;
  try {
    response = await fetch(address, { signal: limit });
  } catch (cause) {
    // It may only be slow.
    if (script === 'silent worker') return null;
    // A policy may forbid this fetch but allow the script.
    const forbidden = (await refusals.ofFailed(address)) !== undefined;
    return limit.aborted || forbidden ? null : notFetched(address, cause);
  }
  if (!response.ok) return notSent(address, response.status);
  const type = response.headers.get('content-type') ?? '';
  if (!/^(text|application)\/(x-)?(java|ecma)script\b/i.test(type))
    return wrongType(address, type, 'text/javascript');
  if (
    isWorker &&
    // A blob has the header from its page.
    !isForeign(address) &&
    !address.startsWith(BLOB) &&
    globalThis.crossOriginIsolated === true &&
    response.headers.get('cross-origin-embedder-policy') === null
  ) {
    return new SluiceError(
      'download_failed',
      `this page is cross-origin isolated, and ${shown(address)}, a worker of the library, came without the header ` +
        "Cross-Origin-Embedder-Policy; send require-corp with the library's files, too",
      { facts: failedAt(address, 'library') },
    );
  }
  const text = await response.text();
  // The policies sent with imported scripts have no effect.
  const mayForbid = isWorker && script === 'worker';
  const policy =
    mayForbid && !isForeign(address) ? response.headers.get('content-security-policy') : null;
  for (const [, , name = ''] of text.matchAll(/\b(?:from|import)\s*(["'])(\.{0,2}\/[^"']+)\1/g)) {
    const fault = await faultOf(new URL(name, address).href, look);
    if (fault !== null) return fault;
  }
  if (mayForbid && isForeign(address))
    return new SluiceError(
      'unsupported_environment',
      `${shown(address)}, a worker of the library from another origin, did not run; if the page has a ` +
        `Content-Security-Policy, add ${new URL(address).origin} to its script-src and worker-src` +
        (globalThis.crossOriginIsolated === true
          ? ", and for Safari let the files' server send Cross-Origin-Embedder-Policy: require-corp"
          : ''),
      { facts: { missing: 'policy' } },
    );
  return policy === null
    ? null
    : new SluiceError(
        'unsupported_environment',
        `${shown(address)}, a worker of the library, did not run, and came with the Content-Security-Policy "${policy}"; ` +
          "let that one allow 'self' in script-src and worker-src",
        { facts: { missing: 'policy' } },
      );
}

/** The error of a worker that did not start, if the page has no origin; otherwise null. */
export function withoutOrigin(): SluiceError | null {
  if (globalThis.origin !== 'null') return null;
  return new SluiceError(
    'unsupported_environment',
    'this page has no origin (it is a sandboxed frame, or a file), and the browser starts no workers for it; serve it ' +
      'with http or https, and give a sandboxed frame allow-same-origin',
  );
}

/** The error of a worker that the browser refused to make (a SecurityError). */
export function notMade(address: string): SluiceError {
  return withoutOrigin() ?? refused(address, refusalOf(address, 'worker-src'));
}

/**
 * Finds out why a script of the library did not load, by fetching it again; null if nothing is found. Never rejects.
 * Takes a few seconds at most.
 */
export async function whyNotLoaded(
  address: string,
  script: Script,
  refusals: RefusalsLike,
): Promise<SluiceError | null> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), PATIENCE_MS);
  try {
    return await faultOf(address, { script, refusals, limit: limit.signal, seen: new Set() });
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
}

/** An empty module, which runs wherever WebAssembly may run. */
const EMPTY_MODULE = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

/** If a Content-Security-Policy forbids WebAssembly, the error that says so; otherwise `error` itself. */
export function unlessForbidden(error: unknown): unknown {
  try {
    // WebKit forbids only the instance.
    void new WebAssembly.Instance(new WebAssembly.Module(EMPTY_MODULE));
    return error;
  } catch (cause) {
    return new SluiceError(
      'unsupported_environment',
      `${policyHere()} forbids WebAssembly; add 'wasm-unsafe-eval' to its script-src`,
      { facts: { missing: 'policy' }, cause },
    );
  }
}

/** Fetches the wasm and compiles it. */
export async function compileFile(
  address: string,
  refusals: RefusalsLike,
): Promise<WebAssembly.Module> {
  let response: Response;
  try {
    response = await fetch(address);
  } catch (cause) {
    const refusal = await refusals.ofFailed(address);
    throw refusal === undefined ? notFetched(address, cause) : refused(address, refusal);
  }
  if (!response.ok) throw notSent(address, response.status);
  const type = response.headers.get('content-type') ?? '';
  try {
    if (/^application\/wasm\b/i.test(type)) return await WebAssembly.compileStreaming(response);
    const bytes = await response.arrayBuffer();
    const magic = new Uint8Array(bytes).subarray(0, 4);
    if (String(magic) !== String(EMPTY_MODULE.subarray(0, 4)))
      throw wrongType(address, type, 'application/wasm');
    return await WebAssembly.compile(bytes);
  } catch (cause) {
    const error = unlessForbidden(cause);
    if (error instanceof WebAssembly.CompileError) {
      throw new SluiceError(
        'download_failed',
        `${shown(address)}, a file of the library, is damaged (${error.message}); ${remedy(address)}`,
        { facts: failedAt(address, 'library'), cause },
      );
    }
    // The body broke off.
    throw error instanceof TypeError ? notFetched(address, cause) : error;
  }
}
