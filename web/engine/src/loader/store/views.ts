// Reads a range of a file into several views of memory, which may be shared.
import { type FileHandle, type SyncHandle } from '../../platform/platform.js';
import { xxh64Of } from './hashes.js';
import { readFile } from './files.js';

/** Whether handles read into shared memory: older browsers refuse it. */
let readsShared = true;

function readInto(handle: SyncHandle, view: Uint8Array, at: number): number {
  if (view.buffer instanceof ArrayBuffer || readsShared) {
    try {
      return handle.read(view, { at });
    } catch (error) {
      if (view.buffer instanceof ArrayBuffer || !(error instanceof TypeError)) throw error;
      readsShared = false;
    }
  }
  const copy = new Uint8Array(view.length);
  const length = handle.read(copy, { at });
  view.set(copy);
  return length;
}

/** Bytes that are read and then hashed at a time, while they are still in the processor's cache. */
const HASHED_BYTES = 1 << 18;

/** Fills the views, one after the other. Returns their XXH64, or null if the file is too short. */
export function readHashed(handle: SyncHandle, at: number, views: Uint8Array[]): bigint | null {
  const pieces = views.flatMap((view) =>
    Array.from({ length: Math.ceil(view.length / HASHED_BYTES) }, (_, i) =>
      view.subarray(i * HASHED_BYTES, (i + 1) * HASHED_BYTES),
    ),
  );
  return xxh64Of((update) => {
    for (const piece of pieces) {
      if (readInto(handle, piece, at) !== piece.length) return false;
      update(piece);
      at += piece.length;
    }
    return true;
  });
}

/** Fills the views, one after the other. False if the file is too short. */
export function readViews(handle: SyncHandle, at: number, views: Uint8Array[]): boolean {
  for (const view of views) {
    if (readInto(handle, view, at) !== view.length) return false;
    at += view.length;
  }
  return true;
}

/** As readViews, without a sync handle. */
export async function readViewsOf(
  file: FileHandle,
  at: number,
  views: Uint8Array[],
): Promise<boolean> {
  const size = views.reduce((sum, { length }) => sum + length, 0);
  const bytes = await readFile(file, at, at + size);
  if (bytes.length !== size) return false;
  let from = 0;
  for (const view of views) {
    view.set(bytes.subarray(from, from + view.length));
    from += view.length;
  }
  return true;
}

/** The parts of the views from `from` to `to`, counted over all of them. */
export function cutViews(views: readonly Uint8Array[], from: number, to: number): Uint8Array[] {
  const parts: Uint8Array[] = [];
  let at = 0;
  for (const view of views) {
    const part = view.subarray(Math.max(0, from - at), Math.max(0, to - at));
    if (part.length > 0) parts.push(part);
    at += view.length;
  }
  return parts;
}
