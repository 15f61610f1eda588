// How much script the built page has: on a first visit, and in each room that is loaded later.
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { expect, test } from '@playwright/test';
import { ROOT } from './servers';

const DIST = path.join(ROOT, 'web/app/dist');
const ASSETS = path.join(DIST, 'assets');
/** Bytes, compressed, of what a first visit needs before its first text; without the wasm and the script that comes with it.
 * The names of files, which change with their content, make a hundred more or less of the same source. */
const FIRST = 110_500;
/** The same of each room that is loaded later. */
const ROOM = 40_000;
/** And of the script that colours code. */
const COLOURS = 12_000;
/** Libraries that only some content needs have no limit. */
const APART = ['katex'];

/** A script's name without its hash. */
function kind(file: string): string {
  return file.replace(/-[\w-]{8}\.m?js$/, '');
}

function compressed(file: string): number {
  return zlib.brotliCompressSync(fs.readFileSync(path.join(ASSETS, file))).length;
}

/** Their bytes, and in words which has how many. */
function weigh(files: readonly string[]): { sum: number; listed: string } {
  const sizes = files.map((file) => [kind(file), compressed(file)] as const);
  const listed = sizes.map(([name, size]) => `${name} ${size}`).join(', ');
  return { sum: sizes.reduce((all, [, size]) => all + size, 0), listed };
}

/** The scripts that a script can’t do without, itself included. (Paths are those of an example that the page shows.) */
function needed(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  const code = fs.readFileSync(path.join(ASSETS, file), 'utf8');
  for (const [, name = ''] of code.matchAll(/\b(?:from|import)\s*["']\.\/([^"'/]+\.m?js)["']/g))
    needed(name, found);
  return found;
}

/** The scripts that a script fetches when they are wanted. */
function fetches(file: string): Set<string> {
  const code = fs.readFileSync(path.join(ASSETS, file), 'utf8');
  const found = code.matchAll(/\bimport\(\s*["'`]\.\/([^"'`/]+\.m?js)["'`]/g);
  return new Set([...found].map(([, name = '']) => name));
}

test('a first visit needs little script, and so does each room that is loaded later', () => {
  const all = fs
    .readdirSync(ASSETS)
    .filter((file) => /\.m?js$/.test(file) && !file.startsWith('sluice-'));
  const html = fs.readFileSync(path.join(DIST, 'index.html'), 'utf8');
  const early = [...html.matchAll(/(?:src|href)="\.\/assets\/([^"]+\.js)"/g)].map(
    ([, file]) => file ?? '',
  );
  // The page's own, and those of its workers.
  expect(early.map(kind).sort()).toEqual(['engine-worker', 'index', 'loader-worker']);
  const first = new Set(early.flatMap((file) => [...needed(file)]));
  const visit = weigh([...first]);

  const later = all.filter((file) => !first.has(file));
  const apart = later.filter((file) => APART.includes(kind(file)));
  expect(apart.map(kind)).toEqual(APART);
  // What another one brings along counts there; what only a room fetches counts without what that room has by then.
  const fetched = later.filter((file) => all.some((by) => fetches(by).has(file)));
  const rooms = fetched
    .filter((file) => !apart.includes(file))
    .map((file) => {
      const room = fetched.find((by) => by !== file && needed(file).has(by));
      const here = room === undefined ? first : new Set([...first, ...needed(room)]);
      return weigh([...needed(file)].filter((one) => !here.has(one)));
    });
  // Each counts somewhere.
  const counted = new Set(fetched.flatMap((file) => [...needed(file)]));
  expect(later.filter((file) => !counted.has(file))).toEqual([]);

  const figures = [
    `first visit: ${visit.sum} of ${FIRST} bytes (${visit.listed})`,
    ...rooms.map(({ sum, listed }) => `later: ${sum} of ${ROOM} bytes (${listed})`),
    `apart: ${weigh(apart).listed} bytes`,
  ].join('\n');
  console.log(figures);
  expect(visit.sum, figures).toBeLessThanOrEqual(FIRST);
  expect(rooms.length).toBeGreaterThan(0);
  const colours = later.filter((file) => kind(file) === 'code-colours');
  expect(colours).toHaveLength(1);
  expect(weigh(colours).sum).toBeLessThanOrEqual(COLOURS);
  for (const { sum } of rooms) expect(sum, figures).toBeLessThanOrEqual(ROOM);
});
