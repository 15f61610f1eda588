// Engine.measure: how fast this browser decodes.
import { describe, expect, it, vi } from 'vitest';
import { Engine } from '../src/index.js';
import { MODEL, allEnded } from './engine-setup.js';
import { FakeWorker, useFakes } from './fake-workers.js';

const busy = expect.objectContaining({ code: 'busy' }) as unknown;

describe('measure', () => {
  it('measures with the threads that an engine would have, and gives all back', async () => {
    vi.stubGlobal('navigator', { hardwareConcurrency: 3 });
    useFakes({ shared: true });
    expect(await Engine.measure()).toEqual({
      bytesPerSecond: 3e9,
      bytesPerSecond8: 6e9,
      threads: 3,
    });
    await allEnded();
    useFakes();
    expect(await Engine.measure()).toEqual({
      bytesPerSecond: 1e9,
      bytesPerSecond8: 2e9,
      threads: 1,
    });
    await allEnded();
    expect(FakeWorker.all.map(({ kind }) => kind)).toEqual(['engine']);
  });

  it('measures one after the other', async () => {
    let running = 0;
    const most: number[] = [];
    const decodeRate = (): number => {
      most.push(++running);
      return 1e9;
    };
    useFakes({ control: { decodeRate } });
    const first = Engine.measure().then(() => (running -= 1));
    await Promise.all([first, Engine.measure()]);
    // Each measures twice.
    expect(most).toEqual([1, 2, 2, 3]);
  });

  it('is refused while an engine computes, and works beside one that does not', async () => {
    let working = false;
    useFakes({ control: { working: () => working } });
    const engine = await Engine.load(MODEL);
    await engine.ready;
    await Engine.measure();
    working = true;
    const tokens = engine.generate('one two', { maxTokens: 1 });
    const first = tokens.next();
    await expect(Engine.measure()).rejects.toEqual(busy);
    working = false;
    await first;
    await tokens.return?.();
    await vi.waitFor(() => Engine.measure());
    await engine.close();
  });

  it('is refused while a model is loading', async () => {
    useFakes();
    const never = new ReadableStream({ pull: () => new Promise(() => {}) });
    const stop = new AbortController();
    const loading = Engine.load(new Response(never), { signal: stop.signal });
    loading.catch(() => {});
    await vi.waitFor(() => expect(FakeWorker.all).toHaveLength(1));
    await expect(Engine.measure()).rejects.toEqual(busy);
    stop.abort();
    await allEnded();
    expect((await Engine.measure()).threads).toBe(1);
  });

  it('ends with its signal, and says what fails', async () => {
    useFakes({ opening: new Promise(() => {}) });
    const stop = new AbortController();
    const measured = Engine.measure({ signal: stop.signal });
    measured.catch(() => {});
    await vi.waitFor(() => expect(FakeWorker.all).toHaveLength(1));
    // Its turn has not come.
    const waits = new AbortController();
    const second = Engine.measure({ signal: waits.signal });
    waits.abort();
    await expect(second).rejects.toMatchObject({ code: 'aborted' });
    expect(FakeWorker.all[0]?.terminated).toBe(false);
    stop.abort();
    await expect(measured).rejects.toMatchObject({ code: 'aborted' });
    await allEnded();
    useFakes({ control: { decodeRate: () => 0 } });
    await expect(Engine.measure()).rejects.toMatchObject({ code: 'out_of_memory' });
    await expect(Engine.measure({ signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    });
    await expect(Engine.measure({ thread: 1 } as object)).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  });
});
