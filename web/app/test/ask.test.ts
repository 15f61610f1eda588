import { expect, it } from 'vitest';
import { partsOf } from '../src/history/parts';
import { append, create, message } from '../src/history/tree';
import { beginning, isCut } from '../src/talk/ask';

it('begins a story with what it is to be about', () => {
  const of = (text: string): string => `Once upon a time, there was ${text}.`;
  expect(beginning('Tell me a story about a brave little fox!')).toBe(of('a brave little fox'));
  expect(beginning('Erzähl mir etwas über einen Drachen, bitte')).toBe(of('einen Drachen'));
  expect(beginning('Von Anna und Ben')).toBe(of('Anna und Ben'));
  for (const none of [
    '',
    'Hello',
    'Tell me about',
    'about\n.',
    `about ${'x'.repeat(81)}`,
    'Davon 1',
  ])
    expect(beginning(none), none).toBe('Once upon a time');
});

it('knows what was cut', () => {
  const c = append(create(), message(create(), 'user', 'a'));
  const cut = (...[content, finish, reasoning = '']: Parameters<typeof answer>): boolean =>
    isCut(answer(content, finish, reasoning));
  const answer = (
    content: string,
    finish: 'stop' | 'length' | 'aborted' | 'error' | null,
    reasoning = '',
  ) => message(c, 'assistant', '', { finish, parts: partsOf(content, reasoning) });
  for (const finish of ['length', 'aborted', 'error', null] as const)
    expect(cut('Some', finish)).toBe(true);
  expect(cut('', 'aborted', 'Hm')).toBe(true);
  expect(cut('', 'aborted')).toBe(false);
  expect(cut('All.', 'stop')).toBe(false);
  expect(isCut(message(c, 'user', 'a', { finish: 'length' }))).toBe(false);
});
