// The engine worker's list of bytes that are wanted and have not come. It is used where the loader can't write into the
// engine's memory and sends the bytes.
import type { Wants } from './places.js';

/** Numbers for each want. */
const FIELDS = 3;

/** Bytes of the model, and the address of their place. */
interface Want {
  from: number;
  to: number;
  ptr: number;
}

/** Bytes of the model. */
export interface Range {
  from: number;
  to: number;
}

export class Wanted {
  /** In the file's order; none overlaps another. */
  #wants: Want[] = [];

  /** Adds wants, which are none of those that are there. */
  add(wants: Wants): void {
    for (let i = 0; i < wants.length; i += FIELDS) {
      const [from = 0, ptr = 0, length = 0] = wants.subarray(i, i + FIELDS);
      this.#wants.push({ from, to: from + length, ptr });
    }
    this.#wants.sort((a, b) => a.from - b.from);
  }

  clear(): void {
    this.#wants = [];
  }

  /** The index of the first want that ends after `at`. */
  #firstAfter(at: number): number {
    let low = 0;
    let high = this.#wants.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#wants[middle] as Want).to > at) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /**
   * Writes those of the bytes at `at` of the model that are wanted to their places, and takes them off the list. Returns
   * which they were.
   */
  write(memory: WebAssembly.Memory, at: number, bytes: Uint8Array): Range[] {
    const end = at + bytes.byteLength;
    const written: Range[] = [];
    const rests: Want[] = [];
    const first = this.#firstAfter(at);
    let next = first;
    for (; next < this.#wants.length; ++next) {
      const want = this.#wants[next] as Want;
      if (want.from >= end) break;
      const from = Math.max(at, want.from);
      const to = Math.min(end, want.to);
      const place = new Uint8Array(memory.buffer, want.ptr + (from - want.from), to - from);
      place.set(bytes.subarray(from - at, to - at));
      const last = written.at(-1);
      if (last?.to === from) last.to = to;
      else written.push({ from, to });
      if (want.from < from) rests.push({ ...want, to: from });
      if (to < want.to) rests.push({ from: to, to: want.to, ptr: want.ptr + (to - want.from) });
    }
    this.#wants.splice(first, next - first, ...rests);
    return written;
  }
}
