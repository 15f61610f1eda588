// The library's own files: the workers' scripts, the modules that these import, Emscripten's glue, the wasm. Here is
// found out why one of them did not load: browsers tell scripts little more than that it did not.
import { SluiceError } from './errors.js';

/** Milliseconds for finding out why a file did not load. */
const PATIENCE_MS = 5000;
/** For hearing of a refusal. */
const MOMENT_MS = 100;
/** Files that are looked at, at most. */
const MOST_FILES = 40;

/** An address as messages show it. */
function shown(address: string): string {
  const url = new URL(address);
  url.username = url.password = url.hash = '';
  return url.href;
}

/** The Content-Security-Policy that holds here, in words. */
export function policyHere(): string {
  return globalThis.document === undefined
    ? "the Content-Security-Policy sent with the library's workers"
    : "this page's Content-Security-Policy";
}

/** A directive that refused an address, whose policy it is and what to do. */
interface Refusal {
  policy: string;
  directive: string;
  remedy: string;
}

function refusalOf(address: string, directive: string): Refusal {
  const { origin } = new URL(address);
  const allowed = origin === globalThis.origin ? "'self'" : origin;
  return { policy: policyHere(), directive, remedy: `add ${allowed} to its ${directive}` };
}

/** What the Content-Security-Policy of this page or worker refuses from now on. */
export class Refusals {
  readonly #directives = new Map<string, string>();

  /** `until`: it listens no longer than that. */
  constructor(until?: AbortSignal) {
    const listen = globalThis.addEventListener as typeof globalThis.addEventListener | undefined;
    listen?.call(
      globalThis,
      'securitypolicyviolation',
      (event) => {
        const { blockedURI, disposition, effectiveDirective } =
          event as SecurityPolicyViolationEvent;
        if (disposition !== 'enforce') return;
        // People write script-src, not the narrower directives that it stands for.
        this.#directives.set(blockedURI, effectiveDirective.replace(/-elem$/, ''));
      },
      until === undefined ? {} : { signal: until },
    );
  }

  /** Of this address; undefined where nothing was refused. */
  of(address: string): Refusal | undefined {
    const url = new URL(address);
    url.hash = '';
    const directive = this.#directives.get(url.href);
    return directive === undefined ? undefined : refusalOf(address, directive);
  }

  /** The same for a fetch that has failed: browsers tell of a refusal a moment behind the failure. */
  async ofFailed(address: string): Promise<Refusal | undefined> {
    if (this.of(address) === undefined)
      await new Promise((resolve) => setTimeout(resolve, MOMENT_MS));
    return this.of(address);
  }
}

/** The error of a file of the library's that the policy refused. */
function refused(address: string, { policy, directive, remedy }: Refusal): SluiceError {
  return new SluiceError(
    'unsupported_browser',
    `${policy} (${directive}) forbids ${shown(address)}, a file of the library; ${remedy}`,
  );
}

/** Vite's dev server puts packages together in its cache, and leaves the files beside them behind (until Vite 8). */
function remedy(): string {
  return /\/deps\/[^/?]+\.js\?v=\w+$/.test(import.meta.url)
    ? "Vite has moved the library into its cache without its files: add optimizeDeps: { exclude: ['@sluice/engine'] } " +
        'to vite.config'
    : "put the package's whole dist folder on the server, or all that your bundler has made";
}

/** The error of a file that no server sent. */
function notFetched(address: string, cause: unknown): SluiceError {
  const what = `${shown(address)}, a file of the library, could not be fetched`;
  return globalThis.navigator?.onLine === false
    ? new SluiceError('offline', `${what}: this device is offline; connect it and try again`, {
        cause,
      })
    : new SluiceError(
        'download_failed',
        `${what}: the server did not answer, or ${policyHere()} (connect-src) forbids it; see to that and try again`,
        { cause },
      );
}

function notSent(address: string, status: number): SluiceError {
  const gone = status === 404 || status === 410;
  return new SluiceError(
    'download_failed',
    `${shown(address)}, a file of the library, ${gone ? 'is missing' : 'did not come'}: the server answered ${status}; ` +
      (gone ? remedy() : 'see to that and try again'),
    { status },
  );
}

function wrongType(address: string, type: string, expected: string): SluiceError {
  const came = type === '' ? 'without a content type' : `as ${type.split(';')[0]}`;
  const page = /^(text\/html|application\/xhtml)/i.test(type);
  const todo = page
    ? `it is probably missing there: ${remedy()}`
    : `let the server send it as ${expected}`;
  return new SluiceError(
    'download_failed',
    `${shown(address)}, a file of the library, came ${came}, where ${expected} was expected; ${todo}`,
  );
}

/** What is looked at: a worker's own script that has failed, or has said nothing yet, or a module's that has failed. */
type Script = 'worker' | 'silent worker' | 'module';

interface Look {
  script: Script;
  refusals: Refusals;
  limit: AbortSignal;
  /** The addresses that were looked at. */
  seen: Set<string>;
}

/** What is wrong with a script, or with one that it imports; null where nothing is seen. */
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
    // What is only slow may come yet.
    if (script === 'silent worker') return null;
    // A policy may forbid this fetch, and allow the script.
    const forbidden = (await refusals.ofFailed(address)) !== undefined;
    return limit.aborted || forbidden ? null : notFetched(address, cause);
  }
  if (!response.ok) return notSent(address, response.status);
  const type = response.headers.get('content-type') ?? '';
  if (!/^(text|application)\/(x-)?(java|ecma)script\b/i.test(type))
    return wrongType(address, type, 'text/javascript');
  if (
    isWorker &&
    globalThis.crossOriginIsolated === true &&
    response.headers.get('cross-origin-embedder-policy') === null
  ) {
    return new SluiceError(
      'download_failed',
      `this page is cross-origin isolated, and ${shown(address)}, a worker of the library, came without the header ` +
        "Cross-Origin-Embedder-Policy; send require-corp with the library's files, too",
    );
  }
  const text = await response.text();
  // The policies of what it imports count for nothing.
  const policy =
    isWorker && script === 'worker' ? response.headers.get('content-security-policy') : null;
  for (const [, , name = ''] of text.matchAll(/\b(?:from|import)\s*(["'])(\.{0,2}\/[^"']+)\1/g)) {
    const fault = await faultOf(new URL(name, address).href, look);
    if (fault !== null) return fault;
  }
  return policy === null
    ? null
    : new SluiceError(
        'unsupported_browser',
        `${shown(address)}, a worker of the library, did not run, and came with the Content-Security-Policy "${policy}"; ` +
          "let that one allow 'self' in script-src and worker-src",
      );
}

/** The error of a worker that the browser refused to make (a SecurityError). */
export function notMade(address: string): SluiceError {
  if (new URL(address).origin === globalThis.origin)
    return refused(address, refusalOf(address, 'worker-src'));
  return new SluiceError(
    'worker_died',
    `${shown(address)}, a worker of the library, comes from another origin than the page; serve the library's files from ` +
      "the page's own",
  );
}

/**
 * Why a script of the library did not load, found out by fetching it again; null where all seems well. Never rejects, and
 * takes some seconds at most.
 */
export async function whyNotLoaded(
  address: string,
  script: Script,
  refusals: Refusals,
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

/** A module of nothing: what runs wherever anything may. */
const EMPTY_MODULE = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);

/** The error of a Content-Security-Policy under which no wasm runs; `error` itself where it isn't that. */
export function unlessForbidden(error: unknown): unknown {
  try {
    // WebKit forbids the second step alone.
    void new WebAssembly.Instance(new WebAssembly.Module(EMPTY_MODULE));
    return error;
  } catch (cause) {
    return new SluiceError(
      'unsupported_browser',
      `${policyHere()} forbids WebAssembly; add 'wasm-unsafe-eval' to its script-src`,
      { cause },
    );
  }
}

/** Fetches the wasm and compiles it. */
export async function compileFile(
  address: string,
  refusals: Refusals,
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
        `${shown(address)}, a file of the library, is damaged (${error.message}); ${remedy()}`,
        { cause },
      );
    }
    // The body broke off.
    throw error instanceof TypeError ? notFetched(address, cause) : error;
  }
}
