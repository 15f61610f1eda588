// onPromptProgress: when it is called, and with what; and complete(), which resolves with a whole text.
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { PromptProgress as Counts } from '../../../wasm/module.js';
import { Engine, type PromptProgress } from '../src/index.js';
import { PATIENCE_MS, PROMPT_MS, PromptNews } from '../src/engine/prompt-news.js';
import { MODEL, collect, file } from './engine-setup.js';
import { streamOf, stubFetch, useFakes } from './fake-workers.js';

function counts(computed: number, more: Partial<Counts> = {}): Counts {
  return { computed, total: 100, reused: 10, secondsLeft: -1, waiting: false, ...more };
}

describe('the news of a prompt', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  function newsOf(look: () => Counts | null): { news: PromptNews; told: PromptProgress[] } {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const told: PromptProgress[] = [];
    return { news: new PromptNews(look, (progress) => told.push(progress)), told };
  }

  it('begin after 200 ms, come eight times a second, and end with the whole prompt', () => {
    let computed = 10;
    const { news, told } = newsOf(() => counts(computed, { secondsLeft: 3 }));
    for (let ms = 0; ms < PATIENCE_MS; ms += 10) {
      news.changed(false);
      vi.advanceTimersByTime(10);
    }
    expect(told).toEqual([]);
    for (let ms = 0; ms < 1000; ms += 10) {
      if (computed < 99) computed += 1;
      news.changed(false);
      vi.advanceTimersByTime(10);
    }
    expect(told.length).toBeGreaterThan(6);
    expect(told.length).toBeLessThan(10);
    expect(told[0]).toEqual({
      computed: 11,
      total: 100,
      reused: 10,
      cached: 10, // its name before, for one version
      secondsLeft: 3,
      waiting: false,
    });
    computed = 100;
    news.done();
    expect(told.at(-1)?.computed).toBe(100);
    const all = told.length;
    news.changed(false);
    vi.advanceTimersByTime(1000);
    expect(told.length).toBe(all);
  });

  it('come once the time is there while the prompt waits, and only once', () => {
    const { news, told } = newsOf(() => counts(10, { waiting: true }));
    news.changed(true);
    news.changed(true);
    vi.advanceTimersByTime(PATIENCE_MS - 1);
    expect(told).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(told).toMatchObject([{ computed: 10, secondsLeft: null, waiting: true }]);
    news.changed(true);
    vi.advanceTimersByTime(PROMPT_MS - 1);
    expect(told.length).toBe(1);
    vi.advanceTimersByTime(1);
    expect(told.length).toBe(2);
  });

  it('are none of a short prompt, of a text that is not encoded yet, and of a run that has ended', () => {
    const short = newsOf(() => counts(100));
    short.news.changed(true);
    short.news.done();
    vi.advanceTimersByTime(1000);
    expect(short.told).toEqual([]);
    for (const look of [() => counts(0, { total: 0 }), () => null]) {
      const { news, told } = newsOf(look);
      vi.advanceTimersByTime(1000);
      news.changed(false);
      expect(told).toEqual([]);
    }
  });
});

describe('onPromptProgress', () => {
  it.each(['generate', 'complete', 'session.generate'])('is called by %s', async (call) => {
    const seen: PromptProgress[] = [];
    let computed = 10;
    useFakes({
      control: {
        working: () => seen.length < 3,
        prompt: () => counts(seen.length < 3 ? computed++ : 100, { secondsLeft: 5 }),
      },
    });
    const engine = await Engine.load(MODEL);
    await engine.ready;
    const onPromptProgress = (progress: PromptProgress): void => {
      seen.push(progress);
      if (seen.length === 1) firstAt = performance.now();
    };
    let firstAt = 0;
    const options = { maxTokens: 3, onPromptProgress };
    const since = performance.now();
    const text =
      call === 'complete'
        ? (await engine.complete('a b', options)).text
        : await collect((call === 'generate' ? engine : engine.session()).generate('a b', options));
    expect(text).toBe(call === 'complete' ? 'aba' : 'a b a');
    expect(firstAt - since).toBeGreaterThanOrEqual(PATIENCE_MS - 1);
    expect(seen[0]).toEqual({ ...seen[0], total: 100, reused: 10, secondsLeft: 5, waiting: false });
    expect(seen.at(-1)?.computed).toBe(100);
    for (let i = 1; i < seen.length; ++i)
      expect(seen[i]?.computed).toBeGreaterThanOrEqual(seen[i - 1]?.computed as number);
    const all = seen.length;
    await collect(engine.generate('x', { maxTokens: 2 }));
    expect(seen.length).toBe(all);
  });

  it('is called while the prompt waits for weights, and no more once it is stopped', async () => {
    stubFetch(() => new Response(streamOf([file.slice(0, 1000)], 'hang')));
    useFakes({ control: { prompt: () => counts(10, { waiting: true }) } });
    const engine = await Engine.load(MODEL);
    const controller = new AbortController();
    const seen: PromptProgress[] = [];
    const text = engine.complete('a b', {
      signal: controller.signal,
      onPromptProgress: (progress) => {
        seen.push(progress);
        controller.abort();
      },
    });
    await expect(text).rejects.toMatchObject({ name: 'AbortError', code: 'aborted' });
    expect(seen).toEqual([
      { computed: 10, total: 100, reused: 10, cached: 10, secondsLeft: null, waiting: true },
    ]);
    await engine.close();
  });

  it('must be a function', async () => {
    useFakes();
    const engine = await Engine.load(MODEL);
    const wrong = engine.complete('a', { onPromptProgress: 7 } as never);
    await expect(wrong).rejects.toThrow('onPromptProgress is 7; give a function');
  });
});

describe('complete', () => {
  it('resolves with the text, the ids, the end and the figures of its run', async () => {
    const control = useFakes();
    const engine = await Engine.load(MODEL);
    const done = await engine.complete('a b', { maxTokens: 3, seed: 4, stop: ['x'] });
    expect(done).toEqual({
      text: 'aba',
      tokens: [0, 1, 2],
      finish: 'length',
      stats: engine.stats,
    });
    expect(done.stats).toMatchObject({ promptTokens: 2, tokens: 3, finish: 'length' });
    expect(control.starts[0]).toEqual({
      prompt: 'a b',
      options: { maxTokens: 3, seed: 4, stop: ['x'] },
    });
    const session = engine.session();
    const [own, other] = await Promise.all([
      engine.complete('c', { maxTokens: 1 }),
      session.complete([5, 6], { maxTokens: 2 }),
    ]);
    expect([own.text, other.text]).toEqual(['c', '56']);
    expect([own.stats.tokens, other.stats.tokens]).toEqual([1, 2]);
    expect((await engine.complete('c', { maxTokens: 0 })).text).toBe('');
  });

  it('keeps the figures of its own run when another one begins at once', async () => {
    useFakes();
    const engine = await Engine.load(MODEL);
    const first = engine.complete('a b', { maxTokens: 3 });
    const second = first.then(() => engine.complete('x', { maxTokens: 1 }));
    expect((await first).stats).toMatchObject({ tokens: 3, promptTokens: 2 });
    expect((await second).stats).toMatchObject({ tokens: 1, promptTokens: 1 });
    expect((await first).stats.tokens).toBe(3);
  });

  it('rejects with wrong options, while the engine is busy, and when it is aborted', async () => {
    useFakes({ control: { working: () => true } });
    const engine = await Engine.load(MODEL);
    await expect(engine.complete('a', { topP: 7 })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    await expect(engine.complete('a', { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    });
    const controller = new AbortController();
    const running = engine.complete('a', { signal: controller.signal });
    await expect(engine.complete('b')).rejects.toMatchObject({ code: 'busy' });
    controller.abort();
    await expect(running).rejects.toMatchObject({ name: 'AbortError', code: 'aborted' });
    expect(engine.stats.finish).toBe('aborted');
  });
});
