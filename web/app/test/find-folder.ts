// A folder of the browser's private file system, in memory, with faults.

class FakeFile {
  readonly kind = 'file';
  constructor(
    readonly name: string,
    readonly folder: FakeFolder,
  ) {}

  async getFile(): Promise<File> {
    return new File([this.folder.files.get(this.name) ?? new Uint8Array()], this.name);
  }

  async createWritable(): Promise<object> {
    let written: Uint8Array<ArrayBuffer> | null = null;
    return {
      write: async (bytes: Uint8Array<ArrayBuffer>) => {
        if (this.folder.used + bytes.length > this.folder.room)
          throw new DOMException('no room', 'QuotaExceededError');
        written = bytes.slice();
      },
      close: async () => {
        if (this.folder.fails !== null) throw this.folder.fails;
        if (written !== null) this.folder.files.set(this.name, written);
      },
      abort: async () => {},
    };
  }
}

export class FakeFolder {
  readonly files = new Map<string, Uint8Array<ArrayBuffer>>();
  /** Bytes that fit. */
  room = Infinity;
  /** What closing a file throws. */
  fails: Error | null = null;

  get used(): number {
    return [...this.files.values()].reduce((sum, { length }) => sum + length, 0);
  }

  async getFileHandle(name: string, { create = false } = {}): Promise<FakeFile> {
    if (!this.files.has(name) && !create) throw new DOMException('none', 'NotFoundError');
    if (!this.files.has(name)) this.files.set(name, new Uint8Array());
    return new FakeFile(name, this);
  }

  async removeEntry(name: string): Promise<void> {
    if (!this.files.delete(name)) throw new DOMException('none', 'NotFoundError');
  }

  async *values(): AsyncGenerator<FakeFile> {
    for (const name of this.files.keys()) yield new FakeFile(name, this);
  }
}
