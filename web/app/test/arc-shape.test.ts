// The weights of attention as they are drawn.
import { expect, it } from 'vitest';
import { MOST_WORDS, arcsOf, cutBefore, largest, weightsOf } from '../src/inside/arc-shape';
import { FakeLayers } from './fake-layers';

it('takes the weights of a head, or the mean of all', async () => {
  const attention = await new FakeLayers(3, [0, 2], 2).attention([5, 6, 7, 8]);
  expect([...weightsOf(attention, 0, 0)]).toEqual([0.75, 0, 0, 0.25]);
  expect([...weightsOf(attention, 0, 1)]).toEqual([0, 0.75, 0, 0.25]);
  expect([...weightsOf(attention, 0, null)]).toEqual([0.375, 0.375, 0, 0.25]);
  // The second layer that attends is the third of the model.
  expect([...weightsOf(attention, 1, 0)]).toEqual([0, 0, 0.75, 0.25]);
  expect(weightsOf(attention, 5, null)).toHaveLength(4);
});

it('sums up what stands before the words that are drawn', () => {
  expect(cutBefore(Float32Array.of(0.5, 0.5))).toEqual({ first: 0, earlier: 0 });
  const weights = new Float32Array(MOST_WORDS + 3).fill(0.25);
  expect(cutBefore(weights)).toEqual({ first: 3, earlier: 0.75 });
});

it('names the words with the largest weights', () => {
  const weights = Float32Array.from({ length: 100 }, (_, i) => (i % 10 === 3 ? i / 128 : 0));
  expect(largest(weights).slice(0, 3)).toEqual([
    [93, 93 / 128],
    [83, 83 / 128],
    [73, 73 / 128],
  ]);
  expect(largest(weights)).toHaveLength(10);
});

it('draws an arc to each word of some weight, the wider the more, and never above the picture', () => {
  const spans = Array.from({ length: 20 }, (_, i) => ({ left: 40 * i, width: 40 }));
  const weights = spans.map((_, i) => (i === 2 ? 0.6 : i === 19 ? 0.1 : i === 7 ? 0.3 : 0.001));
  const arcs = arcsOf(spans, weights, 100);
  expect(arcs.map(({ weight }) => weight)).toEqual([0.6, 0.3, 0.1]);
  const [far, near, own] = arcs;
  expect(far?.width).toBeGreaterThan(near?.width ?? 0);
  expect(far?.path).toBe('M780 100C780 4 100 4 100 100');
  // To itself it is a loop.
  expect(own?.path).toMatch(/^M760 100C.* 800 100$/);
  for (const { path } of arcs)
    for (const y of path.match(/(?<= )-?[\d.]+/g) ?? [])
      expect(Number(y)).toBeGreaterThanOrEqual(0);
  expect(arcsOf([], [], 100)).toEqual([]);
});
