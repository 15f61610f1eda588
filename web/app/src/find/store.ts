// Where documents are kept: a folder of their own in the browser's private file system, a file for each. The browser puts a
// file in the place of the old one when all of it is written, so each is there whole or not at all.
import { canKeep } from '../ui/device';

const FOLDER = 'sluice-find';
const ENDING = '.find';
const CHANNEL = 'sluice-find';

/** 'full': the device has no room left; 'failed': the browser refuses, or anything else. */
export type KeepCode = 'full' | 'failed';

export class KeepError extends Error {
  override readonly name = 'KeepError';
  constructor(
    readonly code: KeepCode,
    cause: unknown,
  ) {
    super(`documents: ${code}${cause instanceof Error ? ` (${cause.message})` : ''}`, { cause });
  }
}

function explained(error: unknown): KeepError {
  const name = error instanceof Error ? error.name : '';
  return new KeepError(name === 'QuotaExceededError' ? 'full' : 'failed', error);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && error.name === 'NotFoundError';
}

/** Called with the id of a document that was written or removed elsewhere. */
export type Changed = (id: string) => void;

export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}

/** Whether this browser keeps documents: on pages with https, where files of its private system can be written from a page. */
const canWrite = canKeep && 'createWritable' in (globalThis.FileSystemFileHandle?.prototype ?? {});

async function place(): Promise<FileSystemDirectoryHandle> {
  const root = await navigator.storage.getDirectory();
  return root.getDirectoryHandle(FOLDER, { create: true });
}

/** All functions but list() throw a KeepError; then nothing has changed. Tabs tell each other of what they change. */
export class Store {
  readonly #place: () => Promise<FileSystemDirectoryHandle>;
  readonly #channel: BroadcastChannel | undefined;

  /** `changed`: called when another tab has written or removed a document. */
  constructor(changed: Changed = () => {}, folder = place, channel = browserChannel()) {
    this.#place = folder;
    this.#channel = channel;
    channel?.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      if (typeof data === 'string') changed(data);
    });
  }

  /** The ids of all documents, and how many bytes each has. None where the browser keeps none. */
  async list(): Promise<{ id: string; bytes: number }[]> {
    const found: { id: string; bytes: number }[] = [];
    try {
      for await (const one of (await this.#place()).values()) {
        if (one.kind !== 'file' || !one.name.endsWith(ENDING)) continue;
        const file = await (one as FileSystemFileHandle).getFile();
        found.push({ id: one.name.slice(0, -ENDING.length), bytes: file.size });
      }
    } catch {
      // A private window keeps none.
    }
    return found;
  }

  /** A document's file; null: there is none. */
  async read(id: string): Promise<Uint8Array<ArrayBuffer> | null> {
    try {
      const handle = await (await this.#place()).getFileHandle(id + ENDING);
      return new Uint8Array(await (await handle.getFile()).arrayBuffer());
    } catch (error) {
      if (isMissing(error)) return null;
      throw explained(error);
    }
  }

  /** `fresh`: it is a new one; else nothing is written if it isn't there any more, since another tab has removed it: false. */
  async write(id: string, bytes: Uint8Array<ArrayBuffer>, fresh: boolean): Promise<boolean> {
    try {
      const folder = await this.#place();
      const handle = await folder.getFileHandle(id + ENDING, { create: fresh });
      try {
        const writable = await handle.createWritable();
        try {
          await writable.write(bytes);
          await writable.close();
        } catch (error) {
          await writable.abort().catch(() => {});
          throw error;
        }
      } catch (error) {
        // Not even its empty place stays.
        if (fresh) await folder.removeEntry(id + ENDING).catch(() => {});
        throw error;
      }
    } catch (error) {
      if (!fresh && isMissing(error)) return false;
      throw explained(error);
    }
    this.#say(id);
    return true;
  }

  async remove(id: string): Promise<void> {
    try {
      await (await this.#place()).removeEntry(id + ENDING);
    } catch (error) {
      if (!isMissing(error)) throw explained(error);
    }
    this.#say(id);
  }

  /** Hears and tells nothing any more. */
  close(): void {
    this.#channel?.close();
  }

  #say(id: string): void {
    try {
      this.#channel?.postMessage(id);
    } catch {
      // The page is ending.
    }
  }
}

function browserChannel(): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel(CHANNEL);
  } catch {
    return undefined;
  }
}

/** The store of this browser; null: it keeps nothing, and documents stay until the page is closed. */
export function openStore(changed?: Changed): Store | null {
  return canWrite ? new Store(changed) : null;
}
