// A real model, Gemma 3 270M, in Chromium: the library's hashes in every flavour, and the page from its file, from an
// address and from what is kept. tests/real/real-model.mjs runs this.
import fs from 'node:fs';
import type * as Library from '@sluice/engine';
import { AppPage } from './fixtures';
import type { LibraryWindow } from './library';
import { harness } from './library';
import { expect, test, type Profile } from './profile';
import type { Site } from './servers';

declare const window: LibraryWindow;

const MODEL = process.env['SLUICE_REAL_MODEL'] ?? '';
const FLAVOURS = JSON.parse(
  fs.readFileSync(new URL('../wasm/flavours.json', import.meta.url), 'utf8'),
) as Library.Flavour[];

interface Answers {
  texts: { prompt: number[]; tokens: number[] }[];
  /** Of the last logits after a text and its tokens. */
  hashes: { text: number; hash: string }[];
}
const { texts, hashes } = JSON.parse(
  fs.readFileSync(new URL('../tests/data/gemma-3-270m.json', import.meta.url), 'utf8'),
) as Answers;

test.skip(MODEL === '', 'node tests/real/real-model.mjs runs this');

interface Asked {
  url: string;
  flavour: Library.Flavour;
  texts: number[][];
}

/** Runs in the page: the hashes of the logits after each text, and how they were computed. */
async function hashesIn({ url, flavour, texts }: Asked): Promise<{ how: string; found: string[] }> {
  const options = { flavour, kvType: 'f32', contextSize: 1536, cache: 'none' } as const;
  const engine = await window.library.Engine.load(url, options);
  await engine.ready;
  const found: string[] = [];
  for (const ids of texts) found.push((await engine.logits(ids)).hash);
  const { stats } = engine;
  await engine.close();
  return { how: stats.flavour, found };
}

for (const flavour of FLAVOURS) {
  test(`${flavour}: the hashes of the native program`, async ({ page, site, serving }) => {
    const { url } = serving.hub.add('gemma.gguf', MODEL);
    await harness(page, site);
    const hashed = hashes.map(({ text }) => texts[text]).filter((text) => text !== undefined);
    const answer = await page.evaluate(hashesIn, {
      url,
      flavour,
      texts: hashed.map(({ prompt, tokens }) => [...prompt, ...tokens]),
    });
    expect(answer).toEqual({ how: flavour, found: hashes.map(({ hash }) => hash) });
  });
}

/** Opens the page in a browser that keeps models on disk, and waits for its own model. */
async function openPage(profile: Profile, site: Site, fragment: string): Promise<AppPage> {
  const app = new AppPage(await profile.context.newPage(), site);
  await app.open(fragment);
  return app;
}

const NAME = /gemma/i;
const FRAGMENT = '#length=16&seed=5&temperature=0';

test('the page writes with it from a file, from an address, and when it is opened again', async ({
  profile,
  serving,
  site,
}) => {
  const file = serving.hub.add('gemma.gguf', MODEL);
  const app = await openPage(profile, site, FRAGMENT);
  const write = async (): Promise<string> => {
    await app.ready(NAME);
    await app.prompt.fill('The meaning of life and the universe is');
    return app.write();
  };

  await app.chooseFile(MODEL);
  const text = await write();
  expect(text.split(/\s/).length).toBeGreaterThan(8);

  await app.goBack();
  await app.ready();
  await app.loadAddress(file.url);
  expect(await write()).toBe(text);
  expect(file.counts.sent.size).toBe(fs.statSync(MODEL).size);

  // The page's address names the model; what is kept needs no request.
  const { requests } = file.counts;
  await app.page.reload();
  expect(await write()).toBe(text);
  expect(file.counts.requests).toBe(requests);
});
