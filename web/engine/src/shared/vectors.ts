// What becomes of a text's vector: its cut, its length, its angle to another. As core/api/vectors.cc has it, in the same order, so
// the bits are the same.

/** The sum of the products of two vectors of one size. */
export function product(a: Float32Array, b: Float32Array): number {
  const sums = [0, 0, 0, 0] as [number, number, number, number];
  const { length } = a;
  for (let i = 0; i < length; ++i)
    sums[(i & 3) as 0 | 1 | 2 | 3] += (a[i] as number) * (b[i] as number);
  return sums[0] + sums[1] + (sums[2] + sums[3]);
}

/**
 * The first `size` numbers in an array of their own, with `normalize` divided by their length. A vector without length stays as it
 * is.
 */
export function finishVector(
  vector: Float32Array<ArrayBuffer>,
  size: number,
  normalize: boolean,
): Float32Array<ArrayBuffer> {
  const kept = vector.slice(0, size);
  const length = normalize ? Math.sqrt(product(kept, kept)) : 0;
  if (length > 0) for (let i = 0; i < size; ++i) kept[i] = (kept[i] as number) / length;
  return kept;
}
