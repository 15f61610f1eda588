// The files of a split model, by their names: model-00001-of-00003.gguf.

/** The most files of a split model. */
export const MAX_PARTS = 999;

const NUMBERS = /-(\d{5})-of-(\d{5})(?=\.gguf$)/i;

/** One file of a split model. */
export interface Shard {
  /** The name without the numbers, which is that of the whole model: model.gguf. */
  model: string;
  /** Which of them it is, from 1 on. */
  part: number;
  parts: number;
}

/** What a file's name or path says of its place in a split model; null if it is no shard's. */
export function shardOf(name: string): Shard | null {
  const match = NUMBERS.exec(name);
  const part = Number(match?.[1]);
  const parts = Number(match?.[2]);
  if (match === null || part < 1 || part > parts || parts > MAX_PARTS) return null;
  return { model: name.replace(NUMBERS, ''), part, parts };
}

/** The names of all shards of a split model in order, from the name of one; null if `name` is no shard's. */
export function shardsOf(name: string): string[] | null {
  const shard = shardOf(name);
  if (shard === null) return null;
  const digits = (n: number): string => String(n).padStart(5, '0');
  return Array.from({ length: shard.parts }, (_, i) =>
    name.replace(NUMBERS, `-${digits(i + 1)}-of-${digits(shard.parts)}`),
  );
}
