// Sessions of one model in the browser: each has the same text and bits as alone.
import { expect, test } from './fixtures';
import { harness, type LibraryWindow } from './library';
import { NO_NATIVE, nativeBuilt } from './models';

declare const window: LibraryWindow;

/** A prompt of several blocks, and one of a few tokens. */
const LONG = Array.from({ length: 300 }, (_, i) => 3 + ((i * 5) % 90));
const SHORT = [9, 8, 7];

for (const [flavour, threads] of [
  ['simd', 1],
  ['relaxed-mt', 2],
] as const) {
  test(`${flavour}: two sessions that generate at once take turns, with the text of each alone`, async ({
    page,
    site,
    models,
  }) => {
    await harness(page, site);
    const found = await page.evaluate(
      async ({ url, flavour, threads, prompts }) => {
        const engine = await window.library.Engine.load(url, { flavour, threads });
        const options = { seed: 7, maxTokens: 200, ignoreEos: true };
        const order: number[] = [];
        const write = async (session: { generate: typeof engine.generate }, which: number) => {
          const ids: number[] = [];
          for await (const { id } of session.generate(prompts[which] ?? [], options)) {
            ids.push(id);
            order.push(which);
          }
          return ids;
        };
        const alone = [await write(engine.session(), 0), await write(engine.session(), 1)];
        const together = await Promise.all([write(engine, 0), write(engine.session(), 1)]);
        // Both prompts have the same length. Each text takes about 50 ms, in slices of 10.
        order.length = 0;
        options.maxTokens = 400;
        await Promise.all([write(engine.session(), 1), write(engine.session(), 2)]);
        await engine.close();
        const first = [order.indexOf(1), order.indexOf(2)];
        const last = [order.lastIndexOf(1), order.lastIndexOf(2)];
        return { alone, together, first: Math.max(...first), last: Math.min(...last) };
      },
      { url: models.good('stories.gguf'), flavour, threads, prompts: [LONG, SHORT, [7, 8, 9]] },
    );
    expect(found.together).toEqual(found.alone);
    expect(found.together[0]).toHaveLength(200);
    // Neither session waits for the end of the other.
    expect(found.first).toBeLessThan(found.last);
  });
}

test('a clone goes another way in the middle of a chunk; a session that is cut goes on; memory comes back', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const found = await page.evaluate(
    async ({ url, prompt }) => {
      const engine = await window.library.Engine.load(url, { threads: 1 });
      await engine.ready;
      const options = { seed: 3, maxTokens: 12, ignoreEos: true };
      const collect = async (tokens: AsyncIterable<{ id: number }>): Promise<number[]> => {
        const ids: number[] = [];
        for await (const { id } of tokens) ids.push(id);
        return ids;
      };
      const first = engine.session();
      await collect(first.generate(prompt, options));
      const known = await first.tokens();
      const held = first.stats.residentBytes;
      const copy = first.clone();
      const [a, b] = await Promise.all([
        collect(first.generate([...known, 11], options)),
        collect(copy.generate([...known, 12], options)),
      ]);
      const reused = copy.stats.reusedTokens;
      // The clone takes one more chunk of keys and values, not two.
      const grown = copy.stats.residentBytes - held;
      await copy.truncate(100);
      const cut = await collect(copy.generate([...known.slice(0, 100), 13], options));
      const reusedAfterCut = copy.stats.reusedTokens;
      const alone = async (ids: number[]): Promise<number[]> => {
        const session = engine.session();
        const written = await collect(session.generate(ids, options));
        await session.close();
        return written;
      };
      const expected = [
        await alone([...known, 11]),
        await alone([...known, 12]),
        await alone([...known.slice(0, 100), 13]),
      ];
      const codes: unknown[] = [];
      const running = first.generate(prompt, options);
      await running.next();
      for (const what of [
        () => first.generate([9, 8, 7]).next(),
        async () => void first.clone(),
        () => first.truncate(1),
      ])
        codes.push(await what().catch((error: { code: unknown }) => error.code));
      await first.close();
      codes.push(await collect(running).catch((error: { code: unknown }) => error.code));
      codes.push(await first.tokens().catch((error: { code: unknown }) => error.code));
      await copy.close();
      const before = engine.stats.residentBytes;
      await collect(engine.generate([9, 8, 7], options));
      const after = engine.stats.residentBytes;
      await engine.close();
      return {
        texts: [a, b, cut],
        expected,
        reused,
        known,
        reusedAfterCut,
        grown,
        codes,
        before,
        after,
        held,
      };
    },
    { url: models.good('stories.gguf'), prompt: LONG.slice(0, 200) },
  );
  expect(found.texts).toEqual(found.expected);
  expect(found.known).toHaveLength(211);
  expect(found.reused).toBe(211);
  expect(found.reusedAfterCut).toBe(100);
  expect(found.grown).toBeGreaterThan(0);
  expect(found.grown).toBeLessThan(2 * 327680);
  expect(found.codes).toEqual(['busy', 'busy', 'busy', 'aborted', 'closed']);
  // Both sessions are gone; only the engine's own is left.
  expect(found.after).toBeLessThan(found.held);
});

for (const name of ['gemma4-q8_0.gguf', 'qwen35-q8_0.gguf']) {
  test(`${name}: clones and a session that is cut write as alone`, async ({
    page,
    site,
    models,
  }) => {
    test.skip(!nativeBuilt, NO_NATIVE);
    await harness(page, site);
    const found = await page.evaluate(
      async ({ url, prompt }) => {
        const engine = await window.library.Engine.load(url, { contextSize: 512 });
        const collect = async (
          session: { generate: typeof engine.generate },
          ids: number[],
        ): Promise<number[]> => {
          const written: number[] = [];
          const options = { seed: 3, maxTokens: 12, ignoreEos: true };
          for await (const { id } of session.generate(ids, options)) written.push(id);
          return written;
        };
        const first = engine.session();
        await collect(first, prompt);
        const known = await first.tokens();
        const copy = first.clone();
        const ways = [
          [...known, 11],
          [...known, 12],
          [...known.slice(0, 100), 13],
        ] as const;
        const texts = await Promise.all([
          collect(first, [...ways[0]]),
          collect(copy, [...ways[1]]),
        ]);
        const reused = copy.stats.reusedTokens;
        await copy.truncate(100);
        texts.push(await collect(copy, [...ways[2]]));
        const alone: number[][] = [];
        for (const ids of ways) {
          const session = engine.session();
          alone.push(await collect(session, [...ids]));
          await session.close();
        }
        await engine.close();
        return { texts, alone, reused, known: known.length };
      },
      { url: models.good(name), prompt: LONG.slice(0, 200) },
    );
    expect(found.texts).toEqual(found.alone);
    expect(found.reused).toBe(found.known);
  });
}
