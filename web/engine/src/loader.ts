// Reads a file for the engine worker: straight into shared memory if there is any, otherwise as chunks that are
// transferred. The engine's credit limits the bytes of chunks that are under way.
import { SluiceError, toErrorData, type ErrorCode } from './errors.js';
import { Refusals } from './own-files.js';
import { Places } from './places.js';
import type { LoaderToEngine, LoaderSource, EngineToLoader } from './protocol.js';

/** The part of a MessagePort that is used; tests have their own. */
export interface FeedPort {
  postMessage(message: LoaderToEngine, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<EngineToLoader>) => void) | null;
}

/** Gives the bytes of a file to the engine worker. */
export class Outlet {
  #places: Places | null = null;
  /** The places are good for one write. */
  #once = false;
  /** The offset in the file of the next byte to write to the places. */
  #at = 0;
  #credit = 0;
  #wake: (() => void) | null = null;
  stopped = false;
  /** Called when no more bytes are wanted. */
  onstop: () => void = () => {};
  /** Whether bytes are copied into shared memory, so that the buffer they came in can be reused. */
  copies = false;

  constructor(readonly port: FeedPort) {
    port.onmessage = ({ data }) => {
      if (data.type === 'fill') {
        this.#places = new Places(data.memory, data.wants);
        this.#once = data.once;
        this.copies = true;
      } else if (data.type === 'sendMore') this.#credit += data.length;
      else this.stop();
      this.#wake?.();
    };
  }

  /** No more bytes are wanted. */
  stop(): void {
    this.stopped = true;
    this.#wake?.();
    this.onstop();
  }

  /** Resolves when bytes may be sent, or when no more are wanted. */
  async ready(): Promise<void> {
    while (this.#places === null && this.#credit <= 0 && !this.stopped) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
  }

  async send(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    for (let at = 0; at < bytes.byteLength;) {
      await this.ready();
      if (this.stopped) return;
      at +=
        this.#places === null
          ? this.#sendChunk(bytes)
          : this.#write(this.#places, bytes.subarray(at));
    }
  }

  /** A chunk may be larger than the credit that is left. */
  #sendChunk(bytes: Uint8Array<ArrayBuffer>): number {
    const length = bytes.byteLength;
    const whole = length === bytes.buffer.byteLength ? bytes : bytes.slice();
    this.#credit -= length;
    this.port.postMessage({ type: 'bytes', bytes: whole }, [whole.buffer]);
    return length;
  }

  /** Writes the bytes up to the end of the places, and reports them in one message. Returns how many. */
  #write(places: Places, bytes: Uint8Array): number {
    const length = places.write(this.#at, bytes);
    const offset = this.#at;
    this.#at += length;
    if (this.#once || this.#at >= places.end) this.#places = null;
    this.port.postMessage({ type: 'filled', offset, length });
    return length;
  }
}

type Piece = ReadableStreamReadResult<Uint8Array<ArrayBuffer>>;

/** Bytes that are read at once. */
export const PIECE_BYTES = 1 << 20;

/** Reads a stream, piece by piece. */
interface Reader {
  read(): Promise<Piece>;
  cancel(): Promise<void>;
}

/** With `again` it reads into one buffer, if the stream can do that. This takes a fifth less time. */
function readerOf(body: ReadableStream<Uint8Array<ArrayBuffer>>, again: boolean): Reader {
  if (again) {
    try {
      const reader = body.getReader({ mode: 'byob' });
      let buffer = new ArrayBuffer(PIECE_BYTES);
      const read = async (): Promise<Piece> => {
        const piece = await reader.read(new Uint8Array(buffer));
        if (piece.value !== undefined) buffer = piece.value.buffer;
        return piece as Piece;
      };
      return { read, cancel: () => reader.cancel() };
    } catch {
      // The stream, or the browser, can't read into a given buffer.
    }
  }
  const reader = body.getReader();
  return { read: () => reader.read(), cancel: () => reader.cancel() };
}

/** A body, ready to be read. */
export interface Opened {
  body: ReadableStream<Uint8Array<ArrayBuffer>> | null;
  /** See 'opened' in LoaderToEngine. */
  total: number;
  exact: boolean;
  network: boolean;
  /** With fewer bytes it is incomplete. */
  least: number;
  /** As the server sent it; '' for files. */
  contentType: string;
  /** What messages call it. */
  name: string;
  /** The error if reading fails after `got`, such as '5 of 9 bytes'. */
  broken(got: string, cause: unknown): SluiceError;
}

function offline(): boolean {
  return globalThis.navigator?.onLine === false;
}

export function hostOf(url: string): string {
  const { protocol, host } = new URL(url);
  return host || `the ${protocol} address`;
}

/** Whether the address answers with a redirect. A script can't see where it leads. */
async function redirects(
  url: string,
  headers: [string, string][],
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const response = await fetch(url, { headers, signal, redirect: 'manual' });
    void response.body?.cancel().catch(() => {});
    return response.type === 'opaqueredirect';
  } catch {
    return false;
  }
}

/** Finds out why a fetch failed without an answer: browsers give scripts the same error for all reasons. */
async function whyUnreadable(
  url: string,
  headers: [string, string][],
  signal: AbortSignal,
  refusals: Refusals,
): Promise<string> {
  const { protocol, origin, hostname } = new URL(url);
  const page: Location | undefined = globalThis.location;
  if (protocol === 'blob:') {
    return 'it was revoked, or another site made it; give the Blob or the File itself';
  }
  if (protocol === 'data:') return "its data can't be decoded; give a Blob or an ArrayBuffer";
  const local = /^(localhost|127\..*|\[::1\]|.*\.localhost)$/.test(hostname);
  if (protocol === 'http:' && page?.protocol === 'https:' && !local) {
    return 'a page with https may not read http addresses; use one with https';
  }
  const refusal = await refusals.ofFailed(url);
  if (refusal !== undefined) {
    return `${refusal.policy} (${refusal.directive}) forbids it; ${refusal.remedy}`;
  }
  if (!offline() && (await redirects(url, headers, signal))) {
    return (
      'it redirects to where the file can not be read: in a circle, to a server that did not answer, or to one that ' +
      'does not allow other sites to read the file (CORS); use the address at which the redirects end'
    );
  }
  const policy = "this page's Content-Security-Policy (connect-src) forbids it";
  return origin === page?.origin
    ? `the server did not answer, or ${policy}; see that it runs and try again`
    : `the server did not answer, it does not allow other sites to read the file (CORS), or ${policy}; ` +
        'download the file and choose it here, or use a server that sends Access-Control-Allow-Origin';
}

function networkError(message: string, cause: unknown): SluiceError {
  return offline()
    ? new SluiceError('offline', `${message}: this device is offline; connect it and try again`, {
        cause,
      })
    : new SluiceError('download_failed', message, { cause });
}

/** Waits for `work`, but at most `limit` milliseconds. Then it throws the error of `late`, and `end` ends the work. */
async function within<T>(
  work: Promise<T>,
  limit: number,
  late: () => SluiceError,
  end: () => void,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(late());
      end();
    }, limit);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Throws download_failed if the answer of `who` is not a file. */
export function checkStatus({ ok, status, statusText }: Response, who: string): void {
  // 204 and 205 count as success and have no body.
  const none = status === 204 || status === 205;
  if (ok && !none) return;
  const named = status === 404 ? 'there is no such file' : statusText;
  const what = named || (none ? 'no content' : 'an error');
  throw new SluiceError(
    'download_failed',
    `${who} answered ${status} (${what}) instead of the model; check the address`,
    { status },
  );
}

/** The file's length according to the headers; 0 if unknown. */
export function lengthOf({ headers }: Response): number {
  // The length of a compressed answer is not the file's. (An answer from another origin may hide that it is compressed.)
  const length = Number(headers.get('content-length') ?? 0);
  const encoded = (headers.get('content-encoding') ?? 'identity') !== 'identity';
  return encoded || !Number.isSafeInteger(length) || length < 0 ? 0 : length;
}

async function openUrl(
  url: string,
  headers: [string, string][],
  signal: AbortSignal,
): Promise<Opened> {
  const who = hostOf(url);
  const refusals = new Refusals(signal);
  let response: Response;
  try {
    response = await fetch(url, { headers, signal });
  } catch (cause) {
    if (offline() && !/^(blob|data):/.test(url))
      throw networkError(`${who} could not be read`, cause);
    const why = await whyUnreadable(url, headers, signal, refusals);
    throw networkError(`${who} could not be read: ${why}`, cause);
  }
  checkStatus(response, who);
  const total = lengthOf(response);
  return {
    body: response.body as Opened['body'],
    total,
    exact: response.type === 'basic' || response.type === 'default',
    network: true,
    least: total,
    contentType: response.headers.get('content-type') ?? '',
    name: `the file that ${who} sent`,
    broken: (got, cause) => networkError(`the connection broke after ${got}; try again`, cause),
  };
}

/** Throws if the first bytes are not those of a model, and the server calls them a web page. */
function refuseWebPage(bytes: Uint8Array, contentType: string): void {
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

function openBlob(blob: Blob): Opened {
  return {
    body: blob.stream(),
    total: blob.size,
    exact: true,
    network: false,
    least: 0,
    contentType: '',
    name: 'the file',
    broken: (got, cause) =>
      new SluiceError(
        'bad_file',
        `the file could be read no further than ${got}; choose it again`,
        { cause },
      ),
  };
}

function stalled(stallTimeout: number, got: string): SluiceError {
  const text = `no byte came for ${stallTimeout / 1000} s (${got} came); try again`;
  return networkError(text, undefined);
}

/** Sends a body to its end, or until no more is wanted. Returns the number of bytes read. */
export async function feed(opened: Opened, stallTimeout: number, outlet: Outlet): Promise<number> {
  const { body, total, exact, network, least, name } = opened;
  let received = 0;
  const got = (): string => (total > 0 ? `${received} of ${total} bytes` : `${received} bytes`);
  let reader: Reader | null = null;
  const cancel = (): void => void (reader ?? body)?.cancel().catch(() => {});
  outlet.onstop = cancel;
  outlet.port.postMessage({ type: 'opened', total, exact, network });
  while (body !== null) {
    await outlet.ready();
    if (outlet.stopped) break;
    let piece: Piece;
    try {
      reader ??= readerOf(body, outlet.copies);
      const next = reader.read();
      const late = (): SluiceError => stalled(stallTimeout, got());
      piece = await (network ? within(next, stallTimeout, late, cancel) : next);
    } catch (cause) {
      throw cause instanceof SluiceError ? cause : opened.broken(got(), cause);
    }
    if (piece.done) break;
    if (received < 4) refuseWebPage(piece.value, opened.contentType);
    received += piece.value.byteLength;
    await outlet.send(piece.value);
  }
  if (outlet.stopped) {
    cancel();
  } else if (received === 0 && least === 0) {
    throw emptyFile(name);
  } else if (received < least) {
    throw networkError(`the download ended after ${got()}; try again`, undefined);
  }
  return received;
}

async function feedSource(
  source: LoaderSource,
  stallTimeout: number,
  outlet: Outlet,
): Promise<number> {
  if (source.kind === 'blob') return feed(openBlob(source.blob), stallTimeout, outlet);
  const controller = new AbortController();
  const opening = openUrl(source.url, source.headers, controller.signal);
  const late = (): SluiceError => stalled(stallTimeout, '0 bytes');
  const opened = await within(opening, stallTimeout, late, () => controller.abort());
  return feed(opened, stallTimeout, outlet);
}

/** Reports how the feeding ended. `code`: for an error that is not a SluiceError. */
export async function tellOutcome(
  outlet: Outlet,
  feeding: Promise<number>,
  code: ErrorCode,
): Promise<void> {
  try {
    outlet.port.postMessage({ type: 'ended', received: await feeding });
  } catch (error) {
    // After stop() an error doesn't matter.
    if (outlet.stopped) outlet.port.postMessage({ type: 'ended', received: 0 });
    else outlet.port.postMessage({ type: 'failed', error: toErrorData(error, code) });
  }
}

/** Reads `source` to its end, or until the engine has enough. Every outcome is reported through the port. */
export async function runLoader(
  source: LoaderSource,
  stallTimeout: number,
  port: FeedPort,
): Promise<void> {
  const outlet = new Outlet(port);
  await tellOutcome(outlet, feedSource(source, stallTimeout, outlet), 'download_failed');
}
