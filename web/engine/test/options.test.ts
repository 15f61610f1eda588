import { describe, expect, it } from 'vitest';
import {
  checkCount,
  checkIds,
  checkPrompt,
  generateOptionsJson,
  loadOptionsJson,
  resolveSource,
} from '../src/options.js';
import type { ModelSource } from '../src/types.js';

const REFUSED = expect.objectContaining({ code: 'invalid_argument' });

/** The error that `run` throws. */
function thrown(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('loadOptionsJson', () => {
  it("hands on what is the core's and keeps what is not", () => {
    const json = loadOptionsJson({
      contextSize: 256,
      kvType: 'q8_0',
      memoryBudget: 1e9,
      threads: 4,
      flavour: 'simd',
      cache: 'none',
      headers: { a: 'b' },
      stallTimeout: 100,
      onProgress: () => {},
    });
    expect(JSON.parse(json)).toEqual({ contextSize: 256, kvType: 'q8_0', memoryBudget: 1e9 });
    expect(loadOptionsJson({ contextSize: undefined })).toBe('{}');
  });

  it.each([
    { cache: 'opfs' },
    { sha256: 'ab' },
    { flavour: 'turbo' },
    { threads: 0 },
    { threads: 1.5 },
    { threads: 65 },
    { contextSize: NaN },
    { memoryBudget: Infinity },
    { contextSize: { big: true } },
    { stallTimeout: 0 },
    { stallTimeout: 'soon' },
    { signal: 'now' },
    { onProgress: 1 },
  ])('refuses %j', (options) => {
    expect(thrown(() => loadOptionsJson(options as never))).toEqual(REFUSED);
  });
});

describe('generateOptionsJson', () => {
  it('draws a seed where there is none', () => {
    const { seed } = JSON.parse(generateOptionsJson({})) as { seed: number };
    expect(Number.isSafeInteger(seed)).toBe(true);
    expect(JSON.parse(generateOptionsJson({ seed: 5, stop: 'x', topK: 3 }))).toEqual({
      seed: 5,
      stop: ['x'],
      topK: 3,
    });
  });

  it.each([
    { temperature: NaN },
    { topP: -Infinity },
    { seed: -1 },
    { seed: 2 ** 53 },
    { seed: 0.5 },
    { minP: null },
    { topK: 1n },
  ])('refuses $temperature $topP $seed $minP $topK', (options) => {
    expect(thrown(() => generateOptionsJson(options as never))).toEqual(REFUSED);
  });
});

describe('arguments', () => {
  it.each([[[1, -1]], [[1.5]], [[NaN]], [[2 ** 31]], [['1']], [[undefined]], ['12'], [null]])(
    'refuses ids %j',
    (ids) => {
      expect(thrown(() => checkIds(ids, 'ids'))).toEqual(REFUSED);
    },
  );

  it('takes prompts as text or ids', () => {
    checkPrompt('');
    checkPrompt([0, 1]);
    expect(thrown(() => checkPrompt({}))).toEqual(REFUSED);
  });

  it('holds counts within bounds', () => {
    checkCount(0, 'top', 10);
    expect(thrown(() => checkCount(11, 'top', 10))).toEqual(REFUSED);
  });
});

describe('resolveSource', () => {
  it('knows what it is given', async () => {
    const blob = new Blob(['x']);
    expect(await resolveSource(blob, undefined)).toEqual({ kind: 'blob', blob });
    const bytes = new ArrayBuffer(4);
    expect(await resolveSource(bytes, undefined)).toEqual({ kind: 'bytes', bytes });
    expect(await resolveSource(new URL('https://a.example/m.gguf'), { X: 'y' })).toEqual({
      kind: 'url',
      url: 'https://a.example/m.gguf',
      headers: [['x', 'y']],
    });
  });

  it.each([
    ['http://'],
    ['ftp://a.example/m'],
    ['file:///m.gguf'],
    [['https://a.example/1', 'https://a.example/2']],
    [7],
    [null],
  ])('refuses %j', async (source) => {
    await expect(resolveSource(source as unknown as ModelSource, undefined)).rejects.toEqual(
      REFUSED,
    );
  });

  it('refuses headers that HTTP does not allow', async () => {
    await expect(resolveSource('https://a.example/m', { 'a b': 'c' })).rejects.toEqual(REFUSED);
  });
});
