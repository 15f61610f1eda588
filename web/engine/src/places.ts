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

/** Bytes of the file that are wanted together, or a gap between them. */
export interface Stretch {
  from: number;
  to: number;
  /** The address of their place; null for a gap. */
  ptr: number | null;
}

/** Finds the places of any bytes of the file. */
export class Places {
  /** `wants` in the file's order. */
  constructor(readonly wants: Wants) {}

  /** The offset in the file of the first wanted byte. */
  get begin(): number {
    return this.wants[0] ?? 0;
  }

  /** The offset in the file after the last wanted byte. */
  get end(): number {
    const last = this.wants.length - FIELDS;
    return last < 0 ? 0 : (this.wants[last] ?? 0) + (this.wants[last + 2] ?? 0);
  }

  /** The index of the first want that ends after `at`. */
  #firstAfter(at: number): number {
    let low = 0;
    let high = this.wants.length / FIELDS;
    while (low < high) {
      const middle = (low + high) >> 1;
      const [offset = 0, , length = 0] = this.wants.subarray(FIELDS * middle);
      if (offset + length > at) high = middle;
      else low = middle + 1;
    }
    return low * FIELDS;
  }

  /** The bytes from `from` to `to` in order: wanted ones with their places, and the gaps between them. */
  stretches(from: number, to: number): Stretch[] {
    const found: Stretch[] = [];
    let at = from;
    for (let i = this.#firstAfter(from); at < to && i < this.wants.length; i += FIELDS) {
      const [offset = 0, ptr = 0, length = 0] = this.wants.subarray(i);
      if (offset >= to) break;
      if (offset > at) found.push({ from: at, to: offset, ptr: null });
      at = Math.max(at, offset);
      const end = Math.min(offset + length, to);
      found.push({ from: at, to: end, ptr: ptr + (at - offset) });
      at = end;
    }
    if (at < to) found.push({ from: at, to, ptr: null });
    return found;
  }

  /** Writes the bytes at `at` in the file to their places. False if none of them is wanted. */
  write(memory: WebAssembly.Memory, at: number, bytes: Uint8Array): boolean {
    let any = false;
    for (const { from, to, ptr } of this.stretches(at, at + bytes.byteLength)) {
      if (ptr === null) continue;
      new Uint8Array(memory.buffer, ptr, to - from).set(bytes.subarray(from - at, to - at));
      any = true;
    }
    return any;
  }
}
