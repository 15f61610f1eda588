// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest';
import { lastChoice, rememberChoice } from '../src/model/choice';
import { fileOf, fromAddress, refOf } from '../src/model/source';

beforeEach(() => {
  localStorage.clear();
  sessionStorage.clear();
});

const A = { name: 'A', ref: 'hf:some/a' };
const LONG = JSON.stringify({ name: 'a', ref: `file:1.2/${'a'.repeat(4000)}` });
const B = { name: 'B', ref: 'file:5.7/b.gguf' };

test('a tab knows its own model; the reader’s last choice is for the next visit', () => {
  expect(lastChoice()).toBeNull();
  rememberChoice(A, true);
  rememberChoice(B, false);
  expect(lastChoice()).toEqual(B);
  sessionStorage.clear();
  expect(lastChoice()).toEqual(A);
});

test('what is kept may be anything', () => {
  for (const text of ['', '{', 'null', '[]', '{"name":1,"ref":"a"}', '{"name":"a"}', LONG]) {
    localStorage.setItem('sluice-model', text);
    expect(lastChoice()).toBeNull();
  }
});

test('a model is named by its address, or by its file without the number of its shard', () => {
  expect(refOf({ kind: 'bundled' })).toBe('page:');
  expect(refOf(fromAddress('hf:some/a', false))).toBe('hf:some/a');
  const part = (name: string, text: string, lastModified: number): File =>
    new File([text], name, { lastModified });
  const first = part('b-00001-of-00002.gguf', 'ab', 7);
  const files: [File, File] = [first, part('b-00002-of-00002.gguf', 'cde', 5)];
  expect(refOf({ kind: 'files', files })).toBe('file:5.7/b.gguf');
  // Changed, it is another one.
  const changed: [File, File] = [first, part('b-00002-of-00002.gguf', 'cdf', 8)];
  expect(refOf({ kind: 'files', files: changed })).toBe('file:5.8/b.gguf');
  expect(fileOf('file:5.7/b.gguf')).toBe('b.gguf');
  expect(fileOf('file:5.7/\u202eb\n.gguf')).toBe('b .gguf');
  expect(fileOf('hf:some/b')).toBeNull();
});
