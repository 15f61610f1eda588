// What a hub says of its files, and what becomes of an address.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { FileSpec } from '../src/loader/net/file-spec.js';
import { listModelFiles, resolveFiles } from '../src/loader/net/hub.js';
import type { Note } from '../src/shared/notes.js';
import type { RemoteSource } from '../src/shared/protocol.js';
import { FakeServer, makeNet, outcome, useFakeTime, type Odd } from './fake-server.js';

const HUB = 'https://hub.example';
const LIST = `${HUB}/api/models/owner/repo/tree/main?recursive=true`;
const SHA = 'ab'.repeat(32);

interface Entry {
  type?: unknown;
  path?: unknown;
  size?: unknown;
  lfs?: unknown;
}

let server: FakeServer;
let notes: Note[];
let kept: Map<string, string>;
let complete: Set<string>;

beforeEach(() => {
  useFakeTime();
  server = new FakeServer(new Uint8Array());
  serve([
    { type: 'directory', path: 'sub' },
    { type: 'file', path: 'm-Q4_0.gguf', size: 1000, lfs: { oid: SHA.toUpperCase(), size: 1000 } },
    { type: 'file', path: 'm-Q8_0.gguf', size: 2000 },
  ]);
  [notes, kept, complete] = [[], new Map(), new Set()];
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function text(json: unknown): Odd {
  const string = typeof json === 'string' ? json : JSON.stringify(json);
  return { status: 200, body: new TextEncoder().encode(string) };
}

/** The pages of the list. */
function serve(...pages: Entry[][]): void {
  server.plan = ({ url }) => {
    const page = Number(new URL(url).searchParams.get('page') ?? 0);
    const next = `<${LIST}&page=${page + 1}>; rel="next"`;
    return { ...text(pages[page]), headers: page + 1 < pages.length ? { link: next } : {} };
  };
}

async function resolve(
  address: string | string[],
  more: Partial<RemoteSource> = {},
): Promise<FileSpec[]> {
  const source: RemoteSource = {
    kind: 'url',
    addresses: [address].flat(),
    headers: [],
    hub: HUB,
    sha256: [],
    cache: 'opfs',
    asked: false,
    refresh: false,
    fetch: null,
    ...more,
  };
  const net = makeNet(server.fetch);
  return outcome(
    resolveFiles(
      source,
      net,
      async (name) => kept.get(name) ?? null,
      async (url) => complete.has(url),
      (note) => notes.push(note),
    ),
  );
}

const urlOf = (path: string): string => `${HUB}/owner/repo/resolve/main/${path}`;

function failed(code: string, message: string): unknown {
  return expect.objectContaining({ code, message: expect.stringContaining(message) as string });
}

describe('a file of the hub', () => {
  it('has the size and the sha256 that the list names', async () => {
    expect(
      await resolve('hf:owner/repo:m-Q4_0.gguf', { headers: [['authorization', 'b']] }),
    ).toEqual([
      {
        url: urlOf('m-Q4_0.gguf'),
        headers: [['authorization', 'b']],
        total: 1000,
        sha256: SHA,
        commit: '',
        names: [],
        set: '',
        part: 0,
        parts: 1,
      },
    ]);
    expect(server.calls.map(({ url }) => url)).toEqual([LIST]);
    expect(server.calls[0]?.headers.get('authorization')).toBe('b');
  });

  it('is chosen by its type, and kept under that name', async () => {
    const [spec] = await resolve('hf:owner/repo:q8_0');
    expect(spec).toMatchObject({ url: urlOf('m-Q8_0.gguf'), sha256: '', total: 2000 });
    expect(spec?.names).toEqual([`${HUB}/owner/repo@main:Q8_0`]);
    expect((await resolve('hf:owner/repo'))[0]?.url).toBe(urlOf('m-Q4_0.gguf'));
    await expect(resolve('hf:owner/repo:Q2_K')).rejects.toEqual(
      failed('invalid_argument', 'm-Q4_0.gguf, m-Q8_0.gguf'),
    );
  });

  it('stands on any page of the list', async () => {
    serve([{ type: 'file', path: 'a.txt' }], [{ type: 'file', path: 'm-Q4_0.gguf', size: 5 }]);
    expect((await resolve('hf:owner/repo'))[0]).toMatchObject({ total: 5 });
    expect(server.calls.length).toBe(2);
  });

  it('is looked for on 20 pages at most, of this hub alone', async () => {
    serve(...Array.from({ length: 100 }, () => [{ type: 'file', path: 'x.txt' }]));
    await expect(resolve('hf:owner/repo')).rejects.toEqual(failed('invalid_argument', 'no GGUF'));
    expect(server.calls.length).toBe(20);
    for (const link of [
      '<https://other.example/x>; rel="next"',
      '<http://[>; rel="next"',
      '<>;',
      'x',
    ]) {
      server.calls.length = 0;
      server.plan = () => ({ ...text([{ type: 'file', path: 'm.gguf' }]), headers: { link } });
      expect((await resolve('hf:owner/repo'))[0]?.url).toBe(urlOf('m.gguf'));
      expect(server.calls.length).toBe(1);
    }
  });
});

describe('a split model', () => {
  const shards = [1, 2, 3].map((i) => `d/m-Q4_0-0000${i}-of-00003.gguf`);

  it('is all its files, whichever is named', async () => {
    serve(shards.map((path, i) => ({ type: 'file', path, size: i + 1, lfs: { oid: SHA } })));
    for (const address of [`hf:owner/repo:${shards[1]}`, 'hf:owner/repo:Q4_0']) {
      const specs = await resolve(address);
      expect(specs.map(({ url }) => url)).toEqual(shards.map(urlOf));
      expect(specs.map(({ total }) => total)).toEqual([1, 2, 3]);
      expect(specs.map(({ set, part, parts }) => [set, part, parts])).toEqual(
        [0, 1, 2].map((part) => [urlOf(shards[0] as string), part, 3]),
      );
    }
  });

  it('at any address, and as a list', async () => {
    const urls = [1, 2].map((i) => `https://a.example/m-0000${i}-of-00002.gguf?k=1`);
    expect((await resolve(urls[1] as string)).map(({ url }) => url)).toEqual(urls);
    expect((await resolve(urls)).map(({ url, part }) => [url, part])).toEqual([
      [urls[0], 0],
      [urls[1], 1],
    ]);
    expect(server.calls).toEqual([]);
  });

  it('needs a sha256 for each of its files', async () => {
    const url = 'https://a.example/m-00001-of-00002.gguf';
    await expect(resolve(url, { sha256: [SHA] })).rejects.toEqual(
      failed('invalid_argument', 'sha256 has 1 values, and the model 2 files'),
    );
    const sums = [SHA, '0'.repeat(64)];
    expect((await resolve(url, { sha256: sums })).map(({ sha256 }) => sha256)).toEqual(sums);
  });
});

describe('what is kept', () => {
  it('needs no network', async () => {
    complete.add(urlOf('m-Q8_0.gguf'));
    kept.set(`${HUB}/owner/repo@main:Q8_0`, urlOf('m-Q8_0.gguf'));
    for (const address of ['hf:owner/repo:Q8_0', 'hf:owner/repo:m-Q8_0.gguf'])
      expect((await resolve(address))[0]?.url).toBe(urlOf('m-Q8_0.gguf'));
    expect(server.calls).toEqual([]);
    await resolve('hf:owner/repo:Q8_0', { refresh: true });
    expect(server.calls.length).toBe(1);
  });
});

describe('a list that can not be read', () => {
  it.each<[string, Odd, string]>([
    ['404', { status: 404 }, 'there is no such repository or revision'],
    ['401', { status: 401 }, 'it asks for a token'],
    ['403', { status: 403 }, 'it asks for a token'],
    ['503 for ever', { status: 503 }, 'answered 503'],
    ['no list', text({ error: 'x' }), 'no list of files that can be read'],
    ['no JSON', text('<html>'), 'no list of files that can be read'],
    ['null', text('null'), 'no list of files that can be read'],
    ['nothing', text(''), 'no list of files that can be read'],
    ['a list that stalls', { ...text('[{"type":"file"'), after: 'hang' }, 'no list of files'],
    ['a list that breaks', { ...text('[{"type"'), after: new Error('cut') }, 'no list of files'],
  ])('%s: an error for a type; a note for a file that is named', async (_, odd, message) => {
    server.plan = () => odd;
    await expect(resolve('hf:owner/repo:Q4_0')).rejects.toEqual(failed('download_failed', message));
    const [spec] = await resolve('hf:owner/repo:m-Q4_0.gguf');
    expect(spec).toMatchObject({ url: urlOf('m-Q4_0.gguf'), sha256: '', total: 0 });
    expect(notes[0]?.code).toBe('sha256_unknown');
    expect(notes[0]?.message).toContain(message);
    expect(server.calls.length).toBeLessThan(40);
  });

  it.each([[new TypeError('Failed to fetch')], ['hang' as const]])(
    'because the hub gives no answer: %s',
    async (odd) => {
      server.plan = () => odd;
      await expect(resolve('hf:owner/repo')).rejects.toMatchObject({ code: 'download_failed' });
      expect(server.calls.length).toBeLessThan(4);
    },
  );

  it('because the device is offline', async () => {
    vi.stubGlobal('navigator', { onLine: false });
    server.plan = () => new TypeError('Failed to fetch');
    for (const address of ['hf:owner/repo', 'hf:owner/repo:m.gguf'])
      await expect(resolve(address)).rejects.toMatchObject({ code: 'offline' });
  });

  it('for a while only: it is asked again, when the hub says', async () => {
    const usual = server.plan;
    const began = performance.now();
    server.plan = (call, n) =>
      n === 0 ? { status: 429, headers: { 'retry-after': '40' } } : usual(call, n);
    expect((await resolve('hf:owner/repo'))[0]?.url).toBe(urlOf('m-Q4_0.gguf'));
    expect(performance.now() - began).toBeGreaterThanOrEqual(40_000);
  });
});

it('takes hostile entries for what they are', async () => {
  server.plan = () =>
    text([
      ...[null, 7, 'x', [], {}, { type: 'file' }, { type: 'file', path: 7 }],
      { type: 'file', path: 'm.gguf', size: '9', lfs: { oid: 'zz' } },
      { type: 'file', path: '../../x.txt', size: -1, lfs: null },
      { type: 'file', path: '__proto__', size: 1e300, lfs: 'x' },
    ]);
  expect((await resolve('hf:owner/repo'))[0]).toMatchObject({
    url: urlOf('m.gguf'),
    total: 0,
    sha256: '',
  });
});

describe('the models of a repository', () => {
  const list = (source: string): Promise<unknown> =>
    outcome(listModelFiles(source, HUB, [], makeNet(server.fetch)));

  it('are listed with type, size and parts; what is no model is left out', async () => {
    const part = (n: number): string => `big/m-Q8_0-0000${n}-of-00002.gguf`;
    serve([
      { type: 'file', path: 'README.md', size: 10 },
      { type: 'file', path: 'mmproj-F16.gguf', size: 10 },
      { type: 'file', path: 'm-UD-Q4_K_XL.gguf', size: 3000 },
      { type: 'file', path: 'm.IQ4_XS.gguf', size: 2000 },
      { type: 'file', path: 'plain name.gguf' },
      { type: 'file', path: part(2), size: 70 },
      { type: 'file', path: part(1), size: 50 },
    ]);
    expect(await list('hf:owner/repo')).toEqual([
      ...[
        { name: 'm-UD-Q4_K_XL.gguf', type: 'UD-Q4_K_XL', bytes: 3000, parts: 1 },
        { name: 'm.IQ4_XS.gguf', type: 'IQ4_XS', bytes: 2000, parts: 1 },
        { name: 'plain name.gguf', type: '', bytes: 0, parts: 1 },
        { name: part(1), type: 'Q8_0', bytes: 120, parts: 2 },
      ].map((file) => ({ ...file, address: urlOf(file.name.replace(' ', '%20')) })),
    ]);
    expect(await list(`${HUB}/owner/repo/tree/main/big`)).toMatchObject([{ name: part(1) }]);
  });

  it('are not those of a file, nor of a hub that wants to know who asks', async () => {
    await expect(list('hf:owner/repo:m-Q4_0.gguf')).rejects.toMatchObject(
      failed('invalid_argument', 'the files of a repository are listed') as object,
    );
    server.plan = () => ({ status: 401 });
    await expect(list('hf:owner/repo')).rejects.toMatchObject({
      code: 'download_failed',
      facts: { reason: 'status', status: 401 },
    });
  });
});
