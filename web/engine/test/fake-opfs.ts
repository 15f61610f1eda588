// A private file system and Web Locks in memory, for the tests of the cache.
import { vi } from 'vitest';

/** One file, and the handles that are open on it. */
class Disk {
  bytes = new Uint8Array(0);
  exclusive = 0;
  readers = 0;
  changed = 0;
}

/** What happens to a process that is killed: nothing that it does has an effect any more. */
class Killed extends Error {}

function fault(name: string): DOMException {
  return new DOMException(`fake ${name}`, name);
}

class FakeHandle {
  #open = true;

  constructor(
    readonly opfs: FakeOpfs,
    readonly disk: Disk,
    readonly only_read: boolean,
    readonly session: number,
  ) {
    if (only_read) disk.readers += 1;
    else disk.exclusive += 1;
    opfs.handles.add(this);
  }

  #check(): void {
    if (this.session !== this.opfs.session) throw new Killed();
    if (!this.#open) throw fault('InvalidStateError');
  }

  read(to: Uint8Array, { at }: { at: number }): number {
    this.#check();
    const length = this.opfs.readFault(this.disk, to.length);
    const bytes = this.disk.bytes.subarray(at, at + length);
    to.set(bytes);
    this.opfs.read_bytes += bytes.length;
    return bytes.length;
  }

  write(from: Uint8Array, { at }: { at: number }): number {
    this.#check();
    if (this.only_read) throw fault('NoModificationAllowedError');
    const end = at + from.length;
    if (this.opfs.failWrites) throw fault('QuotaExceededError');
    this.opfs.grow(Math.max(0, end - this.disk.bytes.length));
    const length = this.opfs.step(from.length);
    this.#put(from.subarray(0, length), at);
    this.opfs.written_bytes += length;
    if (length < from.length) throw new Killed();
    return length;
  }

  #put(from: Uint8Array, at: number): void {
    const end = at + from.length;
    if (end > this.disk.bytes.length) this.#resize(end);
    this.disk.bytes.set(from, at);
    this.opfs.touch(this.disk);
  }

  /** With space behind the end, for files that grow little by little. */
  #resize(size: number): void {
    const { bytes } = this.disk;
    if (size <= bytes.buffer.byteLength) {
      this.disk.bytes = new Uint8Array(bytes.buffer, 0, size);
      this.disk.bytes.fill(0, bytes.length);
      return;
    }
    const larger = new Uint8Array(new ArrayBuffer(Math.max(size, 2 * bytes.length)), 0, size);
    larger.set(bytes);
    this.disk.bytes = larger;
  }

  truncate(size: number): void {
    this.#check();
    if (this.only_read) throw fault('NoModificationAllowedError');
    this.opfs.grow(Math.max(0, size - this.disk.bytes.length));
    if (this.opfs.step(1) === 0) throw new Killed();
    this.#resize(size);
    this.opfs.touch(this.disk);
  }

  flush(): void {
    this.#check();
  }

  getSize(): number {
    this.#check();
    return this.disk.bytes.length;
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.opfs.handles.delete(this);
    if (this.only_read) this.disk.readers -= 1;
    else this.disk.exclusive -= 1;
  }
}

class FakeFile {
  readonly #changed: number;
  readonly size: number;
  readonly lastModified: number;

  constructor(
    readonly opfs: FakeOpfs,
    readonly disk: Disk,
  ) {
    this.#changed = disk.changed;
    this.lastModified = disk.changed;
    this.size = disk.bytes.length;
  }

  slice(from: number, to: number): { arrayBuffer(): Promise<ArrayBuffer> } {
    return {
      arrayBuffer: async () => {
        await Promise.resolve();
        this.opfs.file_reads += 1;
        if (this.opfs.unreadable > 0) {
          this.opfs.unreadable -= 1;
          throw fault('NotReadableError');
        }
        if (this.disk.changed !== this.#changed) throw fault('NotReadableError');
        return this.disk.bytes.slice(from, to).buffer;
      },
    };
  }
}

type Request = {
  name: string;
  mode: 'exclusive' | 'shared';
  grant: (lock: object | null) => void;
};

/** Web Locks. */
interface LockWishes {
  mode?: 'exclusive' | 'shared';
  ifAvailable?: boolean;
  signal?: AbortSignal;
}

type LockWork = (lock: object | null) => unknown;

export class FakeLocks {
  held: Request[] = [];
  #queue: Request[] = [];

  #free({ name, mode }: Request, before: Request[]): boolean {
    return ![...this.held, ...before].some(
      (other) => other.name === name && (mode === 'exclusive' || other.mode === 'exclusive'),
    );
  }

  #serve(): void {
    for (const request of [...this.#queue]) {
      if (!this.#free(request, this.#queue.slice(0, this.#queue.indexOf(request)))) continue;
      this.#queue = this.#queue.filter((other) => other !== request);
      this.held.push(request);
      request.grant({});
    }
  }

  /** The options may be left out. */
  async request(name: string, ...given: [LockWork] | [LockWishes, LockWork]): Promise<unknown> {
    const [options, work] = given.length === 1 ? [{}, given[0]] : given;
    await Promise.resolve();
    options.signal?.throwIfAborted();
    let request!: Request;
    const lock = await new Promise<object | null>((grant, reject) => {
      request = { name, mode: options.mode ?? 'exclusive', grant };
      if (options.ifAvailable && !this.#free(request, this.#queue)) return grant(null);
      this.#queue.push(request);
      options.signal?.addEventListener('abort', () => {
        if (!this.#queue.includes(request)) return;
        this.#queue = this.#queue.filter((other) => other !== request);
        reject(options.signal?.reason);
      });
      this.#serve();
    });
    try {
      return await work(lock);
    } finally {
      this.held = this.held.filter((other) => other !== request);
      this.#serve();
    }
  }

  async query(): Promise<{ held: { name: string }[] }> {
    return { held: this.held.map(({ name }) => ({ name })) };
  }

  /** As if all that hold locks were killed. */
  killHolders(): void {
    this.held = [];
    this.#serve();
  }

  /** As if all that hold or want locks were killed. */
  forget(): void {
    this.held = [];
    this.#queue = [];
  }
}

/** The browser's side of the cache. */
export class FakeOpfs {
  readonly files = new Map<string, Disk>();
  readonly handles = new Set<FakeHandle>();
  readonly locks = new FakeLocks();
  quota = 1e12;
  /** Bytes that the disk has left, whatever the quota. */
  diskLeft = Infinity;
  /** There are none, as in older browsers. */
  noHandles = false;
  /** Whether handles for reading are exclusive, as in Firefox and WebKit. */
  exclusive_reads = false;
  /** The next readings of files that fail as those of a file that has changed. */
  unreadable = 0;
  file_reads = 0;
  /** All writing fails, as on a full disk. */
  failWrites = false;
  /** Bytes that were read through handles. */
  read_bytes = 0;
  /** Bytes that were written through handles. */
  written_bytes = 0;
  session = 0;
  /** How many bytes a reading brings; it may throw. */
  readFault: (disk: Disk, length: number) => number = (_, length) => length;
  /** Bytes, and changes of other kinds, until the process is killed. */
  #life = Infinity;
  #clock = 0;

  touch(disk: Disk): void {
    disk.changed = ++this.#clock;
  }

  /** Counts down to the kill. Returns how much of what is asked is done. */
  step(wanted: number): number {
    const done = Math.min(wanted, this.#life);
    this.#life -= done;
    return done;
  }

  killAfter(steps: number): void {
    this.#life = steps;
  }

  /** The process is gone, with its handles and locks; a new one starts. */
  restart(): void {
    for (const handle of this.handles) handle.close();
    this.session += 1;
    this.locks.forget();
    this.#life = Infinity;
  }

  get usage(): number {
    return [...this.files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  grow(bytes: number): void {
    if (this.usage + bytes > this.quota || bytes > this.diskLeft) throw fault('QuotaExceededError');
    this.diskLeft -= bytes;
  }

  #fileHandle(name: string, disk: Disk): object {
    return {
      kind: 'file',
      name,
      getFile: async () => {
        if (this.files.get(name) !== disk) throw fault('NotFoundError');
        return new FakeFile(this, disk);
      },
      createSyncAccessHandle: async ({ mode = 'readwrite' } = {}) => {
        if (this.noHandles) throw new TypeError('fake: not a function');
        const only_read = mode === 'read-only' && !this.exclusive_reads;
        if (disk.exclusive > 0 || (disk.readers > 0 && !only_read))
          throw fault('NoModificationAllowedError');
        return new FakeHandle(this, disk, only_read, this.session);
      },
    };
  }

  folder(): object {
    return {
      getFileHandle: async (name: string, { create = false } = {}) => {
        let disk = this.files.get(name);
        if (disk === undefined) {
          if (!create) throw fault('NotFoundError');
          if (this.step(1) === 0) throw new Killed();
          disk = new Disk();
          this.files.set(name, disk);
        }
        return this.#fileHandle(name, disk);
      },
      removeEntry: async (name: string) => {
        const disk = this.files.get(name);
        if (disk === undefined) throw fault('NotFoundError');
        if (disk.exclusive + disk.readers > 0) throw fault('NoModificationAllowedError');
        if (this.step(1) === 0) throw new Killed();
        this.files.delete(name);
        this.diskLeft += disk.bytes.length;
      },
      entries: () => this.#entries(),
    };
  }

  async *#entries(): AsyncGenerator<[string, object]> {
    for (const [name, disk] of [...this.files]) yield [name, this.#fileHandle(name, disk)];
  }

  /** Makes it what `navigator` offers. vi.unstubAllGlobals() undoes it. */
  install(): this {
    vi.stubGlobal('navigator', {
      locks: this.locks,
      storage: {
        getDirectory: async () => ({ getDirectoryHandle: async () => this.folder() }),
        estimate: async () => ({ usage: this.usage, quota: this.quota }),
        persisted: async () => false,
      },
    });
    return this;
  }

  /** Makes a file with these bytes. */
  put(name: string, bytes: Uint8Array): void {
    const disk = new Disk();
    disk.bytes = Uint8Array.from(bytes);
    this.files.set(name, disk);
  }

  /** The bytes of the only file whose name ends so. */
  only(ending: string): Disk {
    const found = [...this.files].filter(([name]) => name.endsWith(ending));
    if (found.length !== 1) throw new Error(`${found.length} files end with ${ending}`);
    return (found[0] as [string, Disk])[1];
  }
}
