// Tests the server of the built page: its headers, ranges, and what it refuses.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import zlib from 'node:zlib';
import { after, before, test } from 'node:test';
import { ROOT } from '../../scripts/lib.mjs';
import { choose_encoding, parse_range, serve } from '../../scripts/serve.mjs';

const TEXT = 'compress me '.repeat(1000);
let base;
let site;

before(async () => {
  base = fs.mkdtempSync(path.join(os.tmpdir(), 'sluice-serve-'));
  fs.mkdirSync(path.join(base, 'site'));
  fs.mkdirSync(path.join(base, 'more'));
  fs.writeFileSync(path.join(base, 'secret'), 'secret');
  fs.writeFileSync(path.join(base, 'site/index.html'), '<!doctype html>');
  fs.writeFileSync(path.join(base, 'site/worker.js'), '0123456789');
  fs.writeFileSync(path.join(base, 'site/empty.wasm'), '');
  fs.writeFileSync(path.join(base, 'site/model.gguf'), TEXT);
  fs.mkdirSync(path.join(base, 'site/assets'));
  fs.writeFileSync(path.join(base, 'site/assets/index-B1_x-9Za.js'), TEXT);
  fs.writeFileSync(path.join(base, 'more/a.json'), '{}');
  fs.symlinkSync(path.join(base, 'secret'), path.join(base, 'site/link'));
  const mounts = { '/more/': path.join(base, 'more') };
  site = await serve({ dir: path.join(base, 'site'), port: 0, mounts });
});

after(async () => {
  await site.close();
  fs.rmSync(base, { recursive: true });
});

/** Sends a request without normalizing its path, as fetch would. */
function request(url_path, { method = 'GET', headers = {}, port = site.port } = {}) {
  return new Promise((resolve, reject) => {
    const sent = http.request(
      { port, host: '127.0.0.1', path: url_path, method, headers },
      (answer) => {
        const parts = [];
        answer.on('data', (part) => parts.push(part));
        answer.on('end', () => {
          resolve({
            status: answer.statusCode,
            headers: answer.headers,
            body: Buffer.concat(parts).toString(),
            bytes: Buffer.concat(parts),
          });
        });
      },
    );
    sent.on('error', reject);
    sent.end();
  });
}

test('every response has the policy and the isolation headers, an error and a script too', async () => {
  for (const [url_path, status, type] of [
    ['/', 200, 'text/html; charset=utf-8'],
    ['/worker.js?v=1', 200, 'text/javascript; charset=utf-8'],
    ['/empty.wasm', 200, 'application/wasm'],
    ['/more/a.json', 200, 'application/json; charset=utf-8'],
    ['/absent', 404, 'text/plain; charset=utf-8'],
  ]) {
    const { status: got, headers } = await request(url_path);
    assert.equal(got, status, url_path);
    assert.equal(headers['content-type'], type);
    assert.match(headers['content-security-policy'], /script-src 'self' 'wasm-unsafe-eval'(;|$)/);
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
    assert.equal(headers['cross-origin-embedder-policy'], 'require-corp');
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin');
  }
});

test('without isolation the policy stays', async () => {
  const plain = await serve({ dir: path.join(base, 'site'), port: 0, isolation: false });
  const { headers } = await request('/', { port: plain.port });
  await plain.close();
  assert.equal(headers['cross-origin-embedder-policy'], undefined);
  assert.notEqual(headers['content-security-policy'], undefined);
});

test('nothing outside the directory is given out', async () => {
  for (const url_path of [
    '/../secret',
    '/%2e%2e/secret',
    '/..%2fsecret',
    '/a/..%5c..%5csecret',
    '/more/../../secret',
    '/link',
    '/%00',
    '/%zz',
  ]) {
    const { status, body } = await request(url_path);
    assert.equal(status, 404, url_path);
    assert.doesNotMatch(body, /secret/);
  }
});

test('ranges', async () => {
  const get = (range) => request('/worker.js', { headers: { range } });
  const middle = await get('bytes=2-4');
  assert.equal(middle.status, 206);
  assert.equal(middle.body, '234');
  assert.equal(middle.headers['content-range'], 'bytes 2-4/10');
  assert.equal((await get('bytes=-3')).body, '789');
  assert.equal((await get('bytes=8-')).body, '89');
  const beyond = await get('bytes=10-');
  assert.equal(beyond.status, 416);
  assert.equal(beyond.headers['content-range'], 'bytes */10');
  assert.equal((await get('bytes=5-2')).status, 200);
  assert.deepEqual(parse_range('bytes=0-99', 10), [0, 9]);
  assert.equal(parse_range('bytes=-', 10), null);
  assert.equal(parse_range('bytes=-0', 10), 'unsatisfiable');
});

test('HEAD has no body; what is unchanged is not sent again; nothing but GET and HEAD', async () => {
  const head = await request('/worker.js', { method: 'HEAD' });
  assert.equal(head.body, '');
  assert.equal(head.headers['content-length'], '10');
  const again = await request('/worker.js', { headers: { 'if-none-match': head.headers.etag } });
  assert.equal(again.status, 304);
  assert.equal((await request('/', { method: 'POST' })).status, 405);
});

test('what gets smaller is sent compressed, with an etag of its own', async () => {
  const url_path = '/assets/index-B1_x-9Za.js';
  const get = (encodings, headers = {}) =>
    request(url_path, { headers: { 'accept-encoding': encodings, ...headers } });
  const brotli = await get('gzip, deflate, br, zstd');
  assert.equal(brotli.headers['content-encoding'], 'br');
  assert.equal(Number(brotli.headers['content-length']), brotli.bytes.length);
  assert.ok(brotli.bytes.length < TEXT.length / 10);
  assert.equal(zlib.brotliDecompressSync(brotli.bytes).toString(), TEXT);
  assert.match(brotli.headers.vary, /Accept-Encoding/);
  const gzip = await get('gzip');
  assert.equal(gzip.headers['content-encoding'], 'gzip');
  assert.equal(zlib.gunzipSync(gzip.bytes).toString(), TEXT);
  const plain = await get('identity');
  assert.equal(plain.headers['content-encoding'], undefined);
  assert.equal(plain.body, TEXT);
  assert.equal(new Set([brotli, gzip, plain].map(({ headers }) => headers.etag)).size, 3);
  assert.equal((await get('br', { 'if-none-match': brotli.headers.etag })).status, 304);
  assert.equal((await get('br', { 'if-none-match': plain.headers.etag })).status, 200);
  const range = await get('br', { range: 'bytes=0-3' });
  assert.equal(range.headers['content-encoding'], undefined);
  assert.equal(range.body, 'comp');
  const head = await request(url_path, { method: 'HEAD', headers: { 'accept-encoding': 'br' } });
  assert.equal(head.headers['content-length'], brotli.headers['content-length']);
  const model = await request('/model.gguf', { headers: { 'accept-encoding': 'br' } });
  assert.equal(model.headers['content-encoding'], undefined);
});

test('a file that changes is compressed again', async () => {
  const file = path.join(base, 'site/changing.txt');
  const get = () => request('/changing.txt', { headers: { 'accept-encoding': 'br' } });
  fs.writeFileSync(file, 'first '.repeat(100));
  await get();
  fs.writeFileSync(file, 'second '.repeat(100));
  assert.match(zlib.brotliDecompressSync((await get()).bytes).toString(), /^second /);
});

test('encodings that a browser takes', () => {
  assert.equal(choose_encoding('gzip, br'), 'br');
  assert.equal(choose_encoding('GZIP;q=0.5'), 'gzip');
  assert.equal(choose_encoding('br;q=0, gzip;q=0.0'), null);
  assert.equal(choose_encoding('br ; q=0.01'), 'br');
  assert.equal(choose_encoding(''), null);
  assert.equal(choose_encoding(undefined), null);
});

test('files named by what they hold are kept, others asked about again', async () => {
  const { headers } = await request('/assets/index-B1_x-9Za.js');
  assert.match(headers['cache-control'], /immutable/);
  assert.equal((await request('/worker.js')).headers['cache-control'], 'no-cache');
});

test('a port that is taken: the next one', async () => {
  const second = await serve({ dir: path.join(base, 'site'), port: site.port });
  assert.ok(second.port > site.port);
  await second.close();
});

test('the server ends with the npm that runs it', { timeout: 60_000 }, async () => {
  const scripts = {
    start: `node "${path.join(ROOT, 'scripts/serve.mjs')}" --dir "${base}/site" --port 0`,
  };
  fs.writeFileSync(path.join(base, 'package.json'), JSON.stringify({ name: 'a', scripts }));
  const npm = spawn('npm', ['start'], { cwd: base });
  // Its output ends when no process has it any more.
  let said = '';
  for await (const part of npm.stdout) {
    const before = said;
    said += part;
    if (said.includes('is at http') && !before.includes('is at http')) npm.kill();
  }
  if (npm.exitCode === null && npm.signalCode === null) await once(npm, 'exit');
  await assert.rejects(fetch(/http:\S+/.exec(said)[0]));
});
