// What a file's keys say of a model.
import { expect, it } from 'vitest';
import { toldByKeys } from '../src/engine/model-keys.js';
import type { ModelInfo } from '../src/index.js';

const told = (makes: readonly string[], metadata: object = {}, architecture = 'qwen3') =>
  toldByKeys({ makes, metadata, architecture } as unknown as ModelInfo);

it('what a model is for', () => {
  const purpose = (makes: readonly string[], pooling?: unknown, architecture?: string) =>
    told(makes, { 'qwen3.pooling_type': pooling }, architecture).purpose;
  expect(purpose(['text'])).toBe('text');
  expect(purpose(['text', 'vectors'])).toBe('text');
  expect(purpose(['vectors'])).toBe('vectors');
  expect(purpose(['vectors', 'masks'])).toBe('masks');
  // Its file says how to pool: it was trained for vectors.
  expect(purpose(['text', 'vectors'], 3)).toBe('vectors');
  expect(purpose(['text', 'vectors'], 0)).toBe('text');
  expect(purpose(['text', 'vectors'], 'mean')).toBe('text');
  expect(purpose(['text', 'vectors'], 3, 'llama')).toBe('text');
  // It makes no vectors here, whatever the file says.
  expect(purpose(['text'], 3)).toBe('text');
  expect(purpose([])).toBeNull();
});

it('whether it has a chat template, and its licence', () => {
  expect(told(['text'])).toMatchObject({ chatTemplate: false, license: null });
  const keys = { 'tokenizer.chat_template': '{{ x }}', 'general.license': 'mit' };
  expect(told(['text'], keys)).toMatchObject({ chatTemplate: true, license: 'mit' });
  for (const license of ['', 7, ['mit'], null])
    expect(told(['text'], { 'general.license': license }).license).toBeNull();
});
