// How much script the built page has.
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { expect, test } from '@playwright/test';
import { ROOT } from './servers';

const DIST = path.join(ROOT, 'web/app/dist');
/** Bytes, compressed, without the wasm and the script that comes with it. */
const LIMIT = 150_000;

test(`the script of a visit has less than ${LIMIT / 1000} KB`, () => {
  const html = fs.readFileSync(path.join(DIST, 'index.html'), 'utf8');
  const files = [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+\.js)"/g)].map(
    ([, file]) => file ?? '',
  );
  const sizes = files.map((file) => {
    const bytes = fs.readFileSync(path.join(DIST, file));
    return [file, zlib.brotliCompressSync(bytes).length] as const;
  });
  const kind = (file: string): string => path.basename(file).replace(/-[\w-]{8}\.js$/, '');
  // The page's own, and those of its workers.
  expect(sizes.map(([file]) => kind(file)).sort()).toEqual([
    ...['engine-worker', 'index', 'loader-worker'],
  ]);
  const sum = sizes.reduce((all, [, size]) => all + size, 0);
  const listed = sizes.map(([file, size]) => `${kind(file)} ${size}`).join(', ');
  expect(sum, listed).toBeLessThan(LIMIT);
  // What is rare comes later.
  const script = fs.readFileSync(path.join(DIST, files[0] ?? ''), 'utf8');
  expect(script).not.toContain('katex-html');
});
