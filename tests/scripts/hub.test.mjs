// Tests the server that misbehaves: each of its ways, and what it counts.
import assert from 'node:assert/strict';
import zlib from 'node:zlib';
import { after, before, test } from 'node:test';
import { ByteSet, Counts } from '../../e2e/hub/counting.mjs';
import { Link } from '../../e2e/hub/link.mjs';
import { Random } from '../../e2e/hub/random.mjs';
import { Hub } from '../../e2e/hub/server.mjs';
import { quiet, range, raw, request, some_bytes } from './hub-requests.mjs';

const BYTES = some_bytes(300_000);
const OTHER = some_bytes(300_000, 7);
let hub;

before(async () => {
  hub = await Hub.start();
});

after(() => hub.close());

/** A file, all of whose answers are given in one way. */
const file = (behaviour, options = {}) =>
  hub.add('a.gguf', BYTES, { plan: () => behaviour, ...options });

test('a file is served whole and in ranges, with what tells its version', async () => {
  const served = file({});
  const whole = await request(served.url);
  assert.equal(whole.status, 200);
  assert.deepEqual(whole.body, BYTES);
  assert.equal(whole.headers['content-length'], '300000');
  assert.match(whole.headers.etag, /^"[0-9a-f]{20}"$/);
  assert.ok(Date.parse(whole.headers['last-modified']) > 0);
  assert.equal(whole.headers['accept-ranges'], 'bytes');
  assert.equal(whole.headers['access-control-allow-origin'], '*');
  assert.equal(whole.headers['access-control-expose-headers'], '*');
  const part = await request(served.url, range(1000, 200_999));
  assert.equal(part.status, 206);
  assert.equal(part.headers['content-range'], 'bytes 1000-200999/300000');
  assert.equal(part.headers['content-length'], '200000');
  assert.equal(part.headers.etag, whole.headers.etag);
  assert.deepEqual(part.body, BYTES.subarray(1000, 201_000));
  // A range that ends behind the file is cut to it.
  assert.equal((await request(served.url, range(0, 2 ** 24))).body.length, 300_000);
  const behind = await request(served.url, range(300_000, 300_001));
  assert.equal(behind.status, 416);
  assert.equal(behind.headers['content-range'], 'bytes */300000');
  const head = await request(served.url, { method: 'HEAD' });
  assert.equal(head.headers['content-length'], '300000');
  assert.equal(head.body.length, 0);
});

test('what is not there is 404, and counted', async () => {
  assert.equal((await request(`${hub.url}/file/999/a.gguf`)).status, 404);
  assert.equal((await request(`${hub.url}/nothing`)).status, 404);
  assert.equal(hub.unknown, 1);
});

test('it counts requests, bytes, and bytes that were sent before', async () => {
  const served = file({});
  await request(served.url, range(0, 99_999));
  await request(served.url, range(50_000, 149_999));
  await request(served.url, range(60_000, 69_999));
  await quiet(served);
  const { counts } = served;
  assert.equal(counts.requests, 3);
  assert.equal(counts.bytes, 210_000);
  assert.equal(counts.again, 60_000);
  assert.deepEqual(counts.sent.ranges, [[0, 150_000]]);
  assert.deepEqual(counts.statuses, { 206: 3 });
  assert.equal(counts.underway, 0);
});

test('it counts the answers that are under way at the same time', async () => {
  const served = file({ rate: 1_000_000 });
  const asked = [0, 1, 2].map((i) => request(served.url, range(i * 100_000, i * 100_000 + 99_999)));
  await Promise.all(asked);
  assert.equal(served.counts.most, 3);
  await quiet(served);
  await request(served.url, range(0, 9));
  assert.equal(served.counts.most, 3);
});

test('the set of bytes: pieces that touch are one, and what was there is counted once', () => {
  const set = new ByteSet();
  assert.equal(set.add(10, 20), 0);
  assert.equal(set.add(30, 40), 0);
  assert.equal(set.add(20, 30), 0);
  assert.deepEqual(set.ranges, [[10, 40]]);
  assert.equal(set.add(0, 50), 30);
  assert.equal(set.size, 50);
  assert.equal(set.add(60, 60), 0);
  assert.equal(set.size, 50);
  const counts = new Counts();
  for (let i = 0; i < 3; ++i) counts.file(0, 1);
  assert.equal(counts.again, 2);
});

test('a connection is cut after so many bytes, or reset', async () => {
  const cut = await request(file({ cut: 200_000 }).url);
  assert.equal(cut.status, 200);
  assert.equal(cut.whole, false);
  assert.deepEqual(cut.body, BYTES.subarray(0, 200_000));
  const reset = await request(file({ cut: 200_000, reset: true }).url);
  assert.equal(reset.whole, false);
  assert.ok(reset.body.length <= 200_000);
  // The range ends before the place.
  const before_it = await request(file({ cut: 200_000 }).url, range(0, 99));
  assert.equal(before_it.whole, true);
  const at_once = await request(file({ cut: 0 }).url);
  assert.equal(at_once.body.length, 0);
  assert.equal(at_once.whole, false);
});

test('it closes without an answer', async () => {
  const served = file({ close: true });
  assert.equal((await request(served.url)).status, 0);
  assert.deepEqual(served.counts.statuses, { 0: 1 });
  await quiet(served);
});

test('a body stalls, and nothing is left when the client goes', async () => {
  const served = file({ stall: 5000 });
  const { body, whole } = await request(served.url, { leave: 5000 });
  assert.equal(whole, false);
  assert.equal(body.length, 5000);
  await quiet(served);
  assert.equal(served.counts.bytes, 5000);
});

test('a request that is never answered ends when the connections are dropped', async () => {
  const served = file({ silent: true });
  const asked = request(served.url);
  while (served.counts.requests === 0) await new Promise((turn) => setTimeout(turn, 5));
  hub.drop_connections();
  assert.equal((await asked).status, 0);
  assert.equal((await request(file({}).url)).status, 200);
});

test('a rate holds, and one that jumps', async () => {
  const timed = async (rate) => {
    const started = performance.now();
    const { body } = await request(file({ rate }).url, range(0, 99_999));
    assert.equal(body.length, 100_000);
    return performance.now() - started;
  };
  // Never faster than the rate; how much slower depends on the machine.
  assert.ok((await timed(500_000)) >= 195);
  // 100 ms at 100 kB/s bring a tenth of it at least; the rest comes at once.
  const jumped = await timed([
    [0, 100_000],
    [100, 1e9],
  ]);
  assert.ok(jumped >= 95);
});

test('answers over one line share its rate', async () => {
  const served = file({ link: new Link(1_000_000) });
  const started = performance.now();
  const began = Date.now();
  const asked = [0, 1, 2].map((i) => request(served.url, range(i * 100_000, i * 100_000 + 99_999)));
  for (const { body } of await Promise.all(asked)) assert.equal(body.length, 100_000);
  // Never faster; how much slower depends on the machine.
  assert.ok(performance.now() - started >= 295);
  assert.ok(served.counts.lastByte >= began + 290);
});

test('it lies about the length', async () => {
  const longer = await request(file({ lengthBy: 100 }).url, range(0, 999));
  assert.equal(longer.headers['content-length'], '1100');
  assert.deepEqual(longer.body, BYTES.subarray(0, 1000));
  assert.equal(longer.whole, false);
  const shorter = await raw(file({ lengthBy: -100 }).url);
  assert.match(shorter.head, /^Content-Length: 299900$/m);
  assert.deepEqual(shorter.body, BYTES);
  const none = await request(file({ lengthBy: null }).url);
  assert.equal(none.headers['content-length'], undefined);
  assert.deepEqual(none.body, BYTES);
});

test('it ignores ranges', async () => {
  const { status, headers, body } = await request(file({ ignoreRange: true }).url, range(5, 9));
  assert.equal(status, 200);
  assert.equal(headers['content-range'], undefined);
  assert.equal(headers['accept-ranges'], undefined);
  assert.deepEqual(body, BYTES);
});

test('its Content-Range is wrong', async () => {
  const named = async (contentRange) => {
    const { status, headers, body } = await request(file({ contentRange }).url, range(10, 19));
    assert.equal(status, 206);
    assert.deepEqual(body, BYTES.subarray(10, 20));
    return headers['content-range'];
  };
  assert.equal(await named('shifted'), 'bytes 11-20/300000');
  assert.equal(await named('total'), 'bytes 10-19/304096');
  assert.equal(await named('none'), undefined);
  assert.equal(await named('garbage'), 'bytes of a file');
});

test('it sends multipart, and a compressed file', async () => {
  const multipart = await request(file({ multipart: true }).url, range(10, 19));
  assert.equal(multipart.status, 206);
  assert.equal(multipart.headers['content-type'], 'multipart/byteranges; boundary=part');
  assert.equal(multipart.headers['content-range'], undefined);
  assert.ok(multipart.body.includes(BYTES.subarray(10, 20)));
  const gzip = await request(file({ gzip: true }).url, range(10, 19));
  assert.equal(gzip.status, 200);
  assert.equal(gzip.headers['content-encoding'], 'gzip');
  assert.deepEqual(zlib.gunzipSync(gzip.body), BYTES);
});

test('it flips bits, and only those', async () => {
  const served = file({ flips: [0, 150_000, 299_999] });
  const { body } = await request(served.url);
  const changed = [...body.keys()].filter((i) => body[i] !== BYTES[i]);
  assert.deepEqual(changed, [0, 150_000, 299_999]);
  const part = await request(served.url, range(149_990, 150_009));
  assert.equal(part.body[10], BYTES[150_000] ^ 0x10);
  // The content itself is not touched.
  served.plan = () => ({});
  assert.deepEqual((await request(served.url)).body, BYTES);
});

test('its content and its ETag change midway', async () => {
  const plan = ({ number }) => ({ version: number === 0 ? 0 : 1 });
  const served = hub.add('a.gguf', BYTES, { plan, versions: [OTHER] });
  const [first, second] = [await request(served.url), await request(served.url)];
  assert.deepEqual(first.body, BYTES);
  assert.deepEqual(second.body, OTHER);
  assert.notEqual(first.headers.etag, second.headers.etag);
  assert.notEqual(first.headers['last-modified'], second.headers['last-modified']);
  const marked = await request(file({ etag: '"x"', modified: null }).url);
  assert.equal(marked.headers.etag, '"x"');
  assert.equal(marked.headers['last-modified'], undefined);
});

test('errors, with what they say about waiting', async () => {
  for (const status of [403, 404, 410, 416, 500, 502]) {
    const answer = await request(file({ status }).url);
    assert.equal(answer.status, status);
    assert.equal(answer.headers['retry-after'], undefined);
    assert.equal(answer.headers['access-control-allow-origin'], '*');
  }
  const busy = await request(file({ status: 503, retryAfter: 3 }).url);
  assert.equal(busy.headers['retry-after'], '3');
  const dated = await request(file({ status: 503, retryAfter: 'date' }).url);
  const ahead = Date.parse(dated.headers['retry-after']) - Date.now();
  assert.ok(ahead <= 2000, `${ahead} ms ahead`);
  const limited = await request(file({ status: 429, rateLimit: 5 }).url);
  assert.equal(limited.headers.ratelimit, '"resolvers";r=0;t=5');
});

test('a web page instead of the file, and a redirect in a circle', async () => {
  const page = await request(file({ html: true }).url);
  assert.equal(page.status, 200);
  assert.match(page.headers['content-type'], /^text\/html/);
  const served = file({ redirect: 'circle' });
  const circle = await request(served.url);
  assert.equal(circle.status, 302);
  assert.equal(circle.headers.location, served.url);
});

test('what other sites may read', async () => {
  const hidden = await request(file({ expose: '' }).url);
  assert.equal(hidden.headers['access-control-allow-origin'], '*');
  assert.equal(hidden.headers['access-control-expose-headers'], undefined);
  const refused = await request(file({ cors: false }).url);
  assert.equal(refused.headers['access-control-allow-origin'], undefined);
});

test('a signed address is at another origin, and expires after uses or with time', async () => {
  let signed = { uses: 2 };
  const served = file({}, { plan: ({ kind }) => (kind === 'moved' ? { signed } : {}) });
  const where = async () => (await request(served.moved)).headers.location;
  const first = await where();
  assert.equal(new URL(first).origin, hub.cdn);
  assert.notEqual(new URL(first).hostname, new URL(hub.url).hostname);
  const statuses = [];
  for (let i = 0; i < 3; ++i) statuses.push((await request(first, range(0, 9))).status);
  assert.deepEqual(statuses, [206, 206, 403]);
  assert.equal((await request(await where(), range(0, 9))).status, 206);
  signed = { ms: -1 };
  assert.equal((await request(await where())).status, 403);
  assert.equal((await request(first.replace(/key=.*/, 'key=made-up'))).status, 403);
  // An Authorization that a redirect carried there is a leak.
  assert.equal(served.counts.leaked, 0);
  await request(first, { headers: { authorization: 'Bearer x' } });
  assert.equal(served.counts.leaked, 1);
});

test('preflights are counted apart, allowed or refused', async () => {
  const ask = (url) =>
    request(url, {
      method: 'OPTIONS',
      headers: { 'access-control-request-headers': 'if-range' },
    });
  const kind = file({});
  const allowed = await ask(kind.url);
  assert.equal(allowed.status, 204);
  assert.equal(allowed.headers['access-control-allow-headers'], 'if-range');
  assert.equal(kind.counts.preflights, 1);
  assert.equal(kind.counts.refused, 0);
  const strict = file(undefined, {
    plan: ({ kind }) => (kind === 'preflight' ? { status: 403 } : {}),
  });
  const refused = await ask(strict.sign());
  assert.equal(refused.status, 403);
  assert.equal(refused.headers['access-control-allow-origin'], undefined);
  assert.equal(strict.counts.refused, 1);
  assert.equal(strict.counts.requests, 0);
});

test('a plan sees the request, and the same seed gives the same numbers', async () => {
  const seen = [];
  const plan = (asked) => {
    seen.push({ ...asked, random: asked.random.next() });
    return {};
  };
  const ask = async (seed) => {
    seen.length = 0;
    const served = hub.add('a.gguf', BYTES, { plan, seed });
    await request(served.url, range(0, 999));
    await request(served.url);
    return seen.map(({ kind, number, range, sent, random }) => [kind, number, range, sent, random]);
  };
  const [first, again, other] = [await ask(5), await ask(5), await ask(6)];
  assert.deepEqual(first, again);
  assert.deepEqual(first[0].slice(0, 4), ['file', 0, 'bytes=0-999', 0]);
  assert.deepEqual(first[1].slice(0, 4), ['file', 1, undefined, 1000]);
  assert.notEqual(first[0][4], first[1][4]);
  assert.notEqual(first[0][4], other[0][4]);
});

test('the random numbers are spread evenly', () => {
  const random = new Random(3, 4);
  const drawn = Array.from({ length: 4000 }, () => random.whole(0, 3));
  for (let value = 0; value < 4; ++value) {
    const share = drawn.filter((each) => each === value).length / drawn.length;
    assert.ok(share > 0.22 && share < 0.28, `${value}: ${share}`);
  }
  const [a, b] = [new Random(1), new Random(1)];
  assert.equal(a.next(), b.next());
  assert.ok(['x', 'y'].includes(a.pick(['x', 'y'])));
});

test('bytes that are made as they are asked for', async () => {
  const size = 4.7e9;
  const served = hub.add('large.gguf', { size, read: (_, length) => Buffer.alloc(length, 7) });
  const { body, headers } = await request(served.url, range(size - 10, size - 1));
  assert.equal(headers['content-range'], `bytes ${size - 10}-${size - 1}/${size}`);
  assert.deepEqual(body, Buffer.alloc(10, 7));
});
