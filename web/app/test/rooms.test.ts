// Who may import whom: each folder of src/ is a room. What knows no room is below, what puts the page together is above.
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = path.resolve(import.meta.dirname, '../src');

/**
 * The rooms that each may import, types as well: from the lowest to the highest, and each knows only those before it. '.' is
 * src/ itself.
 */
const KNOWS: Readonly<Record<string, string>> = {
  texts: '',
  ui: 'texts',
  markdown: 'texts ui',
  history: 'texts',
  settings: 'texts ui',
  model: 'texts ui settings',
  panel: 'texts ui settings model',
  link: 'texts ui settings model',
  inside: 'texts ui history settings model',
  writing: 'texts ui settings model panel history link inside',
  talk: 'texts ui settings model panel history markdown inside writing',
  list: 'texts ui model history talk',
  find: 'texts ui model history talk',
  shell: 'texts ui settings model panel link inside writing list talk find',
  '.': 'texts ui settings shell',
};

/** What a file imports from a room above its own. The sheet of models has a row for what Find keeps on this device. */
const UPWARDS: Readonly<Record<string, string>> = {
  'model/kept-models.tsx': 'find/kept-files',
};

/** Texts say what rooms found: of these they know the types. */
const TYPES_ONLY: Readonly<Record<string, string>> = { texts: 'history find inside' };

/** An import: from where, of what, and whether it is of types only. */
interface Found {
  file: string;
  of: string;
  types: boolean;
}

const IMPORT =
  /^(?:import|export)\s+(type\s)?(?:[^;'"]*?\sfrom\s+)?'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm;

/** The imports in a text. */
function importsIn(file: string, code: string): Found[] {
  return [...code.matchAll(IMPORT)].map(([, type, named, later]) => ({
    file,
    of: named ?? later ?? '',
    types: type !== undefined,
  }));
}

function roomOf(file: string): string {
  const inside = path.relative(SRC, file);
  const [room = ''] = inside.split(path.sep);
  const flat = room === inside && !fs.statSync(file, { throwIfNoEntry: false })?.isDirectory();
  return flat ? '.' : room;
}

/** Why an import is a breach; null: it is none. */
function breach({ file, of, types }: Found): string | null {
  if (of.startsWith('@sluice/engine') && of !== '@sluice/engine')
    return `${file}: ${of} is within the library`;
  if (!of.startsWith('.')) return null;
  const target = path.resolve(path.dirname(path.join(SRC, file)), of);
  if (path.relative(SRC, target).startsWith('..')) return `${file}: ${of} is not in src/`;
  const [from, to] = [roomOf(path.join(SRC, file)), roomOf(target)];
  if (from === to || /\.(css|svg)$/.test(of)) return null;
  if (UPWARDS[file] === path.relative(SRC, target)) return null;
  const known = `${KNOWS[from] ?? ''} ${types ? (TYPES_ONLY[from] ?? '') : ''}`.split(' ');
  return known.includes(to) ? null : `${file}: ${from} must not know ${to} (${of})`;
}

const files = fs
  .readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file));

describe('rooms', () => {
  it('import only what they may know', () => {
    const found = files.flatMap((file) =>
      // An example that the page shows is no import of its own.
      importsIn(file, fs.readFileSync(path.join(SRC, file), 'utf8').replace(/`[^`]*`/g, '')),
    );
    expect(found.length).toBeGreaterThan(700);
    expect(found.map(breach).filter((why) => why !== null)).toEqual([]);
  });

  it('are those of the table, and it names none that is unused', () => {
    const rooms = new Set(files.map((file) => roomOf(path.join(SRC, file))));
    expect([...rooms].sort()).toEqual(Object.keys(KNOWS).sort());
    const used = new Set<string>();
    for (const file of files) {
      const at = path.join(SRC, file);
      for (const { of } of importsIn(file, fs.readFileSync(at, 'utf8')))
        if (of.startsWith('.'))
          used.add(`${roomOf(at)} ${roomOf(path.resolve(path.dirname(at), of))}`);
    }
    const named = Object.entries(KNOWS).flatMap(([room, known]) =>
      known.split(' ').flatMap((one) => (one === '' ? [] : [`${room} ${one}`])),
    );
    expect(named.filter((pair) => !used.has(pair))).toEqual([]);
  });

  it('know only rooms that are below them', () => {
    const rooms = Object.keys(KNOWS);
    const upwards = Object.entries(KNOWS).flatMap(([room, known]) =>
      known
        .split(' ')
        .filter((one) => rooms.indexOf(one) >= rooms.indexOf(room))
        .map((one) => `${room} ${one}`),
    );
    expect(upwards).toEqual([]);
    for (const [file, of] of Object.entries(UPWARDS)) {
      const code = fs.readFileSync(path.join(SRC, file), 'utf8');
      expect(code).toContain(`'../${of}'`);
      expect(rooms.indexOf(roomOf(path.join(SRC, of)))).toBeGreaterThan(
        rooms.indexOf(roomOf(path.join(SRC, file))),
      );
    }
  });

  it('what lies below knows no room, and no room knows the shell', () => {
    const above = Object.keys(KNOWS).filter((room) => KNOWS[room]?.split(' ').includes('shell'));
    expect(above).toEqual(['.']);
    expect(KNOWS['ui']).toBe('texts');
  });

  it('breaches are found', () => {
    const code = [
      `import { a } from '../shell/link';`,
      `import type {\n  B,\n} from '../talk/state';`,
      `const c = import('../model/parts');`,
      `import { d } from '@sluice/engine/dist/x.js';`,
      `import { e } from '../../../engine/src/x';`,
      `import { f } from '../texts';`,
      `import './g';`,
    ].join('\n');
    const found = importsIn('ui/menu.tsx', code);
    expect(found).toHaveLength(7);
    expect(found.map((one) => breach(one) !== null)).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
      false,
    ]);
    const types = { file: 'texts/en/find.ts', of: '../../find/reading' };
    expect(breach({ ...types, types: true })).toBeNull();
    expect(breach({ ...types, types: false })).not.toBeNull();
  });
});
