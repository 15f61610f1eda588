// A document as it is kept, in one file of its own: its text, where its passages are, and their vectors as far as they are made.
//
//   8 bytes     "SLFIND" and the version, 16 bits
//   4 bytes     how many bytes the description has
//   4 bytes     how many bytes the text has
//   ...         the description, JSON: see Head
//   ...         the text, UTF-8, then zeros up to a multiple of 4 bytes
//   12 a piece  passages: first character, the one after the last, line; 32 bits each
//   ...         vectors, float32: `dimensions` for each of the first `done` passages
//   32 bytes    SHA-256 of all before
// Numbers are little-endian. Whatever is read may be damaged.

/** Which model made vectors: those of another one can't be compared with them. */
export interface Mark {
  name: string;
  /** Of the model's file. */
  bytes: number;
  dimensions: number;
}

export interface Document {
  name: string;
  /** When it was added, in milliseconds since 1970. */
  added: number;
  text: string;
  /** Three numbers for each passage: start, end, line (passages.ts). */
  places: Uint32Array<ArrayBuffer>;
  /** The model of the vectors; null: none has made any yet. */
  by: Mark | null;
  /** Room for the vectors of all passages: [passages][dimensions]. Empty without a model. */
  vectors: Float32Array<ArrayBuffer>;
  /** Passages that have their vectors. */
  done: number;
}

interface Head {
  name: string;
  added: number;
  passages: number;
  by: Mark | null;
  done: number;
}

export const VERSION = 1;
const MAGIC = 'SLFIND';
const START = 16;
const HASH = 32;
/** Bytes of a description, of a text as it is kept, and passages of one document. */
const MOST_HEAD = 10_000;
const MOST_TEXT = 40_000_000;
const MOST_PASSAGES = 1_000_000;
const MOST_DIMENSIONS = 65_536;

export function passagesOf({ places }: Pick<Document, 'places'>): number {
  return places.length / 3;
}

export function sameMark(a: Mark | null, b: Mark | null): boolean {
  if (a === null || b === null) return a === b;
  return a.name === b.name && a.bytes === b.bytes && a.dimensions === b.dimensions;
}

function padded(bytes: number): number {
  return Math.ceil(bytes / 4) * 4;
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
}

/** The file of a document. */
export async function encode(document: Document): Promise<Uint8Array<ArrayBuffer>> {
  const { name, added, text, places, by, vectors, done } = document;
  const head: Head = { name, added, passages: passagesOf(document), by, done };
  const headBytes = new TextEncoder().encode(JSON.stringify(head));
  const textBytes = new TextEncoder().encode(text);
  const made = vectors.subarray(0, done * (by?.dimensions ?? 0));
  const atPlaces = padded(START + headBytes.length + textBytes.length);
  const end = atPlaces + places.byteLength + made.byteLength;
  const file = new Uint8Array(end + HASH);
  file.set(new TextEncoder().encode(MAGIC));
  const view = new DataView(file.buffer);
  view.setUint16(6, VERSION, true);
  view.setUint32(8, headBytes.length, true);
  view.setUint32(12, textBytes.length, true);
  file.set(headBytes, START);
  file.set(textBytes, START + headBytes.length);
  file.set(new Uint8Array(places.buffer, places.byteOffset, places.byteLength), atPlaces);
  file.set(
    new Uint8Array(made.buffer, made.byteOffset, made.byteLength),
    atPlaces + places.byteLength,
  );
  file.set(await sha256(file.subarray(0, end)), end);
  return file;
}

function isCount(value: unknown, most: number): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= most;
}

function readMark(value: unknown): Mark | null | undefined {
  if (value === null) return null;
  const { name, bytes, dimensions } = (value ?? {}) as Record<string, unknown>;
  if (typeof name !== 'string' || !isCount(bytes, Number.MAX_SAFE_INTEGER)) return undefined;
  return isCount(dimensions, MOST_DIMENSIONS) ? { name, bytes, dimensions } : undefined;
}

function readHead(text: string): Head | null {
  let value: Record<string, unknown> | null;
  try {
    value = JSON.parse(text) as Record<string, unknown> | null;
  } catch {
    return null;
  }
  const { name, added, passages, done } = value ?? {};
  const by = readMark(value?.['by']);
  if (typeof name !== 'string' || typeof added !== 'number' || by === undefined) return null;
  if (!isCount(passages, MOST_PASSAGES) || !isCount(done, passages)) return null;
  return { name, added, passages, by, done: by === null ? 0 : done };
}

/** Whether all passages lie within the text. */
function areWithin(places: Uint32Array, length: number): boolean {
  for (let i = 0; i < places.length; i += 3) {
    const [start = 0, end = 0] = [places[i], places[i + 1]];
    if (start >= end || end > length) return false;
  }
  return true;
}

/** Reads a file back. 'newer': a later version of the page has written it; 'damaged': it is not what was written. */
export async function decode(
  file: Uint8Array<ArrayBuffer>,
): Promise<Document | 'damaged' | 'newer'> {
  if (file.length < START + HASH) return 'damaged';
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (new TextDecoder('latin1').decode(file.subarray(0, 6)) !== MAGIC) return 'damaged';
  if (view.getUint16(6, true) > VERSION) return 'newer';
  const end = file.length - HASH;
  const hash = await sha256(file.subarray(0, end));
  if (hash.some((byte, i) => byte !== file[end + i])) return 'damaged';
  const [headBytes, textBytes] = [view.getUint32(8, true), view.getUint32(12, true)];
  if (headBytes > MOST_HEAD || textBytes > MOST_TEXT) return 'damaged';
  const atText = START + headBytes;
  const atPlaces = padded(atText + textBytes);
  if (atPlaces > end) return 'damaged';
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  const head = readHead(utf8.decode(file.subarray(START, atText)));
  if (head === null) return 'damaged';
  const { name, added, passages, by, done } = head;
  const width = by?.dimensions ?? 0;
  if (end !== atPlaces + 12 * passages + 4 * done * width) return 'damaged';
  const text = utf8.decode(file.subarray(atText, atText + textBytes));
  const places = new Uint32Array(file.slice(atPlaces, atPlaces + 12 * passages).buffer);
  if (!areWithin(places, text.length)) return 'damaged';
  const vectors = new Float32Array(passages * width);
  vectors.set(new Float32Array(file.slice(atPlaces + 12 * passages, end).buffer));
  return { name, added, text, places, by, vectors, done };
}
