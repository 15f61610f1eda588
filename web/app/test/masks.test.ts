// @vitest-environment happy-dom
// Words in the places of masks.
import type { Engine, ModelInfo } from '@sluice/engine';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { whatItDoes } from '../src/model/makes';
import { model, type Model } from '../src/model/state';
import { chooseView, chosenView, followModel, view } from '../src/page/view';
import { busy } from '../src/run';
import {
  before,
  choiceOf,
  choose,
  fill,
  filled,
  filling,
  parts,
  takeBack,
} from '../src/writing/masks-state';
import { prompt } from '../src/writing/prompt';

const asked = vi.hoisted(() => [] as string[]);
vi.mock('../src/model/use', () => ({
  withEngine: async (_: AbortSignal, work: (by: Engine) => Promise<void>) => {
    const fillMask = async (text: string) => {
      asked.push(text);
      return text.split('[MASK]').map((_, position) => ({
        position,
        top: [
          { id: 1, token: 'sun', logprob: Math.log(0.5) },
          { id: 2, token: '##ny', logprob: Math.log(0.25) },
          { id: 3, token: '[MASK]', logprob: -9 },
        ],
      }));
    };
    await work({ fillMask } as unknown as Engine);
    return { kind: 'done' };
  },
}));

/** Waits until nothing is refused by `holds`, also on a busy machine. */
const soon = (holds: () => unknown): Promise<unknown> => vi.waitFor(holds, { timeout: 30_000 });

function modelOf(makes: readonly string[], change: object = {}): Model {
  const info = { makes, metadata: {}, architecture: 'bert', name: 'tiny', ...change };
  return { info: info as unknown as ModelInfo, source: { kind: 'bundled' } } as Model;
}
const idle = (): Promise<unknown> => soon(() => expect(busy.value).toBe(false));

beforeEach(() => {
  model.value = modelOf(['vectors', 'masks']);
  asked.length = 0;
  filling.value = null;
  before.value = [];
});
afterEach(() => {
  model.value = null;
});

it('says what a model is for', () => {
  const of = (makes: readonly string[], change = {}): string =>
    whatItDoes(modelOf(makes, change).info);
  expect(of(['text', 'vectors'])).toBe('writes');
  expect(of(['text'])).toBe('writes');
  expect(of(['vectors'])).toBe('finds');
  expect(of(['vectors', 'masks'])).toBe('fills');
  const pools = (n: number) => ({ metadata: { 'qwen3.pooling_type': n }, architecture: 'qwen3' });
  expect(of(['text', 'vectors'], pools(3))).toBe('finds');
  expect(of(['text', 'vectors'], pools(0))).toBe('writes');
});

it('puts words into a text', () => {
  expect(parts('a [MASK] b')).toEqual(['a ', ' b']);
  const [word, end] = [
    choiceOf({ token: 'sun', logprob: 0 }),
    choiceOf({ token: '##ny', logprob: 0 }),
  ];
  expect(word).toEqual({ word: 'sun', joins: false, probability: 1 });
  expect(choiceOf({ token: ' capital', logprob: 0 }).word).toBe('capital');
  expect(filled('A [MASK] and [MASK].', 0, word)).toBe('A sun and [MASK].');
  expect(filled('A [MASK] and [MASK].', 1, word)).toBe('A [MASK] and sun.');
  expect(filled('A sun [MASK] day', 0, end)).toBe('A sunny day');
});

it('finds words for each mask, and anew after each choice', async () => {
  prompt.value = 'A [MASK] in the [MASK].';
  fill();
  await idle();
  expect(filling.value?.masks.map((all) => all.map(({ word }) => word))).toEqual([
    ['sun', 'ny'],
    ['sun', 'ny'],
  ]);
  choose(1, filling.value?.masks[1]?.[0] ?? { word: '', joins: false, probability: 0 });
  await idle();
  expect(prompt.value).toBe('A [MASK] in the sun.');
  expect(asked).toEqual(['A [MASK] in the [MASK].', 'A [MASK] in the sun.']);
  choose(0, filling.value?.masks[0]?.[0] ?? { word: '', joins: false, probability: 0 });
  expect(prompt.value).toBe('A sun in the sun.');
  // There is none left.
  expect(busy.value).toBe(false);
  takeBack();
  await idle();
  expect(prompt.value).toBe('A [MASK] in the sun.');
  expect(filling.value?.text).toBe('A [MASK] in the sun.');
});

it('asks no other model, and for no text without a mask', () => {
  prompt.value = 'A sun.';
  fill();
  model.value = modelOf(['text']);
  prompt.value = 'A [MASK].';
  fill();
  expect(busy.value).toBe(false);
  expect(asked).toEqual([]);
});

it('goes from the conversation to where the model is of use, and back', () => {
  model.value = null;
  chosenView.value = null;
  followModel();
  expect(view.value).toBe('talk');
  model.value = modelOf(['vectors']);
  expect(view.value).toBe('find');
  model.value = modelOf(['vectors', 'masks']);
  expect(view.value).toBe('write');
  model.value = modelOf(['text']);
  expect(view.value).toBe('talk');
  // What the reader has chosen stays.
  model.value = modelOf(['vectors']);
  chooseView('talk');
  model.value = null;
  model.value = modelOf(['text']);
  expect(view.value).toBe('talk');
  chooseView('write');
  model.value = modelOf(['vectors']);
  expect(view.value).toBe('write');
});
