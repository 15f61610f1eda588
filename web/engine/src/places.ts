// The places in memory where the core wants bytes of the file.

/** Three numbers for each want: the offset in the file, the address of its place, the length (EngineHandle.wants). */
export type Wants = Float64Array;

/** Numbers for each want. */
const FIELDS = 3;

/** Wants in the file's order, which is the order in which a stream brings the bytes. */
export function inFileOrder(wants: Wants): Wants {
  const each = Array.from({ length: wants.length / FIELDS }, (_, i) =>
    wants.subarray(FIELDS * i, FIELDS * i + FIELDS),
  );
  each.sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0));
  return Float64Array.from(each.flatMap((want) => [...want]));
}

/** Writes a stream's bytes to their places; skips bytes that are not wanted. */
export class Places {
  /** The next want that may have room. */
  #next = 0;

  constructor(
    readonly memory: WebAssembly.Memory,
    readonly wants: Wants,
  ) {}

  /** The offset in the file after the last wanted byte. */
  get end(): number {
    const last = this.wants.length - FIELDS;
    return last < 0 ? 0 : (this.wants[last] ?? 0) + (this.wants[last + 2] ?? 0);
  }

  /** Writes the bytes at `at` in the file; `at` never decreases. Returns how many are done with: all up to `end`. */
  write(at: number, bytes: Uint8Array): number {
    const end = Math.min(at + bytes.byteLength, this.end);
    for (; this.#next < this.wants.length; this.#next += FIELDS) {
      const [offset = 0, ptr = 0, length = 0] = this.wants.subarray(this.#next);
      const from = Math.max(offset, at);
      const to = Math.min(offset + length, end);
      if (from < to) {
        new Uint8Array(this.memory.buffer, ptr + (from - offset), to - from).set(
          bytes.subarray(from - at, to - at),
        );
      }
      if (offset + length > end) break;
    }
    return Math.max(end - at, 0);
  }
}
