// Tests the hub's addresses: the list of files, the redirect to a signed address, tokens, the limit of requests.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { Hub } from '../../e2e/hub/server.mjs';
import { range, request, some_bytes } from './hub-requests.mjs';

const BYTES = some_bytes(5000);
const SHA256 = createHash('sha256').update(BYTES).digest('hex');
let hub;

before(async () => {
  hub = await Hub.start();
});

after(() => hub.close());

const list_of = (name, revision = 'main', more = '') =>
  `${hub.url}/api/models/${name}/tree/${revision}?recursive=true${more}`;
const entries_of = ({ body }) => JSON.parse(body.toString());

test('the list gives paths, sizes and the sha256', async () => {
  const files = { 'a-Q4_0.gguf': hub.add('a', BYTES), 'deep/b-Q8_0.gguf': hub.add('b', BYTES) };
  hub.api.repository('someone/models', files);
  const answer = await request(list_of('someone/models'));
  assert.equal(answer.status, 200);
  const entries = entries_of(answer);
  assert.deepEqual(
    entries.map(({ type, path }) => [type, path]),
    [
      ['file', 'a-Q4_0.gguf'],
      ['directory', 'deep'],
      ['file', 'deep/b-Q8_0.gguf'],
    ],
  );
  assert.equal(entries[0].size, 5000);
  assert.deepEqual(entries[0].lfs, { oid: SHA256, size: 5000, pointerSize: 134 });
  assert.equal(answer.headers.link, undefined);
  const flat = await request(`${hub.url}/api/models/someone/models/tree/main`);
  assert.deepEqual(
    entries_of(flat).map(({ path }) => path),
    ['a-Q4_0.gguf', 'deep'],
  );
});

test('the list comes in pages', async () => {
  const files = {};
  for (let i = 0; i < 7; ++i) files[`f${i}.gguf`] = hub.add('f', BYTES);
  const repository = hub.api.repository('someone/many', files, { page: 3 });
  const found = [];
  let next = list_of('someone/many');
  while (next !== undefined) {
    const answer = await request(next);
    found.push(...entries_of(answer).map(({ path }) => path));
    next = /^<([^>]+)>; rel="next"$/.exec(answer.headers.link ?? '')?.[1];
  }
  assert.deepEqual(found, Object.keys(files));
  assert.equal(repository.asked, 3);
});

test('a file is a redirect to a signed address; its sha256 is on the redirect alone', async () => {
  const file = hub.add('a.gguf', BYTES);
  const { revisions } = hub.api.repository('someone/one', { 'dir/a.gguf': file });
  const answer = await request(`${hub.url}/someone/one/resolve/main/dir/a.gguf`);
  assert.equal(answer.status, 302);
  assert.equal(answer.headers['x-linked-etag'], `"${SHA256}"`);
  assert.equal(answer.headers['x-linked-size'], '5000');
  assert.equal(answer.headers['x-repo-commit'], revisions.main);
  assert.equal(new URL(answer.headers.location).origin, hub.cdn);
  const body = await request(answer.headers.location, range(0, 9));
  assert.equal(body.status, 206);
  assert.equal(body.headers['x-linked-etag'], undefined);
  assert.notEqual(body.headers.etag, `"${SHA256}"`);
  const pointer = await request(`${hub.url}/someone/one/raw/main/dir/a.gguf`);
  assert.match(pointer.body.toString(), new RegExp(`^oid sha256:${SHA256}$`, 'm'));
});

test('revisions: branches, tags with a slash, commits', async () => {
  const commit = 'c'.repeat(40);
  hub.api.repository(
    'someone/old',
    { 'a.gguf': hub.add('a.gguf', BYTES) },
    { revisions: { main: 'd'.repeat(40), 'refs/pr/1': commit } },
  );
  const status = async (revision) =>
    (await request(`${hub.url}/someone/old/resolve/${revision}/a.gguf`)).status;
  assert.equal(await status('main'), 302);
  assert.equal(await status('refs%2Fpr%2F1'), 302);
  assert.equal(await status(commit), 302);
  assert.equal(await status('v2'), 404);
  assert.equal((await request(list_of('someone/old', 'v2'))).status, 404);
  const absent = await request(`${hub.url}/someone/old/resolve/main/b.gguf`);
  assert.equal(absent.status, 404);
  assert.equal(absent.headers['x-error-code'], 'EntryNotFound');
});

test('a repository that needs a token, or is not there', async () => {
  const file = hub.add('a.gguf', BYTES);
  hub.api.repository('someone/secret', { 'a.gguf': file }, { token: 'hf_x' });
  const address = `${hub.url}/someone/secret/resolve/main/a.gguf`;
  const bearing = (token) => ({ headers: { authorization: `Bearer ${token}` } });
  assert.equal((await request(address)).status, 401);
  assert.equal((await request(address, bearing('hf_y'))).status, 404);
  assert.equal((await request(address, bearing('hf_x'))).status, 302);
  assert.equal((await request(list_of('someone/secret'))).status, 401);
  assert.equal((await request(list_of('someone/secret'), bearing('hf_x'))).status, 200);
  assert.equal((await request(list_of('someone/absent'))).status, 401);
  assert.equal((await request(list_of('someone/absent'), bearing('hf_x'))).status, 404);
});

test('the list may fail, too', async () => {
  const plan = (number) =>
    number === 0 ? { status: 503, retryAfter: 1 } : { close: number === 1 };
  hub.api.repository('someone/weak', { 'a.gguf': hub.add('a.gguf', BYTES) }, { plan });
  const first = await request(list_of('someone/weak'));
  assert.equal(first.status, 503);
  assert.equal(first.headers['retry-after'], '1');
  assert.equal((await request(list_of('someone/weak'))).status, 0);
  assert.equal((await request(list_of('someone/weak'))).status, 200);
});

test('too many requests are refused until the time is over', async () => {
  const strict = await Hub.start({ limit: { requests: 3, seconds: 1 } });
  try {
    const file = strict.add('a.gguf', BYTES);
    strict.api.repository('a/b', { 'a.gguf': file });
    const resolve = `${strict.url}/a/b/resolve/main/a.gguf`;
    const answers = [];
    for (let i = 0; i < 4; ++i) answers.push(await request(resolve));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [302, 302, 302, 429],
    );
    assert.equal(answers[0].headers.ratelimit, '"resolvers";r=2;t=1');
    assert.equal(answers[3].headers.ratelimit, '"resolvers";r=0;t=1');
    assert.equal(answers[3].headers['ratelimit-policy'], '"fixed window";"resolvers";q=3;w=1');
    // The list has a limit of its own; signed addresses have none.
    assert.equal((await request(`${strict.url}/api/models/a/b/tree/main`)).status, 200);
    for (let i = 0; i < 5; ++i) assert.equal((await request(file.sign())).status, 200);
    assert.deepEqual(strict.api.counts, { resolvers: 4, api: 1, limited: 1 });
    await new Promise((later) => setTimeout(later, 1100));
    assert.equal((await request(resolve)).status, 302);
  } finally {
    await strict.close();
  }
});
