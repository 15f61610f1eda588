// @vitest-environment happy-dom
// Words in the places of masks.
import type { Engine, ModelInfo } from '@sluice/engine';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { whatItDoes } from '../src/model/makes';
import { models, type Model } from '../src/model/state';
import { followModel } from '../src/shell/follow-model';
import { chooseView, chosenView, view } from '../src/ui/view';
import { busy } from '../src/model/run';
import { choiceOf, filled, parts } from '../src/writing/masks-controller';
import { masks } from '../src/writing/state';
import { prompt } from '../src/link/prompt';
import { showModel } from './phase';

const asked = vi.hoisted(() => [] as string[]);
vi.mock('../src/model/use', () => ({
  onReading: () => {},
  onToken: () => {},
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

function modelOf(purpose: string | null): Model {
  const info = { purpose, metadata: {}, architecture: 'bert', name: 'tiny' };
  return { info: info as unknown as ModelInfo, source: { kind: 'bundled' } } as Model;
}
const idle = (): Promise<unknown> => soon(() => expect(busy.value).toBe(false));

beforeEach(() => {
  showModel(models, modelOf('masks'));
  asked.length = 0;
  masks.filling.value = null;
  masks.before.value = [];
});
afterEach(() => {
  showModel(models, null);
});

it('says what a model is for', () => {
  const does = ['masks', 'vectors', 'text', null].map((purpose) =>
    whatItDoes(modelOf(purpose).info),
  );
  expect(does).toEqual(['fills', 'finds', 'writes', 'writes']);
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
  masks.fill();
  await idle();
  expect(masks.filling.value?.masks.map((all) => all.map(({ word }) => word))).toEqual([
    ['sun', 'ny'],
    ['sun', 'ny'],
  ]);
  masks.choose(1, masks.filling.value?.masks[1]?.[0] ?? { word: '', joins: false, probability: 0 });
  await idle();
  expect(prompt.value).toBe('A [MASK] in the sun.');
  expect(asked).toEqual(['A [MASK] in the [MASK].', 'A [MASK] in the sun.']);
  masks.choose(0, masks.filling.value?.masks[0]?.[0] ?? { word: '', joins: false, probability: 0 });
  expect(prompt.value).toBe('A sun in the sun.');
  // There is none left.
  expect(busy.value).toBe(false);
  masks.takeBack();
  await idle();
  expect(prompt.value).toBe('A [MASK] in the sun.');
  expect(masks.filling.value?.text).toBe('A [MASK] in the sun.');
});

it('asks no other model, and for no text without a mask', () => {
  prompt.value = 'A sun.';
  masks.fill();
  showModel(models, modelOf('text'));
  prompt.value = 'A [MASK].';
  masks.fill();
  expect(busy.value).toBe(false);
  expect(asked).toEqual([]);
});

it('goes from the conversation to where the model is of use, and back', () => {
  showModel(models, null);
  chosenView.value = null;
  followModel();
  expect(view.value).toBe('talk');
  showModel(models, modelOf('vectors'));
  expect(view.value).toBe('find');
  showModel(models, modelOf('masks'));
  expect(view.value).toBe('write');
  showModel(models, modelOf('text'));
  expect(view.value).toBe('talk');
  // What the reader has chosen stays.
  showModel(models, modelOf('vectors'));
  chooseView('talk');
  showModel(models, null);
  showModel(models, modelOf('text'));
  expect(view.value).toBe('talk');
  chooseView('write');
  showModel(models, modelOf('vectors'));
  expect(view.value).toBe('write');
});
