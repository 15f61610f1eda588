// Who may import whom, types too: the rooms are the folders of src/, by thread. A file sees its own room and those named here.
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const SRC = path.resolve(import.meta.dirname, '../src');

/** The seam: no other room knows which platform it is. */
const SEAM = ['platform/here.ts', 'platform/platform.ts'];

/** What the files of each room may import: rooms, or single files. '': the entries, which stand in src/ itself. */
const MAY: Record<string, readonly string[]> = {
  // What several threads know.
  shared: SEAM,
  platform: ['shared'],
  'loader/net': ['shared', ...SEAM],
  'loader/store': ['shared', ...SEAM],
  loader: ['shared', ...SEAM, 'loader/net', 'loader/store'],
  // The engine worker writes and reads the states of conversations itself, in the cache's folder.
  engine: ['shared', ...SEAM, 'loader/store'],
  // The page runs a loader on its own thread for bytes and Responses, and reads addresses as a loader does.
  page: ['shared', ...SEAM, 'loader', 'loader/net', 'page/chat', 'page/vectors'],
  'page/chat': ['shared', 'page'],
  'page/vectors': ['shared', 'page', 'page/chat'],
  // Node's implementation of the seam, and its entries.
  node: [
    'shared',
    'platform',
    'page',
    'engine',
    'loader',
    'loader/net',
    'loader/store',
    'index.ts',
  ],
};
/** The same for the entries. */
const ENTRIES: Record<string, readonly string[]> = {
  'index.ts': ['shared', 'page', 'page/chat', 'page/vectors'],
  'engine-worker.ts': ['shared', ...SEAM, 'engine'],
  'loader-worker.ts': ['shared', ...SEAM, 'loader'],
};
/** Outside src/: only the engine worker calls the wasm module. */
const MODULE = '../../../wasm/module.ts';
/** Who imports npm packages, and which. */
const PACKAGES: Record<string, readonly string[]> = { 'loader/store/hashes.ts': ['hash-wasm'] };

interface Import {
  file: string;
  /** Relative to src/; as it stands in the source if it is a package's. */
  what: string;
}

/** Where a file of src/ lies: its folder, '' for the entries. */
function roomOf(file: string): string {
  const room = path.posix.dirname(file);
  return room === '.' ? '' : room;
}

/** The imports of a source: static ones, types, re-exports, and import(). */
function importsOf(file: string, text: string): Import[] {
  const found = text.matchAll(/(?:^|[\s;}])(?:from|import)\s*\(?\s*'([^']+)'/g);
  return [...found].map(([, name = '']) => ({
    file,
    what: name.startsWith('.')
      ? path.posix.join(path.posix.dirname(file), name).replace(/\.js$/, '.ts')
      : name,
  }));
}

function mayImport({ file, what }: Import): boolean {
  const room = roomOf(file);
  if (what.startsWith('node:')) return room === 'node';
  if (!what.endsWith('.ts')) return PACKAGES[file]?.includes(what) === true;
  if (what.startsWith('..')) return room === 'engine' && path.posix.normalize(what) === MODULE;
  const of = roomOf(what);
  if (of === room && room !== '') return true;
  const may = (room === '' ? ENTRIES[file] : MAY[room]) ?? [];
  return (of !== '' && may.includes(of)) || may.includes(what);
}

const files = fs
  .readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .map((name) => name.split(path.sep).join('/'))
  .filter((name) => name.endsWith('.ts'));

test('every file lies in a room that is known, and every room has files', () => {
  const rooms = new Set(files.map(roomOf));
  expect([...rooms].sort()).toEqual(['', ...Object.keys(MAY)].sort());
  expect(files.filter((file) => roomOf(file) === '').sort()).toEqual(Object.keys(ENTRIES).sort());
});

test('a room imports only what it may', () => {
  const imports = files.flatMap((file) =>
    importsOf(file, fs.readFileSync(path.join(SRC, file), 'utf8')),
  );
  expect(imports.length).toBeGreaterThan(300);
  const breaches = imports.filter((one) => !mayImport(one));
  expect(breaches.map(({ file, what }) => `${file} imports ${what}`)).toEqual([]);
});

test.each([
  ['engine/host.ts', "import type { Course } from '../page/engine.js';"],
  ['loader/loader.ts', "export { here } from '../page/configure.js';"],
  ['page/engine.ts', "import { EngineHost } from '../engine/host.js';"],
  ['page/engine.ts', "import { askToPersist } from '../platform/abilities.js';"],
  ['loader/net/hub.ts', "import '../store/files.js';"],
  ['loader/net/hub.ts', "import type { Outlet } from '../outlet.js';"],
  ['shared/errors.ts', "import { show } from '../page/options.js';"],
  ['shared/errors.ts', "import { isForeign } from '../platform/own-files.js';"],
  ['page/engine.ts', "import type createModule from '../../../../wasm/module.js';"],
  ['page/engine.ts', "import { createSHA256 } from 'hash-wasm';"],
  ['page/engine.ts', "import fs from 'node:fs';"],
  ['page/engine.ts', "import { words } from '../node/platform.js';"],
  ['page/engine.ts', "const late = await import('../engine/host.js');"],
  ['engine/host.ts', "import { Engine } from '../index.js';"],
])('a breach is found: %s with %s', (file, text) => {
  const [found] = importsOf(file, text);
  expect(found).toBeDefined();
  expect(mayImport(found as Import)).toBe(false);
});
