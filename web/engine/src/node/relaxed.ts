// Whether relaxed SIMD computes what it should. Node 20 has only an old form of it, behind a flag, with other results.

/** An expression of WebAssembly that leaves a v128. */
type Expression = readonly number[];

const constant = (bytes: readonly number[]): Expression => [0xfd, 12, ...bytes.map((b) => b & 255)];
const relaxed = (opcode: number, ...operands: Expression[]): Expression => [
  ...operands.flat(),
  0xfd,
  (opcode & 127) | 128,
  opcode >> 7,
];

/** Runs an expression. Returns the 16 bytes. Throws if it is not valid here. */
function run(expression: Expression): Uint8Array {
  // (memory (export "m") 1) (func (export "f") i32.const 0, the expression, v128.store)
  const code = [0, 0x41, 0, ...expression, 0xfd, 11, 4, 0, 0x0b];
  const section = (id: number, ...content: number[]): number[] => [id, content.length, ...content];
  const module = new WebAssembly.Module(
    new Uint8Array([
      ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
      ...section(1, 1, 0x60, 0, 0),
      ...section(3, 1, 0),
      ...section(5, 1, 0, 1),
      ...section(7, 2, 1, 0x6d, 2, 0, 1, 0x66, 0, 0),
      ...section(10, 1, code.length, ...code),
    ]),
  );
  const { m, f } = new WebAssembly.Instance(module).exports as {
    m: WebAssembly.Memory;
    f: () => void;
  };
  f();
  return new Uint8Array(m.buffer, 0, 16);
}

/** Operands for which every machine must compute the same: the second one has 7 bits. */
const A = Array.from({ length: 16 }, (_, i) => ((i * 37 + 11) % 256) - 128);
const B = Array.from({ length: 16 }, (_, i) => (i * 29 + 5) % 128);
const C = [1000, -2000, 30000, -400000];
const INDICES = [15, 0, 14, 1, 13, 2, 12, 3, 11, 4, 10, 5, 9, 6, 8, 7];

function product(from: number, count: number): number {
  let sum = 0;
  for (let i = from; i < from + count; ++i) sum += (A[i] as number) * (B[i] as number);
  return sum;
}

function bytesOf(numbers: Int16Array | Int32Array): number[] {
  return [...new Uint8Array(numbers.buffer)];
}

/** i8x16.relaxed_swizzle, i16x8.relaxed_dot_i8x16_i7x16_s and i32x4.relaxed_dot_i8x16_i7x16_add_s, which the kernels use. */
export function relaxedIsRight(): boolean {
  const [a, b] = [constant(A), constant(B)];
  const tests: [Expression, number[]][] = [
    [relaxed(0x100, a, constant(INDICES)), INDICES.map((i) => A[i] as number)],
    [
      relaxed(0x112, a, b),
      bytesOf(Int16Array.from(C.flatMap((_, i) => [product(4 * i, 2), product(4 * i + 2, 2)]))),
    ],
    [
      relaxed(0x113, a, b, constant(bytesOf(Int32Array.from(C)))),
      bytesOf(Int32Array.from(C.map((c, i) => c + product(4 * i, 4)))),
    ],
  ];
  try {
    return tests.every(([expression, expected]) => {
      const found = run(expression);
      return expected.every((byte, i) => (byte & 255) === found[i]);
    });
  } catch {
    return false;
  }
}
