// What a file is, by its bytes: the text in it, or a word for what else it is.

export type Kind =
  'pdf' | 'picture' | 'office' | 'archive' | 'sound' | 'film' | 'model' | 'weights' | 'other';

/** How files begin, as Latin-1; `^.{4}` skips four bytes. */
const SIGNS: readonly [RegExp, Kind][] = [
  [/^%PDF-/, 'pdf'],
  [/^(\x89PNG|\xff\xd8\xff|GIF8|BM.{4}\0\0|II\*\0|MM\0\*|RIFF.{4}WEBP|\0\0\x01\0)/s, 'picture'],
  [/^.{4}ftyp(heic|heix|heif|mif1|avif|avis)/s, 'picture'],
  [/^(\xd0\xcf\x11\xe0|\{\\rtf)/, 'office'],
  [/^PK\x03\x04.{26}(\[Content_Types\]|_rels\/|docProps\/|word\/|xl\/|ppt\/|mimetype)/s, 'office'],
  [
    /^(PK[\x03\x05]|\x1f\x8b|7z\xbc\xaf|Rar!|BZh\d|\xfd7zXZ|\x28\xb5\x2f\xfd|.{257}ustar)/s,
    'archive',
  ],
  [/^(ID3|\xff[\xf2\xf3\xfa\xfb]|OggS|fLaC|MThd|RIFF.{4}WAVE|.{4}ftypM4A)/s, 'sound'],
  [/^GGUF/, 'model'],
  // Safetensors: the length of its header, and the header
  [/^.{5}\0{3}\{"/s, 'weights'],
  [/^(.{4}ftyp|\x1a\x45\xdf\xa3|RIFF.{4}AVI )/s, 'film'],
];

/** Bytes that are looked at. */
export const HEAD_BYTES = 512;

/** What a file is that begins like this; null: none of those that are known. */
export function kindOf(head: Uint8Array): Kind | null {
  const text = Array.from(head.subarray(0, HEAD_BYTES), (byte) => String.fromCharCode(byte)).join(
    '',
  );
  return SIGNS.find(([sign]) => sign.test(text))?.[1] ?? null;
}

function decoded(bytes: Uint8Array, encoding: string, fatal = true): string | null {
  try {
    return new TextDecoder(encoding, { fatal }).decode(bytes);
  } catch {
    return null;
  }
}

/** Characters that stand in no text. */
const NO_TEXT = /[\0-\x06\x0e-\x1a\x1c-\x1f]/;
/** Of a text in Windows-1252 at most this share of bytes are none of ASCII. */
const MOST_HIGH = 0.3;

/** The text, where it is plainly one in Windows-1252 or damaged UTF-8. */
function older(bytes: Uint8Array): string | null {
  let high = 0;
  for (const byte of bytes) if (byte > 0x7f) ++high;
  if (high > bytes.length * MOST_HIGH) return null;
  const text = decoded(bytes, 'windows-1252');
  if (text === null || NO_TEXT.test(text)) return null;
  const loose = decoded(bytes, 'utf-8', false) ?? '';
  const lost = loose.split('\ufffd').length - 1;
  // Of most that is not ASCII, UTF-8 makes characters.
  if (lost < high / 4) return loose;
  // Bytes that have no character stay such codes.
  return /[\x80-\x9f]/.test(text) ? null : text;
}

/** The text of a file; null if it is none. */
export function textIn(bytes: Uint8Array): string | null {
  const [a, b] = bytes;
  const wide = a === 0xff && b === 0xfe ? 'utf-16le' : a === 0xfe && b === 0xff ? 'utf-16be' : null;
  const text = decoded(bytes, wide ?? 'utf-8');
  const found = text === null && wide === null ? older(bytes) : text;
  return found === null || NO_TEXT.test(found) ? null : found.replace(/\r\n?/g, '\n');
}
