// @vitest-environment happy-dom
import { expect, it } from 'vitest';
import { dry, wet } from '../src/ui/wet';

const WORDS = [' upon', ' a', ' time', ','];

/** All orders of these numbers. */
function orders(numbers: readonly number[]): number[][] {
  if (numbers.length < 2) return [[...numbers]];
  return numbers.flatMap((one) =>
    orders(numbers.filter((other) => other !== one)).map((rest) => [one, ...rest]),
  );
}

it('words stay in their order, in whatever order they dry', () => {
  for (const order of orders(WORDS.map((_, i) => i))) {
    const text = document.createElement('p');
    text.append(new Text('Once'));
    const spans = WORDS.map(wet);
    text.append(...spans);
    for (const i of order) {
      dry(spans[i] ?? null);
      expect(text.textContent, String(order)).toBe('Once upon a time,');
    }
    expect(text.querySelector('.wet')).toBeNull();
    expect(text.childNodes).toHaveLength(1);
  }
});
