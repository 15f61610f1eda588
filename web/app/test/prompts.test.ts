// @vitest-environment happy-dom
import { beforeEach, expect, it } from 'vitest';
import { fromJson, prompts, removePrompt, savePrompt } from '../src/talk/prompts';

beforeEach(() => {
  prompts.value = [];
});
const kept = (): unknown => fromJson(localStorage.getItem('sluice-system-prompts'));

it('are saved by their names, and deleted', () => {
  savePrompt(' Pirate ', 'Talk like a pirate.');
  savePrompt('Short', 'Be short.');
  savePrompt('Pirate', 'Arr.');
  savePrompt('', 'Nameless');
  savePrompt('Empty', ' ');
  const both = [
    { name: 'Short', text: 'Be short.' },
    { name: 'Pirate', text: 'Arr.' },
  ];
  expect(prompts.value).toEqual(both);
  expect(kept()).toEqual(both);
  removePrompt('Short');
  expect(kept()).toEqual([{ name: 'Pirate', text: 'Arr.' }]);
});

it('are checked when they are read', () => {
  for (const none of [
    null,
    '',
    '{',
    '5',
    '{}',
    '[1, {"name": 5, "text": "x"}, {"name": "\u202e"}]',
  ])
    expect(fromJson(none)).toEqual([]);
  const long = { name: 'Long', text: 'x'.repeat(20_001) };
  expect(fromJson(JSON.stringify([long, { name: 'a\u202eb', text: 'x' }]))).toEqual([
    { name: 'ab', text: 'x' },
  ]);
  const many = Array.from({ length: 60 }, (_, i) => ({ name: `${i}`, text: 'x' }));
  expect(fromJson(JSON.stringify(many))).toHaveLength(50);
});

it('follow what another tab saves', () => {
  localStorage.setItem('sluice-system-prompts', '[{"name": "Other", "text": "x"}]');
  window.dispatchEvent(new StorageEvent('storage', { key: 'sluice-system-prompts' }));
  expect(prompts.value).toEqual([{ name: 'Other', text: 'x' }]);
});
