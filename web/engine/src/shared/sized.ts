/** Bytes for people: 1.23 GB, 45.6 MB, 700 bytes. */
export function sized(bytes: number): string {
  const [unit, name] = bytes >= 1e9 ? [1e9, 'GB'] : bytes >= 1e6 ? [1e6, 'MB'] : [1, 'bytes'];
  return `${Number((bytes / unit).toFixed(name === 'bytes' ? 0 : 2))} ${name}`;
}
