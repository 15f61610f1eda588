// The ranges of a model that are wanted and have not arrived, and their destinations in memory.

/** Three numbers for each want: the offset in the model, the address in memory, the length (EngineHandle.wants). */
export type Wants = Float64Array;

/** Numbers for each want. */
const FIELDS = 3;

/** A range of bytes; `to` is the offset after its last byte. */
export interface Range {
  from: number;
  to: number;
}

/** A wanted range, and the address in memory that it is written to. */
export interface Place extends Range {
  readonly ptr: number;
  /** The smaller, the sooner it is needed. */
  readonly order: number;
}

/** The index of the first element for which `is` holds, by binary search: it must hold for all later ones. */
function firstWhere<T>(list: readonly T[], is: (element: T) => boolean): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (is(list[middle] as T)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Joins ranges that touch. They are in ascending order. */
export function joined(ranges: readonly Range[]): Range[] {
  const all: Range[] = [];
  for (const { from, to } of ranges) {
    const last = all.at(-1);
    if (last?.to === from) last.to = to;
    else all.push({ from, to });
  }
  return all;
}

export class Outstanding {
  /** In the file's order; none overlaps another. */
  readonly #places: Place[] = [];
  /** The same in the order of execution. */
  readonly #ordered: Place[] = [];
  #next = 0;

  /** Adds wants, in the order of execution, after the earlier ones. */
  add(wants: Wants): void {
    for (let i = 0; i + FIELDS <= wants.length; i += FIELDS) {
      const [from = 0, ptr = 0, length = 0] = wants.subarray(i, i + FIELDS);
      if (length > 0) this.#insert({ from, to: from + length, ptr, order: this.#next++ });
    }
  }

  #insert(place: Place): void {
    this.#places.splice(
      firstWhere(this.#places, ({ from }) => from > place.from),
      0,
      place,
    );
    this.#ordered.splice(this.#rank(place), 0, place);
  }

  #rank({ order, from }: Place): number {
    return firstWhere(
      this.#ordered,
      (other) => other.order > order || (other.order === order && other.from >= from),
    );
  }

  get empty(): boolean {
    return this.#places.length === 0;
  }

  clear(): void {
    this.#places.length = this.#ordered.length = 0;
  }

  /** In the order of execution. It changes with the next call of add, take or putBack. */
  get ordered(): readonly Place[] {
    return this.#ordered;
  }

  /** The wanted ranges that overlap the bytes from `from` to `to`, in the file's order. */
  within(from: number, to: number): Place[] {
    const first = firstWhere(this.#places, (place) => place.to > from);
    const end = firstWhere(this.#places, (place) => place.from >= to);
    return this.#places.slice(first, end);
  }

  /** Whether any of these bytes is wanted. */
  any(from: number, to: number): boolean {
    const place = this.#places[firstWhere(this.#places, (one) => one.to > from)];
    return place !== undefined && place.from < to;
  }

  /** The end of the wanted bytes that follow `at` without a gap; `at` if it isn't wanted. */
  endOfRun(at: number): number {
    let end = at;
    for (let i = firstWhere(this.#places, (place) => place.to > at); ; ++i) {
      const place = this.#places[i];
      if (place === undefined || place.from > end) return end;
      end = place.to;
    }
  }

  /** Removes the wanted ones of these bytes, and returns them in the file's order. */
  take(from: number, to: number): Place[] {
    const taken: Place[] = [];
    for (const place of this.within(from, to)) {
      this.#places.splice(
        firstWhere(this.#places, (one) => one.from >= place.from),
        1,
      );
      this.#ordered.splice(this.#rank(place), 1);
      const part = cut(place, Math.max(from, place.from), Math.min(to, place.to));
      if (place.from < part.from) this.#insert(cut(place, place.from, part.from));
      if (part.to < place.to) this.#insert(cut(place, part.to, place.to));
      taken.push(part);
    }
    return taken;
  }

  /** Undoes take(). */
  putBack(places: readonly Place[]): void {
    for (const place of places) this.#insert(place);
  }
}

function cut({ from: begin, ptr, order }: Place, from: number, to: number): Place {
  return { from, to, ptr: ptr + (from - begin), order };
}

/** Copies the places' bytes into memory. `bytes`: those of the model at `offset`, which include all places. */
export function write(
  memory: WebAssembly.Memory,
  places: readonly Place[],
  offset: number,
  bytes: Uint8Array,
): void {
  for (const { from, to, ptr } of places) {
    const part = bytes.subarray(from - offset, to - offset);
    new Uint8Array(memory.buffer, ptr, to - from).set(part);
  }
}
