// @ts-check
// What is served: the bytes of a file, of a buffer, or of a function for files that are too large to write.
import { createHash } from 'node:crypto';
import fs from 'node:fs';

/**
 * @typedef {object} Content
 * @property {number} size bytes
 * @property {string} etag strong, with its quotes
 * @property {string} modified for Last-Modified
 * @property {string} sha256 '' if it is not known
 * @property {(at: number, length: number) => Buffer} read a copy
 */

/**
 * Bytes that are computed when they are asked for. Without a sha256 it is not known.
 * @typedef {object} Made
 * @property {number} size
 * @property {(at: number, length: number) => Buffer} read
 * @property {string} [sha256]
 */

const CHUNK = 1 << 20;

/** @param {string} file @returns {Made} */
function from_disk(file) {
  const read = (/** @type {number} */ at, /** @type {number} */ length) => {
    const bytes = Buffer.alloc(length);
    const handle = fs.openSync(file, 'r');
    try {
      const got = fs.readSync(handle, bytes, 0, length, at);
      if (got !== length) throw new Error(`${file} became shorter while it was served`);
    } finally {
      fs.closeSync(handle);
    }
    return bytes;
  };
  return { size: fs.statSync(file).size, read };
}

/** @param {Buffer} bytes @returns {Made} */
function from_memory(bytes) {
  return { size: bytes.length, read: (at, length) => Buffer.from(bytes.subarray(at, at + length)) };
}

/** @param {Made} made */
function hash(made) {
  const sum = createHash('sha256');
  for (let at = 0; at < made.size; at += CHUNK) {
    sum.update(made.read(at, Math.min(CHUNK, made.size - at)));
  }
  return sum.digest('hex');
}

/** @param {Made} made @param {string} sha256 @returns {Content} */
function describe({ size, read }, sha256) {
  // The mark and the date follow from the content: another one has others.
  const day = Number.parseInt(sha256.slice(0, 4) || '0', 16);
  return {
    size,
    read,
    sha256,
    etag: `"${sha256.slice(0, 20) || `made-${size}`}"`,
    modified: new Date(Date.UTC(2025, 0, 1) - day * 60_000).toUTCString(),
  };
}

/** Files by their paths: the same ones are served many times. @type {Map<string, Content>} */
const known = new Map();

/**
 * `source`: a path (of a file that doesn't change), the bytes themselves, or bytes that are made.
 * @param {string | Buffer | Made} source
 * @returns {Content}
 */
export function content_of(source) {
  if (Buffer.isBuffer(source)) {
    const made = from_memory(source);
    return describe(made, hash(made));
  }
  if (typeof source !== 'string') return describe(source, source.sha256 ?? '');
  const found = known.get(source);
  if (found !== undefined) return found;
  const made = from_disk(source);
  const content = describe(made, hash(made));
  known.set(source, content);
  return content;
}
