// A real encoder, all-MiniLM-L6-v2, in Chromium: the library's vectors have the hashes of the native program in every
// flavour. tests/real/real-model.mjs runs this.
import fs from 'node:fs';
import path from 'node:path';
import type * as Library from '@sluice/engine';
import { expect, test } from './fixtures';
import type { LibraryWindow } from './library';
import { harness } from './library';

declare const window: LibraryWindow;

/** The folder of the converted files. */
const DIR = process.env['SLUICE_REAL_VECTORS'] ?? '';
const FLAVOURS = JSON.parse(
  fs.readFileSync(new URL('../wasm/flavours.json', import.meta.url), 'utf8'),
) as Library.Flavour[];

interface Answers {
  texts: { text: string }[];
  /** SHA-256 of all vectors, by the type of the file. */
  hashes: Record<string, string>;
}
const { texts, hashes } = JSON.parse(
  fs.readFileSync(new URL('../tests/data/all-minilm-l6-v2.json', import.meta.url), 'utf8'),
) as Answers;

test.skip(DIR === '', 'node tests/real/real-model.mjs runs this');

interface Asked {
  url: string;
  flavour: Library.Flavour;
  texts: string[];
}

/** Runs in the page: the SHA-256 of all vectors, and how they were computed. */
async function hashIn({ url, flavour, texts }: Asked): Promise<{ how: string; hash: string }> {
  const engine = await window.library.Engine.load(url, { flavour, cache: 'none' });
  await engine.ready;
  const vectors = (await engine.embed(texts)).map(({ embedding }) => embedding);
  const { stats } = engine;
  await engine.close();
  const bytes = new Uint8Array(await new Blob(vectors as BlobPart[]).arrayBuffer());
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  const hash = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return { how: stats.flavour, hash };
}

for (const [type, hash] of Object.entries(hashes)) {
  // The larger file is tried where there are threads alone.
  for (const flavour of FLAVOURS.filter((one) => type !== 'F32' || one.endsWith('-mt'))) {
    test(`${type}, ${flavour}: the hash of the native program`, async ({ page, site, hub }) => {
      const name = `all-minilm-l6-v2-${type.toLowerCase()}.gguf`;
      const { url } = hub.add(name, path.join(DIR, name));
      await harness(page, site);
      const asked = { url, flavour, texts: texts.map(({ text }) => text) };
      expect(await page.evaluate(hashIn, asked)).toEqual({ how: flavour, hash });
    });
  }
}
