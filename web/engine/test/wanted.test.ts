import { describe, expect, it } from 'vitest';
import { Wanted } from '../src/wanted.js';

function memoryOf(): {
  memory: WebAssembly.Memory;
  read: (at: number, length: number) => number[];
} {
  const memory = new WebAssembly.Memory({ initial: 1 });
  return { memory, read: (at, length) => [...new Uint8Array(memory.buffer, at, length)] };
}

const bytes = (from: number, to: number): Uint8Array =>
  Uint8Array.from({ length: to - from }, (_, i) => from + i);

describe('wanted bytes', () => {
  it('go to their places, and neighbours are told as one', () => {
    const { memory, read } = memoryOf();
    const wanted = new Wanted();
    wanted.add(Float64Array.of(20, 300, 10, 0, 100, 10, 10, 200, 5));
    expect(wanted.write(memory, 0, bytes(0, 30))).toEqual([
      { from: 0, to: 15 },
      { from: 20, to: 30 },
    ]);
    expect(read(100, 11)).toEqual([...bytes(0, 10), 0]);
    expect(read(200, 6)).toEqual([...bytes(10, 15), 0]);
    expect(read(300, 11)).toEqual([...bytes(20, 30), 0]);
  });

  it('come once: those that have come, and those that nobody wants, are dropped', () => {
    const { memory, read } = memoryOf();
    const wanted = new Wanted();
    wanted.add(Float64Array.of(10, 100, 10));
    expect(wanted.write(memory, 14, bytes(14, 17))).toEqual([{ from: 14, to: 17 }]);
    expect(wanted.write(memory, 0, bytes(0, 12))).toEqual([{ from: 10, to: 12 }]);
    expect(wanted.write(memory, 14, new Uint8Array(3))).toEqual([]);
    expect(wanted.write(memory, 5, bytes(5, 30))).toEqual([
      { from: 12, to: 14 },
      { from: 17, to: 20 },
    ]);
    expect(read(100, 11)).toEqual([...bytes(10, 20), 0]);
    expect(wanted.write(memory, 0, bytes(0, 40))).toEqual([]);
  });

  it('can be wanted again, at another place', () => {
    const { memory, read } = memoryOf();
    const wanted = new Wanted();
    for (const ptr of [100, 200]) {
      wanted.add(Float64Array.of(10, ptr, 10));
      expect(wanted.write(memory, 10, bytes(10, 20))).toEqual([{ from: 10, to: 20 }]);
      expect(read(ptr, 10)).toEqual([...bytes(10, 20)]);
    }
    wanted.add(Float64Array.of(10, 300, 10));
    wanted.clear();
    expect(wanted.write(memory, 10, bytes(10, 20))).toEqual([]);
    expect(read(300, 1)).toEqual([0]);
  });

  it('beyond 4 GiB of the file are found', () => {
    const { memory, read } = memoryOf();
    const wanted = new Wanted();
    const at = 5 * 2 ** 30;
    wanted.add(Float64Array.of(at, 100, 3));
    expect(wanted.write(memory, at - 1, bytes(1, 6))).toEqual([{ from: at, to: at + 3 }]);
    expect(read(100, 4)).toEqual([2, 3, 4, 0]);
  });
});
