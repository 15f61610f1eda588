// The cache's folder in Node: the one of the program `sluice`, with the same files.
//
// The file with a model's bytes is KEY.part until it is whole: all blocks are there, and they and its sha256 are checked. Then it is
// KEY.gguf (native/pull/block_file.h). In browsers it is always KEY.gguf. So the handles for KEY.gguf are of the file that there is.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type {
  Estimate,
  FileHandle,
  Folder,
  NoFolder,
  StoredFile,
  SyncHandle,
} from '../platform/platform.js';
import { namedText } from '../shared/errors.js';

/** The standard's names of errors, by the system's codes. */
const NAMES: Record<string, string> = {
  ENOENT: 'NotFoundError',
  ENOTDIR: 'NotFoundError',
  EISDIR: 'TypeMismatchError',
  ENOSPC: 'QuotaExceededError',
  EDQUOT: 'QuotaExceededError',
  EFBIG: 'QuotaExceededError',
  EBUSY: 'NoModificationAllowedError',
};

/** Does `work`, with errors as the File System standard names them. */
function named<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const name = NAMES[code];
    if (code === '') throw error;
    throw new DOMException(namedText(error), name ?? 'InvalidStateError');
  }
}

class NodeHandle implements SyncHandle {
  #descriptor: number;

  constructor(file: string, flags: 'r' | 'r+') {
    this.#descriptor = fs.openSync(file, flags);
  }

  read(to: Uint8Array, { at }: { at: number }): number {
    return named(() => fs.readSync(this.#descriptor, to, 0, to.length, at));
  }

  write(from: Uint8Array, { at }: { at: number }): number {
    return named(() => fs.writeSync(this.#descriptor, from, 0, from.length, at));
  }

  truncate(size: number): void {
    named(() => fs.ftruncateSync(this.#descriptor, size));
  }

  flush(): void {
    named(() => fs.fdatasyncSync(this.#descriptor));
  }

  getSize(): number {
    return named(() => fs.fstatSync(this.#descriptor).size);
  }

  close(): void {
    if (this.#descriptor < 0) return;
    fs.closeSync(this.#descriptor);
    this.#descriptor = -1;
  }
}

function readRange(file: string, from: number, to: number): Uint8Array<ArrayBuffer> {
  const handle = new NodeHandle(file, 'r');
  try {
    const size = handle.getSize();
    const bytes = new Uint8Array(Math.max(0, Math.min(to, size) - from));
    let done = 0;
    while (done < bytes.length) {
      const n = handle.read(bytes.subarray(done), { at: from + done });
      if (n === 0) break;
      done += n;
    }
    return bytes.slice(0, done);
  } finally {
    handle.close();
  }
}

class NodeFile implements FileHandle {
  /** `path`: gives the file's path. It may get another name. */
  constructor(readonly path: () => string) {}

  async getFile(): Promise<StoredFile> {
    const { size, mtimeMs } = named(() => fs.statSync(this.path()));
    return {
      size,
      lastModified: Math.floor(mtimeMs),
      slice: (from, to) => ({
        arrayBuffer: async () => named(() => readRange(this.path(), from, to)).buffer,
      }),
    };
  }

  async createSyncAccessHandle({ mode }: { mode?: string } = {}): Promise<SyncHandle> {
    return named(() => new NodeHandle(this.path(), mode === 'read-only' ? 'r' : 'r+'));
  }
}

/** The key, if it is the name of a file with a model's bytes. */
function dataKey(name: string): string | null {
  return name.endsWith('.gguf') ? name.slice(0, -'.gguf'.length) : null;
}

class NodeFolder implements Folder {
  constructor(readonly path: string) {}

  /** The path of a file. */
  at(name: string): string {
    return path.join(this.path, name);
  }

  /** The same, of the file with a model's bytes under the name that it has now. */
  find(name: string): string {
    const key = dataKey(name);
    const whole = this.at(name);
    return key === null || fs.existsSync(whole) ? whole : this.at(`${key}.part`);
  }

  async getFileHandle(name: string, { create } = { create: false }): Promise<FileHandle> {
    const file = new NodeFile(() => this.find(name));
    named(() => {
      if (create) fs.closeSync(fs.openSync(file.path(), 'a', 0o600));
      if (!fs.statSync(file.path()).isFile())
        throw new DOMException('no file', 'TypeMismatchError');
    });
    return file;
  }

  async removeEntry(name: string): Promise<void> {
    const key = dataKey(name);
    const other = key === null ? null : this.at(`${key}.part`);
    if (other !== null && fs.existsSync(other)) {
      named(() => fs.unlinkSync(other));
      if (!fs.existsSync(this.at(name))) return;
    }
    named(() => fs.unlinkSync(this.at(name)));
  }

  async *entries(): AsyncGenerator<[string, null]> {
    for (const name of named(() => fs.readdirSync(this.path)))
      yield [name.replace(/^([0-9a-f]{32})\.part$/, '$1.gguf'), null];
  }
}

/** The path of the cache's folder: $XDG_CACHE_HOME/sluice, or .cache/sluice in the user's own folder. */
export function cacheFolder(): string {
  const { XDG_CACHE_HOME: given = '' } = process.env;
  // As in the program, a relative path counts as none.
  const base = given.startsWith('/') ? given : path.join(os.homedir(), '.cache');
  return path.join(base, 'sluice');
}

export async function openFolder(): Promise<Folder | NoFolder> {
  const folder = cacheFolder();
  try {
    fs.mkdirSync(path.dirname(folder), { recursive: true });
    try {
      fs.mkdirSync(folder, 0o700);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    fs.accessSync(folder, fs.constants.R_OK | fs.constants.W_OK);
    return new NodeFolder(folder);
  } catch (error) {
    const why = `the folder of the cache, ${folder}, can't be written to (${namedText(error)}); name another one in XDG_CACHE_HOME`;
    return { why, reason: 'refused' };
  }
}

function pathsOf(folder: Folder, key: string): { whole: string; part: string } {
  const { path: at } = folder as NodeFolder;
  return { whole: path.join(at, `${key}.gguf`), part: path.join(at, `${key}.part`) };
}

export function isWhole(folder: Folder, key: string): boolean {
  return fs.existsSync(pathsOf(folder, key).whole);
}

export function setWhole(folder: Folder, key: string, on: boolean): void {
  const { whole, part } = pathsOf(folder, key);
  const [from, to] = on ? [part, whole] : [whole, part];
  if (fs.existsSync(from)) named(() => fs.renameSync(from, to));
}

export async function exportFile(folder: Folder, name: string): Promise<string> {
  return (folder as NodeFolder).find(name);
}

/** The room on the disk; what the cache takes counts as used. */
export async function estimate(): Promise<Estimate | null> {
  try {
    const folder = cacheFolder();
    const { bavail, bsize } = fs.statfsSync(folder);
    let usage = 0;
    for (const name of fs.readdirSync(folder)) {
      // Files that are still being written have holes.
      const { blocks = 0 } = fs.statSync(path.join(folder, name), { throwIfNoEntry: false }) ?? {};
      usage += 512 * blocks;
    }
    return { usage, quota: usage + bavail * bsize };
  } catch {
    return null;
  }
}

export async function persisted(): Promise<boolean> {
  return true;
}

/** Models of the program's may be among them. */
export const evictsModels = false;
