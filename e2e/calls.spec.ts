// Calls like those of other web APIs: signals with reasons, bytes and Responses as sources.
import type * as Library from '@sluice/engine';
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
      // Mostly this fires after the header, which comes at once; the rest never comes.
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

test('a Uint8Array and a Response are read as an address is', async ({
  page,
  site,
  models,
  allowed,
}) => {
  allowed.push(/404 \(Not Found\)/);
  await harness(page, site);
  const good = models.good('stories.gguf');
  const half = models.gated('stories.gguf', 2_000_000);
  const found = await page.evaluate(
    async ({ good, half, missing, circle }) => {
      const { Engine } = window.library;
      const whole = new Uint8Array(await (await fetch(good)).arrayBuffer());
      const within = new Uint8Array(whole.length + 3000).fill(7);
      within.set(whole, 1000);
      const part = within.subarray(1000, 1000 + whole.length);
      const stream = new ReadableStream<Uint8Array>({
        start: (controller) => {
          for (let at = 0; at < whole.length; at += 100_000)
            controller.enqueue(whole.subarray(at, at + 100_000));
          controller.close();
        },
      });
      const wrong = { headers: { 'content-length': '5' } };
      const sources: [string, () => Library.ModelSource | Promise<Response>][] = [
        ['address', () => good],
        ['Uint8Array', () => whole],
        ['a part of one', () => part],
        ['Response', () => fetch(good)],
        ['Response of a stream', () => new Response(stream, wrong)],
      ];
      const texts: [string, string][] = [];
      for (const [name, source] of sources) {
        const engine = await Engine.load(await source());
        let text = '';
        for await (const token of engine.generate('Once', { maxTokens: 12, seed: 1 }))
          text += token.text;
        await engine.ready;
        texts.push([name, `${engine.info.bytes} bytes: ${text}`]);
        await engine.close();
      }
      const kept = whole.length === within.length - 3000 && String(part) === String(whole);

      // Its body is cancelled after the header, and when the engine is closed.
      const probed = (await Engine.probe(await fetch(half))).architecture;
      const closing = await Engine.load(await fetch(half));
      await closing.close();

      const used = await fetch(good);
      await used.arrayBuffer();
      const refused: string[] = [];
      const redirected = await fetch(circle, { redirect: 'manual' });
      for (const response of [used, redirected, await fetch(missing)]) {
        await Engine.load(response).catch((e: Library.SluiceError) =>
          refused.push(`${e.code}: ${e.message}`),
        );
      }
      return { texts, kept, probed, refused };
    },
    { good, half: half.url, missing: models.bad('missing'), circle: models.bad('circle') },
  );
  const [[, text] = ['', '']] = found.texts;
  expect(text).toMatch(/^2578944 bytes: .{20}/s);
  expect(found.texts).toHaveLength(5);
  for (const [name, same] of found.texts) expect(same, name).toBe(text);
  expect(found).toMatchObject({ kept: true, probed: 'llama' });
  expect(found.refused).toEqual([
    expect.stringMatching(/^invalid_argument: the Response's body is read already/),
    expect.stringMatching(/^invalid_argument: the Response is opaqueredirect/),
    expect.stringMatching(/^download_failed: 127.0.0.1:\d+ answered 404 .*check the address$/),
  ]);
  await expect.poll(() => models.underway(half.url)).toBe(0);
});

test('an isolated page in a browser without shared memory says so, and runs on one thread', async ({
  page,
  app,
  site,
}) => {
  // Like WebKitGTK.
  await page.addInitScript(() => Reflect.deleteProperty(globalThis, 'SharedArrayBuffer'));
  await harness(page, site);
  const found = await page.evaluate(async () => {
    const { Engine } = window.library;
    const load = (flavour?: Library.Flavour) =>
      Engine.load('/models/stories-q8_0.gguf', { flavour });
    const engine = await load();
    const { flavour, threads, notes } = engine.stats;
    await engine.close();
    const refused = await load('simd-mt').catch((e: Library.SluiceError) => e.message);
    return { isolated: crossOriginIsolated, flavour, threads, notes, refused };
  });
  expect(found).toEqual({
    isolated: true,
    flavour: 'relaxed',
    threads: 1,
    notes: [expect.objectContaining({ code: 'threads_need_shared_memory', audience: 'user' })],
    refused: expect.stringMatching(/needs threads, and this browser has no SharedArrayBuffer/),
  });
  await app.open();
  await app.openFigures();
  await expect(page.getByText('One thread.')).toHaveCount(1);
  await expect(page.getByText('This browser has no memory that threads could')).toBeVisible();
  await expect(app.figure('Threads')).toHaveText('1');
});

test('await using closes a session and an engine; a call by another name is told the right one', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  // A string, because the test runner would compile the new syntax to the old one.
  const found = await page.evaluate(`(async () => {
    const { Engine } = window.library;
    const told = async (run) => {
      try {
        return String(await run());
      } catch ({ code, message }) {
        return code + ': ' + message;
      }
    };
    const url = ${JSON.stringify(models.good('stories.gguf'))};
    const calls = [];
    let engine, session;
    {
      await using first = await Engine.load(url);
      engine = first;
      {
        await using own = engine.session();
        session = own;
        await own.generate('Once').next();
      }
      calls.push(await told(() => session.tokens()));
      const chat = [{ role: 'user', content: 'Hello' }];
      for (const prompt of [undefined, chat]) calls.push(await told(() => engine.generate(prompt).next()));
      calls.push(await told(() => engine.generate('Once', { max_tokens: 5 }).next()));
    }
    calls.push(await told(() => engine.tokenize('Once')));
    calls.push(await told(() => new Engine()));
    calls.push(await told(() => Engine.load(url, { n_ctx: 512 })));
    return calls;
  })()`);
  expect(found).toEqual([
    expect.stringMatching(/^closed: this session is closed/),
    expect.stringMatching(
      /^invalid_argument: prompt is undefined; .* generate\('Once upon a time'/,
    ),
    expect.stringMatching(/^invalid_argument: prompt is a list of chat messages, and generate/),
    expect.stringMatching(/^invalid_argument: .*; it is called maxTokens here$/),
    expect.stringMatching(/^closed: this engine is closed/),
    expect.stringMatching(/^invalid_argument: .*call await Engine.load\(source\)/),
    expect.stringMatching(/^invalid_argument: .*; it is called contextSize here$/),
  ]);
});

test('a probe says whether the model fits the budget that is given', async ({
  page,
  site,
  models,
}) => {
  await harness(page, site);
  const found = await page.evaluate(async (url) => {
    const { Engine } = window.library;
    const tight = await Engine.probe(url, { memoryBudget: 1000 });
    const loaded = await Engine.load(url, { memoryBudget: 1000 }).catch(
      (error: Library.SluiceError) => error.code,
    );
    const { memory, fits } = await Engine.probe(url, { memoryBudget: 1e9 });
    return {
      fits: tight.fits,
      code: tight.error?.code,
      loaded,
      memory: memory !== null,
      wide: fits,
    };
  }, models.good('stories.gguf'));
  expect(found).toEqual({
    fits: false,
    code: 'budget_too_small',
    loaded: 'budget_too_small',
    memory: true,
    wide: true,
  });
});
