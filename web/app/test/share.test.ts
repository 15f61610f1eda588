import { expect, it } from 'vitest';
import { readFragment } from '../src/link/fragment';
import { DEFAULTS } from '../src/settings/settings';
import { settingsText } from '../src/settings/text';
import type { Written } from '../src/writing/kept-texts';
import { shareOf } from '../src/writing/share';

const BASE = 'https://sluice.example/app/';
const settings = { ...DEFAULTS, temperature: 0.5, length: 30 };
const written: Written = {
  id: '00000000-0000-4000-8000-000000000001',
  prompt: 'One day',
  text: ' a dog & a cat',
  tokens: 4,
  finish: 'length',
  seed: 7,
  begun: 0,
  by: { name: 'Stories', kind: 'bundled', url: null },
  settings: settingsText({ ...settings, seed: 99 }),
  runs: [],
  branch: null,
};

function read(so: Written): ReturnType<typeof readFragment> {
  return readFragment(`#${shareOf(so).fragment}`, BASE);
}

it('a link holds the prompt, the settings of the text and its seed', () => {
  expect(read(written)).toEqual({
    prompt: 'One day',
    model: null,
    view: 'write',
    ignored: [],
    settings: { ...settings, seed: 7 },
  });
  expect(shareOf(written).without).toBe('');
});

it('a text that was gone on with is written from where its last run began', () => {
  expect(read({ ...written, begun: 6 }).prompt).toBe('One day a dog');
});

it('a link names the address of a model, and says that it leaves out a file', () => {
  const url = 'https://models.example/m.gguf?x=1&y=2';
  expect(read({ ...written, by: { name: 'M', kind: 'address', url } }).model).toBe(url);
  const by = { name: 'mine.gguf', kind: 'files', url: null } as const;
  expect(read({ ...written, by }).model).toBeNull();
  expect(shareOf({ ...written, by }).without).toContain('mine.gguf');
});

it('a text that is too long for a link has none', () => {
  const long = { ...written, text: 'x'.repeat(30_000), begun: 25_000 };
  expect(shareOf(long).fragment).toBeNull();
  expect(shareOf(long).without).not.toBe('');
  expect(shareOf({ ...long, begun: 0 }).fragment).not.toBeNull();
});

it('settings that were kept and can’t be used have their defaults', () => {
  const fragment = shareOf({ ...written, settings: 'temperature=99&topK=%00&stop=' }).fragment;
  expect(readFragment(`${fragment}`, BASE).settings).toEqual({ ...DEFAULTS, seed: 7 });
});
