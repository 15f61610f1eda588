import { describe, expect, it } from 'vitest';
import { Outstanding, joined, write, type Range } from '../src/shared/outstanding.js';

function memoryOf(): {
  memory: WebAssembly.Memory;
  read: (at: number, length: number) => number[];
} {
  const memory = new WebAssembly.Memory({ initial: 1 });
  return { memory, read: (at, length) => [...new Uint8Array(memory.buffer, at, length)] };
}

/** What the engine worker does with bytes that come. */
function put(
  wanted: Outstanding,
  memory: WebAssembly.Memory,
  at: number,
  given: Uint8Array,
): Range[] {
  const taken = wanted.take(at, at + given.length);
  write(memory, taken, at, given);
  return joined(taken);
}

const bytes = (from: number, to: number): Uint8Array =>
  Uint8Array.from({ length: to - from }, (_, i) => from + i);

describe('wanted bytes', () => {
  it('go to their places, and neighbours are told as one', () => {
    const { memory, read } = memoryOf();
    const wanted = new Outstanding();
    wanted.add(Float64Array.of(20, 300, 10, 0, 100, 10, 10, 200, 5));
    expect(put(wanted, memory, 0, bytes(0, 30))).toEqual([
      { from: 0, to: 15 },
      { from: 20, to: 30 },
    ]);
    expect(read(100, 11)).toEqual([...bytes(0, 10), 0]);
    expect(read(200, 6)).toEqual([...bytes(10, 15), 0]);
    expect(read(300, 11)).toEqual([...bytes(20, 30), 0]);
  });

  it('come once: those that have come, and those that nobody wants, are dropped', () => {
    const { memory, read } = memoryOf();
    const wanted = new Outstanding();
    wanted.add(Float64Array.of(10, 100, 10));
    expect(put(wanted, memory, 14, bytes(14, 17))).toEqual([{ from: 14, to: 17 }]);
    expect(put(wanted, memory, 0, bytes(0, 12))).toEqual([{ from: 10, to: 12 }]);
    expect(put(wanted, memory, 14, new Uint8Array(3))).toEqual([]);
    expect(put(wanted, memory, 5, bytes(5, 30))).toEqual([
      { from: 12, to: 14 },
      { from: 17, to: 20 },
    ]);
    expect(read(100, 11)).toEqual([...bytes(10, 20), 0]);
    expect(put(wanted, memory, 0, bytes(0, 40))).toEqual([]);
  });

  it('can be wanted again, at another place', () => {
    const { memory, read } = memoryOf();
    const wanted = new Outstanding();
    for (const ptr of [100, 200]) {
      wanted.add(Float64Array.of(10, ptr, 10));
      expect(put(wanted, memory, 10, bytes(10, 20))).toEqual([{ from: 10, to: 20 }]);
      expect(read(ptr, 10)).toEqual([...bytes(10, 20)]);
    }
    wanted.add(Float64Array.of(10, 300, 10));
    wanted.clear();
    expect(put(wanted, memory, 10, bytes(10, 20))).toEqual([]);
    expect(read(300, 1)).toEqual([0]);
  });

  it('beyond 4 GiB of the file are found', () => {
    const { memory, read } = memoryOf();
    const wanted = new Outstanding();
    const at = 5 * 2 ** 30;
    wanted.add(Float64Array.of(at, 100, 3));
    expect(put(wanted, memory, at - 1, bytes(1, 6))).toEqual([{ from: at, to: at + 3 }]);
    expect(read(100, 4)).toEqual([2, 3, 4, 0]);
  });

  it('stand in the order in which they are wanted, whatever has come of them', () => {
    const wanted = new Outstanding();
    wanted.add(Float64Array.of(200, 1, 10, 0, 2, 10, 100, 3, 10));
    wanted.add(Float64Array.of(50, 4, 5, 20, 5, 0));
    const begins = (): number[] => wanted.ordered.map(({ from }) => from);
    expect(begins()).toEqual([200, 0, 100, 50]);
    const part = wanted.take(203, 205);
    expect(begins()).toEqual([200, 205, 0, 100, 50]);
    const rest = wanted.take(0, 150);
    expect(rest.map(({ from }) => from)).toEqual([0, 50, 100]);
    expect(begins()).toEqual([200, 205]);
    wanted.putBack([...rest, ...part]);
    expect(begins()).toEqual([200, 203, 205, 0, 100, 50]);
    expect(wanted.ordered.map(({ ptr }) => ptr)).toEqual([1, 4, 6, 2, 3, 4]);
    expect([wanted.any(10, 50), wanted.any(9, 10), wanted.any(210, 300)]).toEqual([
      false,
      true,
      false,
    ]);
    expect([wanted.endOfRun(201), wanted.endOfRun(55), wanted.endOfRun(10)]).toEqual([210, 55, 10]);
  });
});
