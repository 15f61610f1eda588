// Fetches the file of a saved session, such as one that `sluice run --session` has written.
import { fileAt, hasPolicies, pathOf } from '../platform/here.js';
import { SluiceError, abortReason } from '../shared/errors.js';
import { failedAt, plainUrl } from '../shared/facts.js';
import { within } from '../loader/net/time.js';
import { hostOf, offline } from '../loader/net/why.js';
import { LOAD_RULES } from '../shared/option-table.js';
import { invalid, show } from './options.js';
import { deferred, onAbort } from '../shared/promises.js';
import type { ModelInfo } from '../shared/types.js';

const PIECE_BYTES = 1 << 20;
/** The most bytes of the header and the hash of a session's file. */
const FRAME_BYTES = 4096;

/** The most bytes that a session of this model can have. */
function mostBytes({ memory }: ModelInfo): number {
  return memory === null ? 0 : FRAME_BYTES + 4 * memory.contextSize + memory.kv;
}

function urlOf(address: string | URL): string {
  const base = globalThis.location?.href;
  const text = String(address);
  if (!URL.canParse(text, base))
    throw invalid(`prefix is ${show(text)}; give an address or a Blob`);
  return new URL(text, base).href;
}

function unreachable(url: string, signal: AbortSignal | undefined, cause: unknown): unknown {
  if (signal?.aborted) return abortReason(signal);
  if (cause instanceof SluiceError) return cause;
  return offline()
    ? new SluiceError('offline', `${hostOf(url)} can't be reached: this device is offline`, {
        facts: { url: plainUrl(url) },
        cause,
      })
    : new SluiceError(
        'download_failed',
        `${hostOf(url)} can't be reached${hasPolicies ? ", or doesn't let this page read the session" : ''}`,
        { facts: failedAt(url, 'unreachable'), cause },
      );
}

function tooLong(bytes: number, { memory }: ModelInfo): SluiceError {
  return new SluiceError(
    'context_full',
    `the session has ${bytes} bytes or more, but one for this context of ` +
      `${memory?.contextSize ?? 0} tokens has fewer; load with a larger context`,
  );
}

/** The file at an address or a path. It can't have more bytes than a session of this model. */
export async function fetchPrefix(
  address: string | URL,
  info: ModelInfo,
  signal: AbortSignal | undefined,
): Promise<Blob> {
  if (signal?.aborted) throw abortReason(signal);
  const most = mostBytes(info);
  const path = pathOf(address);
  if (path !== null) {
    const file = await fileAt(path);
    if (file.size > most) throw tooLong(file.size, info);
    return file;
  }
  const url = urlOf(address);
  const { promise: aborted, reject: abort } = deferred<never>();
  const release = onAbort(signal, abort);
  const stop = new AbortController();
  let reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> | undefined;
  const late = (): SluiceError =>
    new SluiceError('download_failed', `${hostOf(url)} sent nothing of the session for too long`, {
      facts: failedAt(url, 'stalled'),
    });
  /** Waits for an answer or for bytes, until the caller aborts or the time limit is reached. */
  const soon = <T>(work: Promise<T>): Promise<T> =>
    within(Promise.race([work, aborted]), LOAD_RULES.stallTimeout.default, late, () => {});
  try {
    const answer = await soon(fetch(url, { signal: stop.signal }));
    if (!answer.ok) {
      const { status } = answer;
      const text = `${hostOf(url)} answered ${status} for the session`;
      throw new SluiceError('download_failed', text, { status, facts: failedAt(url, 'status') });
    }
    reader = answer.body?.getReader();
    const announced = Number(answer.headers.get('content-length') ?? 0);
    if (announced > most) throw tooLong(announced, info);
    const pieces: Blob[] = [];
    let chunks: Uint8Array<ArrayBuffer>[] = [];
    let [all, held] = [0, 0];
    while (reader !== undefined) {
      const { done, value } = await soon(reader.read());
      if (done) break;
      all += value.length;
      held += value.length;
      if (all > most) throw tooLong(all, info);
      chunks.push(value);
      if (held < PIECE_BYTES) continue;
      pieces.push(new Blob(chunks));
      [chunks, held] = [[], 0];
    }
    return new Blob([...pieces, ...chunks]);
  } catch (cause) {
    stop.abort();
    void reader?.cancel().catch(() => {});
    throw unreachable(url, signal, cause);
  } finally {
    release();
  }
}
