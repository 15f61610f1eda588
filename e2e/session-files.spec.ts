// Sessions as files: what the program has saved goes on in the page, and the other way, with the same bits.
import fs from 'node:fs';
import { expect, test } from './fixtures';
import { harness, type LibraryWindow } from './library';
import { BUNDLED, NO_NATIVE, nativeBuilt, sluice } from './models';
import { base64, goOn, OPTIONS, programWith, PROMPT, TOKENS, type Written } from './saved';

declare const window: LibraryWindow;

test.skip(!nativeBuilt, NO_NATIVE);

// tests/node/sessions.test.mjs has other types and families, and what is refused.
for (const [flavour, threads, kvType, name] of [
  ['simd', 1, 'f16', 'stories.gguf'],
  ['relaxed-mt', 2, 'q8_0', 'stories.gguf'],
  // What windows hold.
  ['relaxed', 1, 'f32', 'gemma4-q8_0.gguf'],
] as const) {
  test(`${name}, ${flavour}, ${kvType}: a session goes to the page and back`, async ({
    page,
    site,
    models,
  }, info) => {
    const file = info.outputPath('a.sluice');
    const model = models.models.get(name) ?? '';
    const write = (...args: string[]): Written[] => programWith(model, kvType, file, ...args);
    write('-p', PROMPT, '--seed', '11');
    const begun = base64(file);
    const expected = [write()];
    const after = base64(file);
    expected.push(write());
    await harness(page, site);
    const found = await page.evaluate(goOn, {
      url: models.good(name),
      load: { flavour, threads, kvType },
      begun,
      options: OPTIONS,
      prompt: PROMPT,
    });
    expect(found.unchanged).toBe(true);
    expect(found.written).toEqual(expected);
    expect(found.reusedTokens).toBeGreaterThan(TOKENS);
    expect(found.saved).toBe(after);
    expect(found.refused).toEqual(['bad_file', 'bad_file', 'bad_file']);
    fs.writeFileSync(file, Buffer.from(found.ours, 'base64'));
    expect(write()).toEqual(found.next);
    expect(found.next).toHaveLength(TOKENS);
  });
}

test('a prefix is fetched, and costs no computing', async ({
  page,
  site,
  models,
  allowed,
}, info) => {
  allowed.push(/status of 404/);
  const file = info.outputPath('a.sluice');
  const prepare = ['run', '-m', BUNDLED, '-p', PROMPT, '-n', '0', '--session', file, '-q'];
  expect(sluice(...prepare)).toBe('');
  const asked: string[] = [];
  await page.route('**/prepared/*', (route) => {
    asked.push(route.request().url());
    return route.request().url().endsWith('/a.sluice')
      ? route.fulfill({ body: fs.readFileSync(file) })
      : route.fulfill({ status: 404, body: 'no' });
  });
  await harness(page, site);
  const found = await page.evaluate(
    async ({ url, prompt }) => {
      const engine = await window.library.Engine.load(url, { threads: 1 });
      const session = await engine.session({ prefix: '/prepared/a.sluice' });
      const write = async (of: { generate: typeof engine.generate }): Promise<string> => {
        let text = '';
        for await (const token of of.generate(`${prompt} She`, { maxTokens: 10, temperature: 0 }))
          text += token.text;
        return text;
      };
      const tokens = (await session.tokens()).length;
      const texts = [await write(session), await write(engine)];
      const { reusedTokens, promptTokens } = session.stats;
      const refused = await engine.session({ prefix: '/prepared/none' }).then(
        () => null,
        ({ code, status }: { code: string; status: number }) => ({ code, status }),
      );
      await engine.close();
      return { tokens, texts, reusedTokens, promptTokens, refused };
    },
    { url: models.good('stories.gguf'), prompt: PROMPT },
  );
  expect(found.texts[0]).toBe(found.texts[1]);
  expect(found.texts[0]).not.toBe('');
  expect(found.reusedTokens).toBe(found.tokens);
  expect(found.promptTokens).toBe(found.tokens + 1);
  expect(found.refused).toEqual({ code: 'download_failed', status: 404 });
  expect(asked).toHaveLength(2);
});
