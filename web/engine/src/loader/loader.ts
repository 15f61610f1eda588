// Reads a model's files for the engine worker: first the headers, file by file, then all weights.
import { BlobFile } from './blob-file.js';
import { SluiceError, toErrorData, type ErrorCode } from '../shared/errors.js';
import type { Note } from '../shared/notes.js';
import { Download } from './download.js';
import type { Report } from './report.js';
import { shardsOf } from '../shared/shards.js';
import { resolveFiles } from './net/hub.js';
import { pageFetcher } from './net/page-fetcher.js';
import { Patience } from './net/patience.js';
import type { Fetcher, Net } from './net/remote.js';
import { Outlet, type FeedPort } from './outlet.js';
import type { LoaderCalls, LoaderNews } from '../shared/calls.js';
import { noCourse, type Course, type LoaderSource, type RemoteSource } from '../shared/protocol.js';
import { Server } from './server.js';
import type { SourceFile } from './source-file.js';
import { findNamed, isKept, openEntry } from './store/entries.js';
import { loadHashes } from './store/hashes.js';
import type { WaitingFor } from '../shared/progress-types.js';

type ReadArgs = LoaderCalls['read']['args'];

/** Sends the headers to the engine. Returns false if it wants no more. */
async function bringHeaders(files: readonly SourceFile[], outlet: Outlet): Promise<boolean> {
  let now = 0;
  for (;;) {
    const wish = await outlet.wish();
    if (wish === null) return false;
    if (wish.kind === 'weights') return true;
    const next = outlet.bases.findLastIndex((base) => base <= wish.offset);
    const file = files[next];
    if (next !== now) {
      files[now]?.pause();
      now = next;
      await file?.open();
    }
    const at = wish.offset - (outlet.bases[next] ?? 0);
    const bytes = (await file?.head(at, wish.length)) ?? null;
    if (bytes === null) {
      if (!outlet.stopped.signal.aborted)
        outlet.port.postMessage({ type: 'ended', file: next, received: file?.received ?? 0 });
      return false;
    }
    await outlet.send(wish.offset, bytes);
  }
}

/** The index in `files` of the file with the bytes that are needed first. */
function nextOf(files: readonly SourceFile[], all: readonly SourceFile[], outlet: Outlet): number {
  const { bases, weights } = outlet;
  for (const { from } of weights.ordered) {
    const file = all[bases.findLastIndex((base) => base <= from)];
    const index = files.findIndex((one) => one === file);
    if (index >= 0) return index;
  }
  return 0;
}

/** Downloads the rest of each file, and tells the engine when all have ended. */
async function bringWeights(
  files: readonly SourceFile[],
  outlet: Outlet,
  server: Server,
  arrived: () => void,
): Promise<void> {
  for (const left = [...files]; left.length > 0 && !outlet.stopped.signal.aborted;) {
    const [file] = left.splice(nextOf(left, files, outlet), 1);
    await file?.rest();
    await server.openCopies();
  }
  if (outlet.stopped.signal.aborted) return;
  // A truncated download stays unverified: the engine reports the error then.
  if (!files.some((file) => file.unproven)) {
    arrived();
    outlet.release();
  }
  await server.drained();
  if (outlet.stopped.signal.aborted) return;
  const received = files.at(-1)?.received ?? 0;
  outlet.port.postMessage({ type: 'ended', file: files.length - 1, received });
  // The engine may still refuse the file; then it isn't kept.
  await server.mendAll();
}

async function bringFiles(
  files: readonly SourceFile[],
  outlet: Outlet,
  arrived: () => void,
  failed: (error: unknown) => void,
): Promise<void> {
  const [first] = files as [SourceFile];
  await first.open();
  const { exact, network, access } = first;
  const sizes = files.map((file) => file.total);
  const unproven = files.some((file) => file.unproven);
  outlet.port.postMessage({ type: 'opened', sizes, exact, network, access, unproven });
  if (!(await bringHeaders(files, outlet))) return outlet.verdict();
  if (unproven) outlet.hold();
  const server = new Server(files, outlet);
  await server.openCopies();
  await firstError([server.run(), bringWeights(files, outlet, server, arrived)], failed);
}

/** Waits for all. Passes the first error on at once, so that it ends the others. */
async function firstError(
  works: readonly Promise<void>[],
  failed: (error: unknown) => void,
): Promise<void> {
  let errors = 0;
  const hear = (error: unknown): void => {
    if (errors++ === 0) failed(error);
  };
  await Promise.all(works.map((work) => work.catch(hear)));
}

/**
 * Sends a model's files to the engine. Every outcome is reported through the port. `code`: for an error that is no SluiceError.
 * `arrived` is called when all files have arrived.
 */
export async function runFiles(
  files: readonly SourceFile[],
  outlet: Outlet,
  code: ErrorCode,
  arrived: () => void = () => {},
): Promise<void> {
  const tell = (error: unknown): void => {
    // Once the engine needs no more, an error doesn't matter.
    if (!outlet.over) outlet.port.postMessage({ type: 'failed', error: toErrorData(error, code) });
    outlet.stop();
  };
  try {
    await bringFiles(files, outlet, arrived, tell);
  } catch (error) {
    tell(error);
  } finally {
    await Promise.all(files.map((file) => file.close()));
  }
}

const COURSE_MS = 100;

/** Reports the download's progress to the page, ten times a second at most. */
class Reporter implements Report {
  /** Bytes of the model that are cached now. */
  kept: () => number = () => 0;
  readonly #course: Course = noCourse();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly tell: (news: LoaderNews) => void) {}

  #later(): void {
    this.#timer ??= setTimeout(() => this.flush(), COURSE_MS);
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // After that the files are closed.
    if (!this.#course.arrived) this.#course.kept = this.kept();
    this.tell({ kind: 'course', ...this.#course });
    this.#course.notes = [];
  }

  /** The first bytes are reported at once: a small model may be ready before the next report. */
  #came(from: 'fromNetwork' | 'fromCache', bytes: number): void {
    const first = this.#course[from] === 0;
    this.#course[from] += bytes;
    if (first) this.flush();
    else this.#later();
  }
  fromNetwork(bytes: number): void {
    this.#came('fromNetwork', bytes);
  }
  fromCache(bytes: number): void {
    this.#came('fromCache', bytes);
  }
  verified(bytes: number): void {
    this.#course.verified = bytes;
    this.#later();
  }
  /** Sent at once, so that the note is among the engine's notes when the model is ready. */
  note(note: Note): void {
    this.#course.notes.push(note);
    this.flush();
  }
  arrived(): void {
    this.#course.kept = this.kept();
    this.#course.arrived = true;
    this.flush();
  }
  keeping(): void {
    this.tell({ kind: 'keeping' });
  }
  waiting(text: string, on: WaitingFor | null): void {
    this.#course.waiting = text;
    this.#course.waitingFor = on;
    this.flush();
  }
}

async function downloadsOf(
  source: RemoteSource,
  net: Net,
  probe: boolean,
  outlet: Outlet,
  report: Reporter,
): Promise<Download[]> {
  const kept = source.cache === 'opfs';
  // Needed soon, so its compilation starts now. The code that needs it handles a failure.
  if (kept) loadHashes().catch(() => {});
  const specs = await resolveFiles(
    source,
    net,
    async (name) => (kept ? findNamed(name) : null),
    async (address) => kept && isKept(address),
    (note) => report.note(note),
  );
  const downloads = specs.map((spec) => {
    const { names, set, part, parts, url } = spec;
    const keeps = kept && /^https?:/.test(url);
    const open = keeps ? () => openEntry(url, { names, set, part, parts }) : null;
    return new Download(spec, net, outlet, report, open, {
      strict: source.asked,
      refresh: source.refresh,
      probe,
    });
  });
  report.kept = () => downloads.reduce((sum, { kept }) => sum + kept, 0);
  return downloads;
}

async function filesOf(
  source: LoaderSource,
  { patiences, probe }: Pick<ReadArgs, 'patiences' | 'probe'>,
  outlet: Outlet,
  report: Reporter,
  openPath: OpenPath,
): Promise<SourceFile[]> {
  if (source.kind === 'blobs') return source.blobs.map((blob) => new BlobFile(blob));
  if (source.kind === 'paths') {
    const [first = '', ...more] = source.paths;
    // Any file of a split model stands for all.
    const all = more.length === 0 ? shardsOf(first) : null;
    return (all ?? source.paths).map(openPath);
  }
  const end = new AbortController();
  const { signal } = outlet.stopped;
  signal.addEventListener('abort', () => end.abort());
  const own: Fetcher = (url, asked) => fetch(url, asked);
  const net: Net = {
    fetch: source.fetch === null ? own : pageFetcher(source.fetch),
    custom: source.fetch !== null,
    signal: end.signal,
    fail: () => end.abort(),
    patiences,
    patience: new Patience(patiences.retryTimeout),
    onwaiting: (text, on) => report.waiting(text, on),
    onwaited: () => report.waiting('', null),
  };
  return downloadsOf(source, net, probe, outlet, report);
}

/** Gives the file at a path. Throws if there is none that can be read. */
export type OpenPath = (path: string) => SourceFile;

/** Pages give no paths. */
function noPaths(): never {
  throw new SluiceError('unsupported_environment', 'paths can only be read in Node; give a File');
}

/**
 * Reads `source` to its end, or until the engine has enough. Resolves when its files are closed. Every outcome is reported
 * through the port.
 */
export async function runLoader(
  request: Omit<ReadArgs, 'port'>,
  port: FeedPort,
  tell: (news: LoaderNews) => void,
  openPath: OpenPath = noPaths,
): Promise<void> {
  const outlet = new Outlet(port);
  const report = new Reporter(tell);
  try {
    const files = await filesOf(request.source, request, outlet, report, openPath);
    await runFiles(files, outlet, 'download_failed', () => report.arrived());
  } catch (error) {
    if (!outlet.stopped.signal.aborted)
      port.postMessage({ type: 'failed', error: toErrorData(error, 'download_failed') });
  } finally {
    report.flush();
  }
}
