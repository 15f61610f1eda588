// Inside a model in Chromium: every flavour gives the same bits, those of a run, and the script for it is fetched when it is wanted.
import type * as Library from '@sluice/engine';
import { expect, test } from './fixtures';
import { harness, type LibraryWindow } from './library';
import { BUNDLED } from './models';

declare const window: LibraryWindow;

const FLAVOURS: Library.Flavour[] = ['relaxed-mt', 'simd-mt', 'relaxed', 'simd'];

test('all flavours see the same inside a model, and a run’s own choices', async ({
  page,
  site,
  hub,
}) => {
  const fetched: string[] = [];
  page.on('request', (request) => fetched.push(new URL(request.url()).pathname));
  const scripts = (): string[] => fetched.filter((path) => path.endsWith('sluice-analysis.mjs'));
  await harness(page, site);
  const { url } = hub.add('stories.gguf', BUNDLED);
  const seen: unknown[] = [];
  for (const flavour of FLAVOURS) {
    const before = scripts().length;
    const { text, found } = await page.evaluate(
      async ({ url, flavour }) => {
        const engine = await window.library.Engine.load(url, { flavour });
        const options = { seed: 7, temperature: 0.9, topK: 20, ignoreEos: true };
        const session = engine.session();
        const tokens: Library.Token[] = [];
        for await (const token of session.generate('Once upon a time', {
          ...options,
          maxTokens: 12,
          trace: 64,
        }))
          tokens.push(token);
        const ids = [...(await session.tokens()), tokens.at(-1)?.id ?? 0];
        const text = tokens.map((token) => token.text).join('');
        const promptTokens = ids.length - tokens.length;
        const raws: Library.RawLogits[] = [];
        for await (const raw of engine.rawLogits(ids, { from: promptTokens, top: 64 }))
          raws.push(raw);
        const same = raws.every((raw, i) => {
          const own = tokens[i]?.raw;
          return (
            own?.logits.every(
              (logit, k) => raw.logits[k] === logit && raw.ids[k] === own.ids[k],
            ) === true && own.logSum === raw.logSum
          );
        });
        const taken: boolean[] = [];
        for (const [i, { id, raw }] of tokens.entries()) {
          const before = ids.slice(0, promptTokens + i);
          if (raw === undefined) throw new Error('no raw logits');
          const choice = await engine.choice(raw, before, { ...options, promptTokens });
          taken.push(choice.enough && choice.taken === id);
        }
        const lens = await engine.lens(ids);
        const { weights } = await engine.attention(ids);
        const states = await engine.hiddenStates(['Once upon a time', ids], { at: 'ffn' });
        const plain = (list: Float32Array[]): number[][] => list.map((one) => Array.from(one));
        const found = { same, taken, lens, weights: plain(weights), states: plain(states) };
        await engine.close();
        return { text, found };
      },
      { url, flavour },
    );
    expect(text.length).toBeGreaterThan(20);
    expect(found.same, flavour).toBe(true);
    expect(found.taken, flavour).toEqual(found.taken.map(() => true));
    expect(scripts().length, flavour).toBe(before + 1);
    seen.push(found);
  }
  for (const one of seen) expect(one).toEqual(seen[0]);
  // A text alone fetches none of it.
  const before = scripts().length;
  await page.evaluate(async (url) => {
    const engine = await window.library.Engine.load(url);
    await engine.complete('Once upon a time', { maxTokens: 3 });
    await engine.close();
  }, url);
  expect(scripts().length).toBe(before);
});
