// Copies of the reader's own files, made by choice where the browser gives no handles: they open again at the next visit.
// Each is a folder in the browser's own file system. Its name is how many bytes the files have and when they were changed, as
// in refOf(): so a copy stands for the same model as its file.
import { effect, signal } from '@preact/signals';
import { announcement } from '../ui/announce';
import { canKeep } from '../ui/device';
import { ownFinding } from './advice';
import { copyTexts } from './copy-texts';
import { canPick } from './handles';
import { refresh, refused } from './kept-list';
import { oneModel, refOf, sourceName, type Source } from './source';
import { loading, model } from './state';

export interface Copy {
  ref: string;
  name: string;
  bytes: number;
}
type Files = Extract<Source, { kind: 'files' }>;

export const copies = signal<Copy[]>([]);
/** The copy that is being made, and how much of it is there. */
export const copying = signal<{ ref: string; done: number; total: number } | null>(null);

/** Whether copies are offered: with handles there is no need of them. */
export const canCopy =
  canKeep && !canPick && 'createWritable' in (globalThis.FileSystemFileHandle?.prototype ?? {});

const FOLDER = 'sluice-copies';
const LOCK = 'sluice-copy:';
let abort: AbortController | null = null;

async function place(): Promise<FileSystemDirectoryHandle> {
  const root = await navigator.storage.getDirectory();
  return root.getDirectoryHandle(FOLDER, { create: true });
}

function folderOf(ref: string): string {
  return /^file:(\d+\.\d+)\//.exec(ref)?.[1] ?? '';
}

/** The model in a folder; null if it isn't whole. */
async function modelIn(folder: FileSystemDirectoryHandle): Promise<Files | null> {
  const files: File[] = [];
  const lastModified = Number(folder.name.split('.')[1]);
  for await (const one of folder.values()) {
    if (one.kind !== 'file') continue;
    const file = await (one as FileSystemFileHandle).getFile();
    files.push(new File([file], file.name, { lastModified }));
  }
  const found = oneModel(files);
  return found?.kind === 'files' && folderOf(refOf(found)) === folder.name ? found : null;
}

/** The files of a copy; none if there is no copy. */
export async function copyOf(ref: string): Promise<File[]> {
  if (!canCopy) return [];
  try {
    const found = await modelIn(await (await place()).getDirectoryHandle(folderOf(ref)));
    return found !== null && refOf(found) === ref ? found.files : [];
  } catch {
    return [];
  }
}

/** Reads anew which copies there are. */
export async function refreshCopies(): Promise<void> {
  if (!canCopy) return;
  const found: Copy[] = [];
  try {
    for await (const one of (await place()).values()) {
      if (one.kind === 'file') continue;
      const source = await modelIn(one as FileSystemDirectoryHandle);
      if (source === null) {
        // It was not copied to its end.
        await discard(one.name);
        continue;
      }
      const bytes = source.files.reduce((sum, { size }) => sum + size, 0);
      found.push({ ref: refOf(source), name: sourceName(source), bytes });
    }
  } catch {
    // A private window: there are none.
  }
  copies.value = found;
}

/** Copies the files of a model. What was begun and did not come to its end goes. */
export async function keepCopy(source: Files): Promise<void> {
  const ref = refOf(source);
  const { signal } = (abort = new AbortController());
  refused.value = null;
  // Some browsers ask the reader.
  void navigator.storage.persist?.().catch(() => false);
  try {
    await navigator.locks.request(LOCK + folderOf(ref), { mode: 'shared' }, () =>
      write(source, signal),
    );
    announcement.value = copyTexts.peek().kept(sourceName(source));
  } catch (error) {
    const full = error instanceof DOMException && error.name === 'QuotaExceededError';
    const why = copyTexts.peek()[full ? 'full' : 'failed'];
    if (!signal.aborted) refused.value = { source: ref, ...ownFinding('storage_full', why) };
  } finally {
    await Promise.all([refreshCopies(), refresh()]);
    copying.value = null;
  }
}

async function write(source: Files, signal: AbortSignal): Promise<void> {
  const ref = refOf(source);
  const total = source.files.reduce((sum, { size }) => sum + size, 0);
  let done = 0;
  copying.value = { ref, done, total };
  const folder = await (await place()).getDirectoryHandle(folderOf(ref), { create: true });
  for (const file of source.files) {
    const handle = await folder.getFileHandle(file.name, { create: true });
    const count = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(bytes, out) {
        done += bytes.length;
        copying.value = { ref, done, total };
        out.enqueue(bytes);
      },
    });
    const to = await handle.createWritable();
    await file.stream().pipeThrough(count).pipeTo(to, { signal });
  }
}

export function cancelCopy(): void {
  abort?.abort();
}

/** Removes the files of a copy unless they are in use, here or in another tab. Returns whether they are gone. */
function discard(folder: string): Promise<boolean> {
  return navigator.locks.request(LOCK + folder, { ifAvailable: true }, async (lock) => {
    if (lock === null) return false;
    await (await place()).removeEntry(folder, { recursive: true });
    return true;
  });
}

/** Removes a copy unless its model is in use. Returns the bytes that are free then. */
export async function removeCopy({ ref, bytes }: Copy): Promise<number> {
  const removed = await discard(folderOf(ref)).catch(() => false);
  await Promise.all([refreshCopies(), refresh()]);
  return removed ? bytes : 0;
}

/** Reads which copies there are. From now on no tab removes that of a file that this one uses. */
export function startCopies(): void {
  if (!canCopy) return;
  void refreshCopies();
  effect(() => {
    const sources = [loading.value?.source, model.value?.source];
    const refs = new Set(sources.flatMap((one) => (one?.kind === 'files' ? [refOf(one)] : [])));
    let release = (): void => undefined;
    const end = new Promise<void>((resolve) => (release = resolve));
    for (const ref of refs)
      void navigator.locks.request(LOCK + folderOf(ref), { mode: 'shared' }, () => end);
    return release;
  });
}
