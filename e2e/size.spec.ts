// How much script the built page has.
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { expect, test } from '@playwright/test';
import { ROOT } from './servers';

const DIST = path.join(ROOT, 'web/app/dist');
/** Bytes, compressed, without the wasm and the script that comes with it. */
const LIMIT = 150_000;
/** Of those, what a first visit needs before its first text. */
const FIRST = 120_000;

/** A script's name without its hash. */
function kind(file: string): string {
  return path.basename(file).replace(/-[\w-]{8}\.js$/, '');
}

function compressed(files: readonly string[]): { sum: number; listed: string } {
  const sizes = files.map((file) => {
    const bytes = fs.readFileSync(path.join(DIST, 'assets', file));
    return [kind(file), zlib.brotliCompressSync(bytes).length] as const;
  });
  const listed = sizes.map(([name, size]) => `${name} ${size}`).join(', ');
  return { sum: sizes.reduce((all, [, size]) => all + size, 0), listed };
}

test('the page has little script, and a first visit needs only a part of it', () => {
  const all = fs
    .readdirSync(path.join(DIST, 'assets'))
    .filter((file) => file.endsWith('.js') && !/^sluice-/.test(file));
  // What draws formulas comes with the first of them.
  const usual = all.filter((file) => kind(file) !== 'katex');
  expect(all.length).toBe(usual.length + 1);
  const page = compressed(usual);
  expect(page.sum, page.listed).toBeLessThan(LIMIT);

  const html = fs.readFileSync(path.join(DIST, 'index.html'), 'utf8');
  const early = [...html.matchAll(/(?:src|href)="\.\/assets\/([^"]+\.js)"/g)].map(
    ([, file]) => file ?? '',
  );
  // The page's own, and those of its workers.
  expect(early.map(kind).sort()).toEqual(['engine-worker', 'index', 'loader-worker']);
  const first = compressed(early);
  expect(first.sum, first.listed).toBeLessThan(FIRST);
});
