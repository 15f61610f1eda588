import { expect, it } from 'vitest';
import { plainText, sentences } from '../src/markdown/plain';
import { ANSWER, cutUp, random } from './markdown-samples';

it('leaves out marks and names code', () => {
  expect(plainText('# A *b*\n\n- [c](http://d.e)\n\n```js\nx\ny\n```\n\n![f](http://g.h)')).toBe(
    'A b\nc\ncode, 2 lines\nImage: f',
  );
  expect(plainText('| a | b |\n|---|---|\n| 1 | 2 |')).toBe('a, b\n1, 2');
});

it('gives sentences when they are finished', () => {
  expect(sentences('One. Two', 0)).toEqual({ sentences: ['One.'], to: 5 });
  expect(sentences('One. Two. Th', 5)).toEqual({ sentences: ['Two.'], to: 10 });
  expect(sentences('One. Two. Th', 10)).toEqual({ sentences: [], to: 10 });
  expect(sentences('One. Two. Th', 10, true)).toEqual({ sentences: ['Th'], to: 12 });
  expect(sentences('A **bold. Text** here.\n\n', 0).sentences).toEqual(['A bold.', 'Text here.']);
});

it('names code when its end is there', () => {
  const text = 'See:\n\n```js\na.\nb.\n';
  const first = sentences(text, 0);
  expect(first.sentences).toEqual(['See:']);
  expect(sentences(`${text}\`\`\`\nEnd`, first.to).sentences).toEqual(['code, 2 lines']);
});

it('says everything once, however the text comes', () => {
  const words = (said: readonly string[]): string => said.join(' ').replace(/\s+/g, ' ');
  const whole = sentences(ANSWER, 0, true);
  expect(whole.to).toBe(ANSWER.length);
  const next = random(3);
  for (let i = 0; i < 20; i += 1) {
    const said: string[] = [];
    let text = '';
    let to = 0;
    for (const piece of [...cutUp(ANSWER, next, 30), '']) {
      text += piece;
      const more = sentences(text, to, text === ANSWER);
      said.push(...more.sentences);
      to = more.to;
    }
    expect(to).toBe(ANSWER.length);
    expect(words(said)).toBe(words(whole.sentences));
  }
});

it('cuts a sentence without an end', () => {
  const { sentences: said, to } = sentences('word '.repeat(2000), 0, true);
  expect(to).toBe(10_000);
  expect(said.length).toBeGreaterThan(5);
  expect(said.join(' ').split(' ')).toHaveLength(2000);
});
