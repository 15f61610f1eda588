// Finds out why a download failed, and words it: browsers tell scripts little.
import { SluiceError, reworded } from '../../shared/errors.js';
import { failedAt, type DownloadReason, type Facts } from '../../shared/facts.js';
import { hasPolicies } from '../../platform/here.js';
import type { RefusalsLike } from '../../platform/platform.js';
import { within } from './time.js';

export function offline(): boolean {
  return globalThis.navigator?.onLine === false;
}

export function hostOf(url: string): string {
  const { protocol, host } = new URL(url);
  return host || `the ${protocol} address`;
}

/** Milliseconds for a request that finds out why another one failed. */
const QUESTION_MS = 5000;

/** Asks the server; throws if it gives no answer soon. */
async function ask(url: string, init: RequestInit, signal: AbortSignal): Promise<Response> {
  const end = new AbortController();
  const stop = (): void => end.abort();
  signal.addEventListener('abort', stop);
  try {
    const asking = fetch(url, { ...init, signal: end.signal });
    return await within(asking, QUESTION_MS, () => new Error('no answer'), stop);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Whether the address redirects; a script can't see where to. Requests only one byte of the file. */
async function redirects(
  url: string,
  headers: [string, string][],
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const one: [string, string] = ['range', 'bytes=0-0'];
    const response = await ask(url, { headers: [...headers, one], redirect: 'manual' }, signal);
    void response.body?.cancel().catch(() => {});
    return response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400);
  } catch {
    return false;
  }
}

/** Whether the server answers at all; its answer can't be read. */
async function answers(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    await ask(url, { method: 'HEAD', mode: 'no-cors', cache: 'no-store' }, signal);
    return true;
  } catch {
    return false;
  }
}

/** Why a fetch failed without an answer. `passing`: a retry may succeed; 'once': retry only once. */
export interface Unreadable {
  text: string;
  reason: DownloadReason;
  passing: boolean | 'once';
}

/** Finds out why a fetch failed without an answer: browsers give scripts the same error for all reasons. */
export async function whyUnreadable(
  url: string,
  headers: [string, string][],
  signal: AbortSignal,
  refusals: RefusalsLike,
): Promise<Unreadable> {
  const lasting = (reason: DownloadReason, text: string): Unreadable => ({
    text,
    reason,
    passing: false,
  });
  const { protocol, origin, hostname } = new URL(url);
  const page: Location | undefined = globalThis.location;
  if (protocol === 'blob:') {
    return lasting(
      'address',
      'it was revoked, or another site made it; give the Blob or the File itself',
    );
  }
  if (protocol === 'data:')
    return lasting('address', "its data can't be decoded; give a Blob or an ArrayBuffer");
  const local = /^(localhost|127\..*|\[::1\]|.*\.localhost)$/.test(hostname);
  if (protocol === 'http:' && page?.protocol === 'https:' && !local) {
    return lasting('insecure', 'a page with https may not read http addresses; use one with https');
  }
  const refusal = await refusals.ofFailed(url);
  if (refusal !== undefined) {
    return lasting(
      'policy',
      `${refusal.policy} (${refusal.directive}) forbids it; ${refusal.remedy}`,
    );
  }
  if (!offline() && (await redirects(url, headers, signal))) {
    const where = hasPolicies
      ? 'in a circle, to a server that did not answer, or to one that does not allow other sites to read the file (CORS)'
      : 'in a circle, or to a server that did not answer';
    const text = `it redirects to where the file can not be read: ${where}; use the address at which the redirects end`;
    return { text, reason: 'redirect', passing: true };
  }
  if (!hasPolicies) {
    const text = 'the server did not answer; see that it runs, and that the address is right';
    return { text, reason: 'unreachable', passing: true };
  }
  const policy = "this page's Content-Security-Policy (connect-src) forbids it";
  const text =
    origin === page?.origin
      ? `the server did not answer, or ${policy}; see that it runs and try again`
      : `the server did not answer, it does not allow other sites to read the file (CORS), or ${policy}; ` +
        'download the file and choose it here, or use a server that sends Access-Control-Allow-Origin';
  // A server that answers, but not to this page (CORS), is worth one retry only: it may have started just now.
  const passing = origin === page?.origin || !(await answers(url, signal)) ? true : 'once';
  return { text, reason: 'unreachable', passing };
}

/** `facts`: of `download_failed`. */
export function networkError(message: string, cause: unknown, facts: Facts): SluiceError {
  if (!offline()) return new SluiceError('download_failed', message, { facts, cause });
  const { url } = facts;
  return new SluiceError(
    'offline',
    `${message}: this device is offline; connect it and try again`,
    {
      facts: url === undefined ? {} : { url },
      cause,
    },
  );
}

/** What to do about a server that wants to know who asks. */
const AUTHORIZE =
  'it wants to know who asks, or does not let you have it: give what it wants in ' +
  "headers: { authorization: 'Bearer ..' }, and check the address";

/** Throws download_failed if the answer of `who` is not a file. `url`: where it was asked for. */
export function checkStatus(
  { ok, status, statusText }: Pick<Response, 'ok' | 'status' | 'statusText'>,
  who: string,
  url: string,
): void {
  // 204 and 205 count as success and have no body.
  const none = status === 204 || status === 205;
  if (ok && !none) return;
  const named = status === 404 ? 'there is no such file' : statusText;
  const what = named || (none ? 'no content' : 'an error');
  const todo = status === 401 || status === 403 ? AUTHORIZE : 'check the address';
  throw new SluiceError(
    'download_failed',
    `${who} answered ${status} (${what}) instead of the model; ${todo}`,
    { status, facts: failedAt(url, 'status') },
  );
}

/** The file's length according to the headers; 0 if unknown. */
export function lengthOf({ headers }: Pick<Response, 'headers'>): number {
  // The length of a compressed answer is not the file's. (An answer from another origin may hide that it is compressed.)
  const length = Number(headers.get('content-length') ?? 0);
  const encoded = (headers.get('content-encoding') ?? 'identity') !== 'identity';
  return encoded || !Number.isSafeInteger(length) || length < 0 ? 0 : length;
}

/** Throws if the first bytes are not those of a model, and the server calls them a web page. */
export function refuseWebPage(bytes: Uint8Array, contentType: string): void {
  const magic = [0x47, 0x47, 0x55, 0x46]; // GGUF
  const isModel = magic.every((byte, i) => i >= bytes.length || bytes[i] === byte);
  if (!isModel && /^(text\/html|application\/xhtml)/i.test(contentType)) {
    throw new SluiceError(
      'bad_file',
      `the server sent a web page (${contentType.split(';')[0]}), not a GGUF model; ` +
        'check that the address is that of the file itself, not of a page about it',
    );
  }
}

export function emptyFile(what: string): SluiceError {
  return new SluiceError(
    'bad_file',
    `${what} is empty (0 bytes); a GGUF model was expected: give another file or address`,
  );
}

/** The error if the server can't be asked whether the cached file is current. */
export function asRefreshed(error: unknown): unknown {
  if (!(error instanceof SluiceError)) return error;
  return reworded(error, `${error.message}. What is kept on this device loads without refresh`);
}
