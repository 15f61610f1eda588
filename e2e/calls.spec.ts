// The library called as other code of the web is: signals with reasons.
import { expect, test } from './fixtures';
import { harness, type LibraryWindow } from './library';

declare const window: LibraryWindow;

test('AbortSignal.timeout ends a load, a probe and a text with its TimeoutError', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const gated = [models.gated('stories.gguf', 100), models.gated('stories.gguf', 100)];
  const found = await page.evaluate(
    async ({ good, gated, stalled }) => {
      const { Engine } = window.library;
      const outcomes: string[] = [];
      const note = (what: string, signal: AbortSignal) => (error: unknown) => {
        const { name } = error as DOMException;
        outcomes.push(`${what}: ${name}, ${error === signal.reason ? 'the reason' : 'another'}`);
      };
      for (const [i, call] of (['load', 'probe'] as const).entries()) {
        const signal = AbortSignal.timeout(50);
        await Engine[call](gated[i] ?? '', { signal }).catch(note(call, signal));
      }
      // Mostly behind the header, which is there at once; the rest never comes.
      const late = AbortSignal.timeout(1000);
      await Engine.load(stalled, { signal: late })
        .then(({ ready }) => ready)
        .catch(note('ready', late));

      const engine = await Engine.load(good);
      await engine.ready;
      const signal = AbortSignal.timeout(50);
      const endless = async (): Promise<void> => {
        for (;;) for await (const _ of engine.generate('Once', { signal, ignoreEos: true }));
      };
      await endless().catch(note('generate', signal));
      const own = AbortSignal.abort(new RangeError('mine'));
      await engine.tokenize('Once', { signal: own }).catch(note('tokenize', own));
      let tokens = 0;
      for await (const _ of engine.generate('Once', { maxTokens: 3, ignoreEos: true })) ++tokens;
      await engine.close();
      return { outcomes, tokens };
    },
    {
      good: models.good('stories.gguf'),
      gated: gated.map(({ url }) => url),
      stalled: models.bad('stalled'),
    },
  );
  expect(found.outcomes).toEqual([
    'load: TimeoutError, the reason',
    'probe: TimeoutError, the reason',
    'ready: TimeoutError, the reason',
    'generate: TimeoutError, the reason',
    'tokenize: RangeError, the reason',
  ]);
  expect(found.tokens).toBe(3);
});
