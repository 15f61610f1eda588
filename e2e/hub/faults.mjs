// @ts-check
// The ways in which a server misbehaves, and how an answer is sent in such a way.
import zlib from 'node:zlib';
import { parse_range } from '../../scripts/serve.mjs';
import { Link } from './link.mjs';

/**
 * How one request is answered. {}: well. What comes first in this list is looked at first.
 * @typedef {object} Behaviour
 * @property {number} [delay] milliseconds before anything is sent
 * @property {boolean} [close] the connection is closed without an answer
 * @property {boolean} [silent] the request is taken, and nothing is ever sent
 * @property {number} [status] an error with this status instead of the file
 * @property {number | 'date'} [retryAfter] with `status`: seconds for Retry-After; 'date': a date in 2 s
 * @property {number} [rateLimit] with `status`: seconds until the limit is reset, for RateLimit
 * @property {'circle' | string | (() => string)} [redirect] a redirect to its own address, or to another one; a function makes it when it is sent
 * @property {{uses?: number, ms?: number}} [signed] for an address that redirects: what the signed address is good for
 * @property {boolean} [html] a web page with status 200 instead of the file
 * @property {number} [version] which of the file's contents is sent; 0 is the first
 * @property {boolean} [ignoreRange] the whole file with status 200
 * @property {string | null} [etag] another ETag, with its quotes; null: none
 * @property {string | null} [modified] another Last-Modified; null: none
 * @property {'shifted' | 'total' | 'none' | 'garbage'} [contentRange] a wrong Content-Range: one byte on, another total, ..
 * @property {boolean} [multipart] the range as multipart/byteranges
 * @property {boolean} [gzip] the whole file, compressed
 * @property {number | null} [lengthBy] Content-Length is larger by this than the body; null: there is none
 * @property {number[]} [flips] places in the file at which one bit is flipped
 * @property {import('./link.mjs').Rate} [rate] of this answer alone
 * @property {Link} [link] the line that it shares with other answers; `rate` is ignored
 * @property {number} [cut] after so many bytes of the body the connection is closed
 * @property {boolean} [reset] `cut` resets the connection: what is on the way is lost
 * @property {number} [stall] after so many bytes of the body nothing more is sent
 * @property {Promise<void>} [stallsUntil] then the connection of a stalled body is cut; default: never
 * @property {boolean} [cors] false: no other site may read the answer
 * @property {string} [expose] Access-Control-Expose-Headers; '' hides all; default '*'
 */

/**
 * What an answer is about.
 * @typedef {object} Subject
 * @property {import('./content.mjs').Content} content
 * @property {import('./counting.mjs').Counts} counts
 * @property {string} address its own
 */

/**
 * @typedef {import('node:http').IncomingMessage} Request
 * @typedef {import('node:http').ServerResponse} Response
 */

/** Resolves after so many milliseconds, or when the answer is closed. @param {Response} response @param {number} ms */
function pause(response, ms) {
  if (ms <= 0 || response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      response.off('close', done);
      resolve(undefined);
    };
    const timer = setTimeout(done, ms);
    response.on('close', done);
  });
}

/** Resolves with whether the connection took the bytes. @param {Response} response @param {Buffer} bytes @returns {Promise<boolean>} */
function write(response, bytes) {
  if (response.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    const closed = () => resolve(false);
    response.once('close', closed);
    response.write(bytes, (error) => {
      response.off('close', closed);
      resolve(error === undefined || error === null);
    });
  });
}

/** @param {Response} response @param {Behaviour} behaviour */
export function allow_other_sites(response, { cors = true, expose = '*' }) {
  if (!cors) return;
  response.setHeader('Access-Control-Allow-Origin', '*');
  if (expose !== '') response.setHeader('Access-Control-Expose-Headers', expose);
}

/**
 * @param {Response} response
 * @param {Behaviour & {status: number}} behaviour
 */
export function send_error(response, { status, retryAfter, rateLimit }) {
  if (retryAfter !== undefined) {
    const date = new Date(Date.now() + 2000).toUTCString();
    response.setHeader('Retry-After', retryAfter === 'date' ? date : String(retryAfter));
  }
  if (rateLimit !== undefined) response.setHeader('RateLimit', `"resolvers";r=0;t=${rateLimit}`);
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' });
  // 204 and 304 have no body.
  response.end(status === 204 || status === 304 ? undefined : `error ${status}\n`);
}

/** @param {[number, number]} range @param {number} size @param {NonNullable<Behaviour['contentRange']>} fault */
function wrong_content_range([first, last], size, fault) {
  return {
    shifted: `bytes ${first + 1}-${last + 1}/${size}`,
    total: `bytes ${first}-${last}/${size + 4096}`,
    none: undefined,
    garbage: `bytes of a file`,
  }[fault];
}

/**
 * The bytes of a body: `at` counts from its beginning. Counted are only those that are bytes of the file.
 * @typedef {object} Body
 * @property {number} length
 * @property {(at: number, length: number) => Buffer} read
 * @property {(at: number, length: number) => void} count
 */

/** @param {Subject} subject @param {number} first @param {number} last @param {number[]} flips @returns {Body} */
function body_of_range({ content, counts }, first, last, flips) {
  return {
    length: last - first + 1,
    read: (at, length) => {
      const bytes = content.read(first + at, length);
      for (const flip of flips) {
        const place = flip - first - at;
        if (place >= 0 && place < length) bytes.writeUInt8(bytes.readUInt8(place) ^ 0x10, place);
      }
      return bytes;
    },
    count: (at, length) => counts.file(first + at, length),
  };
}

/** @param {Buffer} bytes @returns {Body} */
function body_of_bytes(bytes) {
  return {
    length: bytes.length,
    read: (at, length) => bytes.subarray(at, at + length),
    count: () => {},
  };
}

/**
 * Sends a body at its rate, until its end or the place at which it is cut or stalls.
 * @param {Response} response
 * @param {Body} body
 * @param {Behaviour} behaviour
 */
async function send_body(response, body, { rate, link, cut, reset, stall, stallsUntil, lengthBy }) {
  const end = Math.min(body.length, cut ?? Infinity, stall ?? Infinity);
  const line = link ?? new Link(rate ?? Infinity);
  response.flushHeaders();
  line.enter();
  try {
    for (let at = 0; at < end;) {
      const { length, ms } = line.take(end - at);
      await pause(response, ms);
      if (!(await write(response, body.read(at, length)))) return;
      body.count(at, length);
      at += length;
    }
  } finally {
    line.leave();
  }
  // A body that is complete ends well, whatever was planned for a place behind its end.
  if (stall !== undefined && stall <= end && end < body.length) {
    if (stallsUntil === undefined) return;
    await stallsUntil;
    response.destroy();
    return;
  }
  if (end < body.length) {
    if (reset) response.socket?.resetAndDestroy();
    else response.destroy();
    return;
  }
  // The client waits for more bytes than there are, or there are more than it takes: nothing can follow on this connection.
  if (lengthBy) response.destroy();
  else response.end();
}

/**
 * Answers a request for a file.
 * @param {Subject} subject
 * @param {Behaviour} behaviour
 * @param {Request} request
 * @param {Response} response
 */
export async function answer_file(subject, behaviour, request, response) {
  await pause(response, behaviour.delay ?? 0);
  if (behaviour.silent) return;
  if (behaviour.close) {
    subject.counts.answered(0);
    response.destroy();
    return;
  }
  allow_other_sites(response, behaviour);
  response.setHeader('Cache-Control', 'no-store');
  const { status } = behaviour;
  if (status !== undefined) send_error(response, { ...behaviour, status });
  else if (behaviour.redirect !== undefined) {
    const { redirect } = behaviour;
    const to =
      redirect === 'circle'
        ? subject.address
        : typeof redirect === 'string'
          ? redirect
          : redirect();
    response.writeHead(302, { Location: to }).end();
  } else if (behaviour.html) {
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' });
    response.end('<!doctype html><title>Sign in</title><p>Please sign in.</p>\n');
  } else await send_file(subject, behaviour, request, response);
  subject.counts.answered(response.statusCode);
}

/**
 * @param {Subject} subject
 * @param {Behaviour} behaviour
 * @param {Request} request
 * @param {Response} response
 */
async function send_file(subject, behaviour, request, response) {
  const { content } = subject;
  const etag = behaviour.etag === undefined ? content.etag : behaviour.etag;
  const modified = behaviour.modified === undefined ? content.modified : behaviour.modified;
  if (etag !== null) response.setHeader('ETag', etag);
  if (modified !== null) response.setHeader('Last-Modified', modified);
  response.setHeader('Content-Type', 'application/octet-stream');
  const asked = behaviour.ignoreRange || behaviour.gzip ? undefined : request.headers.range;
  const range = parse_range(asked, content.size);
  if (range === 'unsatisfiable') {
    response.setHeader('Content-Range', `bytes */${content.size}`);
    send_error(response, { status: 416 });
    return;
  }
  if (!behaviour.ignoreRange) response.setHeader('Accept-Ranges', 'bytes');
  const [first, last] =
    range === null ? [0, content.size - 1] : [Number(range[0]), Number(range[1])];
  const fault = behaviour.contentRange;
  const right = `bytes ${first}-${last}/${content.size}`;
  const named =
    fault === undefined ? right : wrong_content_range([first, last], content.size, fault);
  let body = body_of_range(subject, first, last, behaviour.flips ?? []);
  if (behaviour.gzip) {
    response.setHeader('Content-Encoding', 'gzip');
    body = body_of_bytes(zlib.gzipSync(body.read(0, body.length), { level: 1 }));
  } else if (range !== null && behaviour.multipart) {
    response.setHeader('Content-Type', 'multipart/byteranges; boundary=part');
    const head = `--part\r\nContent-Type: application/octet-stream\r\nContent-Range: ${right}\r\n\r\n`;
    const parts = [Buffer.from(head), body.read(0, body.length), Buffer.from('\r\n--part--\r\n')];
    body = body_of_bytes(Buffer.concat(parts));
  } else if (range !== null && named !== undefined) response.setHeader('Content-Range', named);
  const { lengthBy = 0 } = behaviour;
  if (lengthBy !== null) response.setHeader('Content-Length', body.length + lengthBy);
  response.writeHead(range === null ? 200 : 206);
  if (request.method === 'HEAD') response.end();
  else await send_body(response, body, behaviour);
}
