// Serves a built site as its author would: with a strict policy, cross-origin isolated or not, and the model beside it.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.wasm': 'application/wasm',
};

/** The sources that allow a page's inline scripts, of which frameworks make some. */
function hashes_of(html) {
  const scripts = [...html.matchAll(/<script\b(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g)];
  return scripts.map(
    ([, text]) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
  );
}

/** `more`: what the policy allows besides, by directive. */
function policy_of(html, more = {}) {
  const policy = {
    'default-src': ["'self'"],
    'script-src': ["'self'", "'wasm-unsafe-eval'", ...hashes_of(html)],
    'worker-src': ["'self'"],
    'object-src': ["'none'"],
    'base-uri': ["'none'"],
  };
  for (const [name, sources] of Object.entries(more))
    policy[name] = [...(policy[name] ?? ["'self'"]), ...sources];
  return Object.entries(policy)
    .map(([name, sources]) => `${name} ${sources.join(' ')}`)
    .join('; ');
}

/** Serves the folder `dir`, and `model` as /model.gguf. Resolves with {url, close}. */
export async function serve_site({ dir, model, isolation, policy }) {
  const find = (pathname) => {
    if (pathname === '/model.gguf') return model;
    const file = path.join(dir, pathname.endsWith('/') ? `${pathname}index.html` : pathname);
    return file.startsWith(dir + path.sep) && fs.existsSync(file) ? file : null;
  };
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    if (isolation) {
      response.setHeader('Cross-Origin-Opener-Policy', 'same-origin');
      response.setHeader('Cross-Origin-Embedder-Policy', 'require-corp');
    }
    // Browsers ask for it by themselves.
    if (pathname === '/favicon.ico') return response.writeHead(204).end();
    const file = find(pathname);
    if (file === null) return response.writeHead(404).end();
    const body = fs.readFileSync(file);
    const type = TYPES[path.extname(file)] ?? 'application/octet-stream';
    const html = type.startsWith('text/html') ? body.toString() : '';
    response.setHeader('Content-Security-Policy', policy_of(html, policy));
    response.writeHead(200, { 'Content-Type': type, 'Content-Length': body.length }).end(body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://localhost:${server.address().port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}
