// What the page is told of the weights.
import { describe, expect, it, vi } from 'vitest';
import { Engine, type WeightsView } from '../src/index.js';
import { MODEL, collect, file } from './engine-setup.js';
import { useFakes } from './fake-workers.js';

const SLOTS = [0, 100, 100, 2, 0, 1, 1, 500, 200, 1, 1, 3];

describe('onWeights', () => {
  it.each([
    ['file', new Blob([file])],
    ['network', MODEL],
    ['memory', file],
  ] as const)('tells parts, rate and times: from %s', async (source, from) => {
    useFakes({ control: { slots: SLOTS } });
    const seen: WeightsView[] = [];
    const engine = await Engine.load(from, { onWeights: (view) => seen.push(view) });
    await engine.ready;
    await collect(engine.generate('one two', { maxTokens: 3 }));
    await vi.waitFor(() => expect(seen.length).toBeGreaterThan(0));
    expect(seen[0]).toMatchObject({
      slots: [
        { kind: 'embedding', bytes: 100, arrived: 100, state: 'resident', reread: false },
        { kind: 'layer', bytes: 500, arrived: 200, state: 'arriving', reread: true, fills: 3 },
      ],
      source,
      rereadBytes: 2 * 500 + 200,
      waitedMs: 0,
    });
    await engine.close();
  });

  it('tells the time that the last run has waited', async () => {
    useFakes({ control: { slots: SLOTS, waitedMs: 12.5 } });
    const seen: WeightsView[] = [];
    const engine = await Engine.load(MODEL, { onWeights: (view) => seen.push(view) });
    await collect(engine.generate('one two', { maxTokens: 3 }));
    await vi.waitFor(() => expect(seen.at(-1)?.waitedMs).toBe(12.5), 20_000);
    await engine.close();
  });

  it('an error in it does not stop the load', async () => {
    useFakes({ control: { slots: SLOTS } });
    const thrown: unknown[] = [];
    const queue = vi.spyOn(globalThis, 'queueMicrotask').mockImplementation((work) => {
      void Promise.resolve()
        .then(work)
        .catch((error: unknown) => thrown.push(error));
    });
    try {
      const engine = await Engine.load(MODEL, {
        onWeights: () => {
          throw new Error('mine');
        },
      });
      await engine.ready;
      expect(await collect(engine.generate('one two', { maxTokens: 2 }))).toBe('one two');
      await vi.waitFor(() => expect(thrown.map(String)).toContain('Error: mine'), 20_000);
      await engine.close();
    } finally {
      queue.mockRestore();
    }
  });

  it('must be a function, and is not asked for by probe', async () => {
    const control = useFakes({ control: { slots: SLOTS } });
    await expect(Engine.load(MODEL, { onWeights: 1 as never })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('onWeights is 1; give a function') as string,
    });
    await Engine.probe(MODEL, { onWeights: () => {} } as never);
    const engine = await Engine.load(MODEL);
    await engine.ready;
    expect(control.looks).toBe(0);
    expect(engine.stats.memoryBudget).toBe(0);
    await engine.close();
  });
});
