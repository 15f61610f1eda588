import { expect, it } from 'vitest';
import { cacheOf, fromAddress, inputOf, oneModel, sourceName } from '../src/model/source';

const file = (name: string): File => new File(['x'], name);
const named = (...names: string[]): string[] | null => {
  const source = oneModel(names.map(file));
  return source?.kind === 'files' ? source.files.map(({ name }) => name) : null;
};

it('takes the shards of one model in their order, whatever the order of choice', () => {
  const shards = ['m-00001-of-00003.gguf', 'm-00002-of-00003.gguf', 'm-00003-of-00003.gguf'];
  expect(named(...shards.toReversed())).toEqual(shards);
  expect(named('readme.md', ...shards)).toEqual(shards);
  const source = oneModel(shards.map(file));
  if (source === null) throw new Error('none');
  expect(sourceName(source)).toBe('m.gguf');
  expect(inputOf(source)).toHaveLength(3);
});

it('takes one file as it is, whatever its name', () => {
  expect(named('a.gguf')).toEqual(['a.gguf']);
  expect(named('a.GGUF', 'b.txt')).toEqual(['a.GGUF']);
  expect(named('photo.png', 'b.txt')).toEqual(['photo.png']);
  const source = oneModel([file('m-00002-of-00003.gguf')]);
  expect(source && inputOf(source)).toBeInstanceOf(File);
});

it('refuses several models', () => {
  expect(named('a.gguf', 'b.gguf')).toBeNull();
  expect(named('a-00001-of-00002.gguf', 'b-00002-of-00002.gguf')).toBeNull();
  expect(named('a-00001-of-00002.gguf', 'a-00002-of-00003.gguf')).toBeNull();
  expect(named('a-00001-of-00002.gguf', 'a.gguf')).toBeNull();
  expect(named()).toBeNull();
});

it('names what an address leads to', () => {
  const names = {
    'https://models.example/a/b%20c.gguf?x=1': 'b c.gguf',
    'https://models.example/m-00001-of-00002.gguf': 'm.gguf',
    'https://models.example/%ff.gguf': '%ff.gguf',
    'https://models.example/': 'models.example',
    'hf:owner/repo:Q4_0@main': 'repo Q4_0',
    'hf:owner/repo@main': 'repo',
    'hf:owner/repo:big/m-Q4_0.gguf@0123abcd': 'm-Q4_0.gguf',
    'hf:owner/repo:m-00001-of-00002.gguf@refs/pr/1': 'm.gguf',
  };
  for (const [url, name] of Object.entries(names)) expect(sourceName(fromAddress(url))).toBe(name);
});

it('keeps what comes from an address, unless the reader doesn’t want that', () => {
  expect(cacheOf(fromAddress('https://models.example/m.gguf'))).toBe('opfs');
  expect(cacheOf(fromAddress('https://models.example/m.gguf', false))).toBe('none');
  // The service worker keeps it.
  expect(cacheOf({ kind: 'bundled' })).toBe('none');
});
