import { expect, it } from 'vitest';
import type { CachedModel, ModelInfo } from '@sluice/engine';
import { outlook, readKnown, withModel, type KnownModels } from '../src/model/known';

const MB = 1e6;
const kept = (bytes: number): CachedModel =>
  ({ source: 'https://models.example/m.gguf', name: 'm.gguf', bytes }) as CachedModel;
const info = (all: number) =>
  ({
    memory: { all, bytesPerToken: 400 * MB, rereadBytes: 0 },
    types: { Q8_0: { tensors: 1, bytes: all } } as ModelInfo['types'],
  }) as ModelInfo;

it('tells of a model that is kept whether it fits, by its header or else by its size', () => {
  const limit = 500 * MB;
  const none: KnownModels = new Map();
  expect(outlook(kept(440 * MB), none, limit)?.fits).toBe(true);
  expect(outlook(kept(600 * MB), none, limit)).toMatchObject({
    fits: false,
    reads: { decodeBytes: null },
  });
  expect(outlook(kept(0), none, limit)).toBeNull();
  const models = withModel(none, 'https://models.example/m.gguf', info(520 * MB));
  expect(outlook(kept(440 * MB), models, limit)).toEqual({
    fits: false,
    reads: { decodeBytes: 400 * MB, eightBits: true, rereadBytes: 20 * MB },
  });
});

it('remembers the newest only, and takes from the storage only what can be true', () => {
  let models: KnownModels = new Map();
  expect(withModel(models, 'x', { memory: null } as ModelInfo)).toBe(models);
  for (let i = 0; i < 100; ++i) models = withModel(models, `https://models.example/${i}`, info(MB));
  expect(models.size).toBeLessThan(60);
  expect(models.has('https://models.example/99')).toBe(true);
  expect(readKnown(JSON.stringify([...models]))).toEqual(models);
  for (const bad of [null, '{', '{}', '[1,null,["a"],[2,{"all":1}],["b",{"all":-1}]]'])
    expect(readKnown(bad).size).toBe(0);
});
