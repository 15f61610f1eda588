// What addresses mean: hf:, pages of a hub, files anywhere; split models; which file of a repository is chosen.
import { describe, expect, it } from 'vitest';
import {
  HUB,
  canonicalOf,
  chooseModel,
  commitOf,
  hubOf,
  parseAddress,
  shardUrls,
  type Address,
} from '../src/loader/net/addresses.js';
import { shardOf, shardsOf } from '../src/shared/shards.js';

const MIRROR = 'http://localhost:8080/hub';
const COMMIT = '0123456789abcdef0123456789abcdef01234567';

function file(path: string, revision = 'main', hub = HUB): Address {
  return { kind: 'hub file', repo: { hub, repo: 'ow.ner/re-po', revision }, path };
}
function choice(selector: string, revision = 'main', folder = '', hub = HUB): Address {
  const repo = { hub, repo: 'ow.ner/re-po', revision };
  return { kind: 'hub choice', repo, selector, folder };
}

describe('an address', () => {
  it.each<[string, Address]>([
    ['hf:ow.ner/re-po', choice('')],
    ['HF:ow.ner/re-po', choice('')],
    ['hf://ow.ner/re-po', choice('')],
    ['hf:ow.ner/re-po:', choice('')],
    ['hf:ow.ner/re-po:Q4_0', choice('Q4_0')],
    ['hf:ow.ner/re-po:UD-Q4_K_XL@v1.0', choice('UD-Q4_K_XL', 'v1.0')],
    ['hf:ow.ner/re-po@refs/pr/1', choice('', 'refs/pr/1')],
    [`hf:ow.ner/re-po:m.gguf@${COMMIT}`, file('m.gguf', COMMIT)],
    ['hf:ow.ner/re-po:sub/dir/m-Q4_0.GGUF', file('sub/dir/m-Q4_0.GGUF')],
    ['https://huggingface.co/ow.ner/re-po', choice('')],
    ['https://huggingface.co/ow.ner/re-po/', choice('')],
    ['https://hf.co/ow.ner/re-po?x=1#files', choice('')],
    ['https://huggingface.co/ow.ner/re-po/tree/main', choice('')],
    ['https://huggingface.co/ow.ner/re-po/tree/dev/a/b', choice('', 'dev', 'a/b/')],
    [
      'https://huggingface.co/ow.ner/re-po/blob/main/a%20b/m.gguf?download=true',
      file('a b/m.gguf'),
    ],
    [
      'https://www.huggingface.co/ow.ner/re-po/raw/refs%2Fpr%2F2/m.gguf',
      file('m.gguf', 'refs/pr/2'),
    ],
    [`https://huggingface.co/ow.ner/re-po/resolve/${COMMIT}/m.gguf#x`, file('m.gguf', COMMIT)],
  ])('of a hub: %s', (text, meaning) => {
    expect(parseAddress(text, HUB)).toEqual(meaning);
  });

  it("of the hub goes to the caller's hub, whichever it names", () => {
    const meaning = file('m.gguf', 'main', MIRROR);
    for (const text of [
      'hf:ow.ner/re-po:m.gguf',
      'https://huggingface.co/ow.ner/re-po/blob/main/m.gguf',
      `${MIRROR}/ow.ner/re-po/resolve/main/m.gguf`,
    ])
      expect(parseAddress(text, MIRROR)).toEqual(meaning);
    expect(canonicalOf(meaning)).toBe(`${MIRROR}/ow.ner/re-po/resolve/main/m.gguf`);
  });

  it.each([
    'https://models.example/ow.ner/re-po',
    'https://huggingface.co/',
    'https://huggingface.co/ow.ner',
    'https://huggingface.co/datasets/ow.ner/re-po',
    'https://huggingface.co/api/models/x',
    'https://huggingface.co/ow.ner/re-po/discussions/1',
    'https://huggingface.co.example/ow.ner/re-po',
    'http://localhost:8080/hubbub/ow.ner/re-po',
    'http://localhost:8080/hubbub/re-po',
    'http://localhost:8081/hub/ow.ner/re-po',
    'blob:https://huggingface.co/1234',
    'data:,GGUF',
  ])('of any other file: %s', (url) => {
    expect(parseAddress(`${url}#part`, MIRROR)).toEqual({ kind: 'file', url });
  });

  it.each([
    'hf:',
    'hf:owner',
    'hf:owner/',
    'hf:/repo',
    'hf:owner/repo/m.gguf',
    'hf:../repo',
    'hf:owner/..',
    'hf:own er/repo',
    'hf:owner/repo@',
    'hf:owner/repo@../x',
    'hf:owner/repo@a b',
    'hf:owner/repo@/main',
    `hf:owner/repo@${'x'.repeat(201)}`,
    'hf:owner/repo:../m.gguf',
    'hf:owner/repo:a//m.gguf',
    'hf:owner/repo:/m.gguf',
    `hf:owner/repo:${'x'.repeat(1000)}.gguf`,
    'https://huggingface.co/owner/repo/resolve/main',
    'https://huggingface.co/owner/repo/resolve/main/%2e%2e%2fm.gguf',
    'https://huggingface.co/owner/repo/resolve/%2e%2e%2fx/m.gguf',
    'https://huggingface.co/owner/repo/blob/main/%ff.gguf',
  ])('that begins like one of the hub and goes on wrong: %s', (text) => {
    expect(() => parseAddress(text, HUB)).toThrow(
      expect.objectContaining({ code: 'invalid_argument' }),
    );
  });

  it('is kept under one name, whatever form it had', () => {
    const canonical = `${HUB}/ow.ner/re-po/resolve/refs%2Fpr%2F1/a%20%23b/m.gguf`;
    expect(canonicalOf(file('a #b/m.gguf', 'refs/pr/1'))).toBe(canonical);
    // It is an address of the same file again.
    expect(parseAddress(canonical, HUB)).toEqual(file('a #b/m.gguf', 'refs/pr/1'));
    const names = ['Q4_0', 'q4_0'].map((type) => canonicalOf(choice(type, 'main', 'sub/')));
    expect(new Set(names)).toEqual(new Set([`${HUB}/ow.ner/re-po@main:sub/Q4_0`]));
    expect(canonicalOf({ kind: 'file', url: 'https://a.example/m' })).toBe('https://a.example/m');
  });

  it('names a commit, or none', () => {
    expect(commitOf(file('m.gguf', COMMIT))).toBe(COMMIT);
    expect(commitOf(file('m.gguf', COMMIT.slice(1)))).toBe('');
    expect(commitOf({ kind: 'file', url: `https://a.example/${COMMIT}` })).toBe('');
  });
});

describe('hubUrl', () => {
  it.each([
    [undefined, HUB],
    ['https://h.example', 'https://h.example'],
    ['https://h.example//', 'https://h.example'],
    ['http://h.example:81/hub/?x#y', 'http://h.example:81/hub'],
  ])('%s', (url, hub) => {
    expect(hubOf(url)).toBe(hub);
  });

  it.each(['h.example', 'ftp://h.example', 'https://u:p@h.example', 'data:,x'])('not %s', (url) => {
    expect(() => hubOf(url)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
  });
});

describe('a split model', () => {
  it('is named by any of its files', () => {
    const shards = [
      'a/m-00001-of-00003.gguf',
      'a/m-00002-of-00003.gguf',
      'a/m-00003-of-00003.gguf',
    ];
    for (const shard of shards) expect(shardsOf(shard)).toEqual(shards);
    expect(shardsOf('m-00999-of-00999.gguf')?.length).toBe(999);
    expect(shardOf('a/m-00002-of-00003.gguf')).toEqual({ model: 'a/m.gguf', part: 2, parts: 3 });
    expect(shardOf('M-00001-of-00002.GGUF')).toEqual({ model: 'M.GGUF', part: 1, parts: 2 });
  });

  it.each([
    'm.gguf',
    'm-00000-of-00003.gguf',
    'm-00004-of-00003.gguf',
    'm-00001-of-01000.gguf',
    'm-1-of-3.gguf',
    'm-00001-of-00003.gguf.part',
    'm-00001-of-00000.gguf',
  ])('is not %s', (name) => {
    expect(shardsOf(name)).toBeNull();
    expect(shardOf(name)).toBeNull();
  });

  it('keeps the query of its address', () => {
    expect(shardUrls('https://a.example/x-00002-of-00002.gguf?key=1')).toEqual([
      'https://a.example/x-00001-of-00002.gguf?key=1',
      'https://a.example/x-00002-of-00002.gguf?key=1',
    ]);
    expect(shardUrls('https://a.example/m?file=x-00001-of-00002.gguf')).toBeNull();
    expect(shardUrls('data:,x-00001-of-00002.gguf')).toBeNull();
  });
});

describe('the file that is chosen', () => {
  const paths = [
    'README.md',
    'sub/m-Q4_0.gguf',
    'm-Q8_0.gguf',
    'm-IQ4_0.gguf',
    'z.q4_0.gguf',
    'm-Q4_0.gguf',
    'mmproj-Q4_0.gguf',
    'BF16/m-BF16-00002-of-00002.gguf',
    'BF16/m-BF16-00001-of-00002.gguf',
    'm-UD-Q4_K_XL.gguf',
    'F16.gguf',
  ];
  it.each([
    ['Q4_0', 'm-Q4_0.gguf'],
    ['q4_0', 'm-Q4_0.gguf'],
    ['IQ4_0', 'm-IQ4_0.gguf'],
    ['Q4_K_XL', 'm-UD-Q4_K_XL.gguf'],
    ['UD-Q4_K_XL', 'm-UD-Q4_K_XL.gguf'],
    ['BF16', 'BF16/m-BF16-00001-of-00002.gguf'],
    ['f16', 'F16.gguf'],
    ['', 'm-Q4_0.gguf'],
  ])('by the type %s', (type, path) => {
    expect(chooseModel(paths, type, '')).toBe(path);
    expect(chooseModel([...paths].reverse(), type, '')).toBe(path);
  });

  it('in a folder, or the only one there is', () => {
    expect(chooseModel(paths, '', 'sub/')).toBe('sub/m-Q4_0.gguf');
    expect(chooseModel(['a/odd.gguf', 'b.txt'], '', '')).toBe('a/odd.gguf');
    expect(chooseModel(['m-Q8_0.gguf', 'm-Q4_0.gguf', 'm-Q4_K_M.gguf'], '', '')).toBe(
      'm-Q4_K_M.gguf',
    );
  });

  it.each([
    [paths, 'Q5_0', "no model of the type 'Q5_0'; name one of its files: F16.gguf, m-IQ4_0.gguf"],
    [paths, '.*', "no model of the type '.*'"],
    [paths, '(', "no model of the type '('"],
    [
      ['a-x.gguf', 'b-y.gguf'],
      '',
      'no model of a usual type; name one of its files: a-x.gguf, b-y.gguf',
    ],
    [['README.md', 'mmproj-x.gguf'], '', 'the repository has no GGUF model'],
  ])('is none %#', (given, type, message) => {
    expect(() => chooseModel(given, type, '')).toThrow(
      expect.objectContaining({
        code: 'invalid_argument',
        message: expect.stringContaining(message) as string,
      }),
    );
  });
});
