// @vitest-environment happy-dom
import { beforeEach, expect, test } from 'vitest';
import { lastChoice, rememberChoice } from '../src/model/choice';
import { fromAddress, refOf } from '../src/model/source';

beforeEach(() => {
  localStorage.clear();
  sessionStorage.clear();
});

const A = { name: 'A', ref: 'hf:some/a' };
const B = { name: 'B', ref: 'file:b.gguf' };

test('a tab knows its own model; the reader’s last choice is for the next visit', () => {
  expect(lastChoice()).toBeNull();
  rememberChoice(A, true);
  rememberChoice(B, false);
  expect(lastChoice()).toEqual(B);
  sessionStorage.clear();
  expect(lastChoice()).toEqual(A);
});

test('what is kept may be anything', () => {
  for (const text of ['', '{', 'null', '[]', '{"name":1,"ref":"a"}', '{"name":"a"}']) {
    localStorage.setItem('sluice-model', text);
    expect(lastChoice()).toBeNull();
  }
});

test('a model is named by its address, or by its file without the number of its shard', () => {
  expect(refOf({ kind: 'bundled' })).toBe('page:');
  expect(refOf(fromAddress('hf:some/a', false))).toBe('hf:some/a');
  const files: [File, File] = [
    new File([], 'b-00001-of-00002.gguf'),
    new File([], 'b-00002-of-00002.gguf'),
  ];
  expect(refOf({ kind: 'files', files })).toBe('file:b.gguf');
});
