// Serves static files on localhost: the built page, with the headers that it needs and a strict policy.
//   node scripts/serve.mjs [--dir DIR] [--port N] [--no-isolation]
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { ISOLATION, POLICY } from './headers.mjs';
import { Failure, ROOT, is_program, main } from './lib.mjs';

/** The built page. */
const PAGE = path.join(ROOT, 'web/app/dist');

const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.gguf': 'application/octet-stream',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
};

/** Types that compress well. Pictures, fonts and weights don't. */
const COMPRESSIBLE = new Set([
  ...['.css', '.html', '.js', '.json', '.map', '.md', '.mjs', '.svg', '.txt', '.wasm'],
  '.webmanifest',
]);
/** Larger files are not compressed, because compressed files are kept in memory. */
const MAX_COMPRESSIBLE = 16 << 20;
/** The encodings, best first. */
const ENCODINGS = {
  br: (bytes) =>
    promisify(zlib.brotliCompress)(bytes, {
      params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 6 },
    }),
  gzip: (bytes) => promisify(zlib.gzip)(bytes),
};

function headers_of_all(isolation) {
  const headers = {
    'Content-Security-Policy': POLICY,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-cache',
  };
  return isolation ? { ...headers, ...ISOLATION } : headers;
}

/** The file at an address; null if there is none or if it is outside the directory. */
function find_file(mounts, url) {
  let pathname;
  try {
    pathname = decodeURIComponent(new URL(url, 'http://localhost').pathname);
  } catch {
    return null;
  }
  if (pathname.includes('\0') || pathname.split(/[/\\]/).includes('..')) return null;
  const mount = mounts.find(([prefix]) => pathname.startsWith(prefix));
  if (mount === undefined) return null;
  const [prefix, dir] = mount;
  try {
    const base = fs.realpathSync(dir);
    let full = path.join(base, pathname.slice(prefix.length));
    if (fs.statSync(full).isDirectory()) full = path.join(full, 'index.html');
    full = fs.realpathSync(full);
    const inside = full.startsWith(base + path.sep);
    return inside && fs.statSync(full).isFile() ? full : null;
  } catch {
    return null;
  }
}

/** The best of ENCODINGS that an Accept-Encoding header accepts, or null. */
export function choose_encoding(header = '') {
  const refused = /;\s*q=0(\.0*)?\s*$/;
  const taken = header
    .split(',')
    .filter((part) => !refused.test(part))
    .map((part) => part.split(';')[0].trim().toLowerCase());
  return Object.keys(ENCODINGS).find((name) => taken.includes(name)) ?? null;
}

/** Compressed files by encoding and name: {etag: of the original, bytes: a promise}. */
const compressed = new Map();

function is_compressible(file, size) {
  return COMPRESSIBLE.has(path.extname(file).toLowerCase()) && size > 0 && size <= MAX_COMPRESSIBLE;
}

/** A file's bytes in an encoding. Compresses them only if the file changed since the last call. */
function compress(file, encoding, etag) {
  const key = `${encoding} ${file}`;
  const known = compressed.get(key);
  if (known?.etag === etag) return known.bytes;
  const bytes = fs.promises.readFile(file).then(ENCODINGS[encoding]);
  bytes.catch(() => compressed.delete(key));
  compressed.set(key, { etag, bytes });
  return bytes;
}

function etag_of({ size, mtimeMs }) {
  return `${size.toString(16)}-${Math.trunc(mtimeMs).toString(16)}`;
}

/** Compresses a directory's files, so that the first visit does not wait for that. */
async function compress_all(dir) {
  const files = fs.readdirSync(dir, { recursive: true, withFileTypes: true });
  for (const entry of files) {
    const file = fs.realpathSync(path.join(entry.parentPath ?? entry.path, entry.name));
    const stat = fs.statSync(file);
    if (stat.isFile() && is_compressible(file, stat.size)) {
      await compress(file, 'br', etag_of(stat));
    }
  }
}

/** The bytes [first, last] that a Range header asks for; null: the whole file; 'unsatisfiable': none of `size` bytes. */
export function parse_range(header, size) {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (match === null || (match[1] === '' && match[2] === '')) return null;
  if (match[1] === '') {
    const length = Math.min(Number(match[2]), size);
    return length === 0 ? 'unsatisfiable' : [size - length, size - 1];
  }
  const first = Number(match[1]);
  const last = match[2] === '' ? size - 1 : Math.min(Number(match[2]), size - 1);
  if (match[2] !== '' && Number(match[2]) < first) return null;
  return first >= size ? 'unsatisfiable' : [first, last];
}

async function answer(request, response, mounts, isolation) {
  for (const [name, value] of Object.entries(headers_of_all(isolation))) {
    response.setHeader(name, value);
  }
  const refuse = (status, text, headers = {}) => {
    response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', ...headers });
    response.end(`${text}\n`);
  };
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return refuse(405, 'only GET and HEAD', { Allow: 'GET, HEAD' });
  }
  const file = find_file(mounts, request.url);
  if (file === null) return refuse(404, 'not found');
  const stat = fs.statSync(file);
  const { size } = stat;
  const compressible = is_compressible(file, size);
  // Ranges count bytes of the uncompressed file.
  const ranged = request.headers.range !== undefined;
  const encoding =
    compressible && !ranged ? choose_encoding(request.headers['accept-encoding']) : null;
  const plain_etag = etag_of(stat);
  const etag = encoding === null ? `"${plain_etag}"` : `"${plain_etag}-${encoding}"`;
  response.setHeader('ETag', etag);
  response.setHeader('Accept-Ranges', 'bytes');
  const type = TYPES[path.extname(file).toLowerCase()] ?? 'application/octet-stream';
  response.setHeader('Content-Type', type);
  if (compressible) response.setHeader('Vary', 'Accept-Encoding');
  // The build puts a hash of the content into these names.
  if (/[/\\]assets[/\\][^/\\]+-[\w-]{8}\.\w+$/.test(file)) {
    response.setHeader('Cache-Control', 'public, max-age=31536000, immutable');
  }
  if (request.headers['if-none-match'] === etag) {
    response.writeHead(304);
    return response.end();
  }
  if (encoding !== null) {
    const bytes = await compress(file, encoding, plain_etag);
    response.writeHead(200, { 'Content-Encoding': encoding, 'Content-Length': bytes.length });
    return response.end(request.method === 'HEAD' ? undefined : bytes);
  }
  const same = request.headers['if-range'] === undefined || request.headers['if-range'] === etag;
  const range = same ? parse_range(request.headers.range, size) : null;
  if (range === 'unsatisfiable') {
    return refuse(416, 'no such range', { 'Content-Range': `bytes */${size}` });
  }
  const [first, last] = range ?? [0, size - 1];
  if (range !== null) response.setHeader('Content-Range', `bytes ${first}-${last}/${size}`);
  response.writeHead(range === null ? 200 : 206, { 'Content-Length': last - first + 1 });
  if (request.method === 'HEAD' || size === 0) return response.end();
  // With Node's default of 64 KB a large model takes twice as long.
  const pieces = fs.createReadStream(file, { start: first, end: last, highWaterMark: 1 << 18 });
  return pipeline(pieces, response);
}

function listen(server, port, host) {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve(server.address().port);
    });
  });
}

/**
 * Serves a directory on localhost. Resolves with {url, port, close} when the server listens.
 *   dir        the directory of '/'; default web/app/dist
 *   port       default 8080; if it is taken, the next free one; 0: any free one
 *   isolation  whether pages are cross-origin isolated, which threads need
 *   mounts     more directories: {'/prefix/': dir}
 *   heard      called with {path, status, bytes} when an answer has been sent; bytes: of its body
 */
export async function serve({
  dir = PAGE,
  port = 8080,
  isolation = true,
  mounts = {},
  heard = (_answer) => {},
} = {}) {
  const places = [...Object.entries(mounts), ['/', dir]];
  const server = http.createServer((request, response) => {
    response.on('finish', () => {
      const bytes = Number(response.getHeader('content-length') ?? 0);
      heard({ path: request.url, status: response.statusCode, bytes });
    });
    answer(request, response, places, isolation).catch((error) => {
      // A browser may close the connection early. Any other error is this server's fault.
      if (error.code !== 'ERR_STREAM_PREMATURE_CLOSE') console.error(error);
      response.destroy();
    });
  });
  for (let candidate = port; ; ++candidate) {
    try {
      const actual = await listen(server, candidate, '127.0.0.1');
      return {
        port: actual,
        url: `http://localhost:${actual}/`,
        close: () =>
          new Promise((resolve) => {
            server.close(resolve);
            server.closeAllConnections();
          }),
      };
    } catch (error) {
      if (error.code === 'EADDRINUSE' && candidate < port + 100 && candidate < 65535) continue;
      throw new Failure(`can't listen on port ${candidate}: ${error.message}`);
    }
  }
}

/** As it was at first: npm may be ended before the server says where it is. */
const SHELL = process.ppid;

/** Calls back when the npm that runs this script was ended: its signal ends the shell between, but not this process. */
function when_npm_ends(call) {
  if (process.env.npm_lifecycle_event === undefined) return;
  const timer = setInterval(() => {
    if (process.ppid === SHELL) return;
    clearInterval(timer);
    call();
  }, 500);
  timer.unref();
}

/** Prints the address, and serves until interrupted. */
export async function serve_and_say({ port = 8080, ...options }) {
  const server = await serve({ port, ...options });
  compress_all(options.dir ?? PAGE).catch((error) => console.error(error));
  if (server.port !== port && port !== 0)
    console.log(`Port ${port} is taken; using ${server.port}.`);
  console.log(`Sluice is at ${server.url}  (Ctrl-C ends it)`);
  await new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, resolve);
    when_npm_ends(resolve);
  });
  await server.close();
  return 0;
}

/** Parses the command-line options that serve and start share. */
export function serve_options(args) {
  const options = {};
  const rest = [...args];
  while (rest.length > 0) {
    const arg = rest.shift();
    if (arg === '--no-isolation') options.isolation = false;
    else if (arg === '--dir' && rest.length > 0) options.dir = path.resolve(rest.shift());
    else if (arg === '--port') {
      const port = rest.shift() ?? '';
      if (!/^\d{1,5}$/.test(port) || Number(port) > 65535) {
        throw new Failure(`--port is '${port}'; a number from 0 to 65535 is expected`);
      }
      options.port = Number(port);
    } else
      throw new Failure(
        `unknown option ${arg}; the options are --dir DIR, --port N, --no-isolation`,
      );
  }
  return options;
}

if (is_program(import.meta.url)) {
  main(() => serve_and_say(serve_options(process.argv.slice(2))));
}
