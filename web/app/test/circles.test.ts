// That files read each other in one direction: types below, what is done and what is shown above, what draws on top.
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const SRC = path.resolve(import.meta.dirname, '../src');

/**
 * Files that read each other in a circle of which one import is of types alone. Texts are functions that write numbers with
 * format.ts, which does so in the page's language; and what texts a language has is the type of the English ones.
 */
const STAY: readonly (readonly string[])[] = [
  [
    'texts/en/find.ts',
    'texts/en/inside-maps.ts',
    'texts/en/layers.ts',
    'texts/en/talk-room.ts',
    'texts/format.ts',
    'texts/language.ts',
    'texts/texts.ts',
  ],
];

/** Scripts that come later: each only names what is in it. */
const LATER = /(?:^|\/)(?:later(?:-\w+)?|models-later)\.ts$/;

/** What each file imports. */
type Graph = ReadonlyMap<string, readonly string[]>;

/** Static imports with what they take, and import(). */
const IMPORT =
  /^(?:import|export)\s+(type\s)?(?:([^;'"]*?)\sfrom\s+)?'(\.[^']+)'|\bimport\(\s*'(\.[^']+)'\s*\)/gm;

function onlyTypes(taken: string): boolean {
  const names = /^\{([^}]*)\}$/.exec(taken.trim())?.[1]?.split(',') ?? ['a default or all'];
  return names.every((name) => name.trim() === '' || name.trim().startsWith('type '));
}

/** The files that each of `sources` imports: a path in src/, and its code. `types`: also those of which it takes types alone. */
function graphOf(sources: ReadonlyMap<string, string>, types: boolean): Graph {
  return new Map(
    [...sources].map(([file, code]) => {
      // An example that the page shows is no import of its own.
      const found = [...code.replace(/`[^`]*`/g, '').matchAll(IMPORT)];
      const counted = found.filter(([, type, taken = '*']) => types || !(type || onlyTypes(taken)));
      const named = counted.map(([, , , at, later]) =>
        path.posix.join(path.posix.dirname(file), at ?? later ?? ''),
      );
      const files = named.flatMap((name) =>
        [name, `${name}.ts`, `${name}.tsx`, `${name}/index.ts`].filter((one) => sources.has(one)),
      );
      return [file, [...new Set(files)]];
    }),
  );
}

/** The groups of files each of which reaches every other of its group (Tarjan's algorithm). */
function circlesIn(graph: Graph): string[][] {
  const order = new Map<string, number>();
  const open: string[] = [];
  const circles: string[][] = [];
  const visit = (file: string): number => {
    const own = order.size;
    let low = own;
    order.set(file, own);
    open.push(file);
    for (const next of graph.get(file) ?? []) {
      if (!order.has(next)) low = Math.min(low, visit(next));
      else if (open.includes(next)) low = Math.min(low, order.get(next) ?? low);
    }
    if (low === own) {
      const group = open.splice(open.indexOf(file));
      if (group.length > 1) circles.push(group.sort());
    }
    return low;
  };
  for (const file of graph.keys()) if (!order.has(file)) visit(file);
  return circles;
}

const sources = new Map(
  fs
    .readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => [file, fs.readFileSync(path.join(SRC, file), 'utf8')]),
);

describe('files', () => {
  it('take no values of each other in a circle, be it through a script that is fetched', () => {
    const graph = graphOf(sources, false);
    expect([...graph.values()].flat().length).toBeGreaterThan(700);
    expect(circlesIn(graph)).toEqual([]);
  });

  it('nor types, but for those that are named', () => {
    expect(circlesIn(graphOf(sources, true))).toEqual(STAY);
  });

  it('that draw are on top: of the others only the scripts that come later name them', () => {
    const below = [...graphOf(sources, false)].filter(
      ([file]) => file.endsWith('.ts') && !LATER.test(file),
    );
    const breaches = below.flatMap(([file, read]) =>
      read
        .filter((one) => one.endsWith('.tsx') && one !== 'ui/later.tsx')
        .map((one) => [file, one]),
    );
    expect(breaches).toEqual([]);
  });
});

describe('a circle is found', () => {
  const of = (files: Record<string, string>, types = false): string[][] =>
    circlesIn(graphOf(new Map(Object.entries(files)), types));

  it('of three files, and what only leads to it or from it is not in it', () => {
    const files = {
      'a/top.tsx': `import { one } from './one';`,
      'a/one.ts': `import {\n  two,\n  type Two,\n} from '../b/two';\nexport { end } from '../b/end';`,
      'b/two.tsx': `export * from './three';`,
      'b/three.ts': `import '../a/one';`,
      'b/end.ts': '',
    };
    expect(of(files)).toEqual([['a/one.ts', 'b/three.ts', 'b/two.tsx']]);
  });

  it('through a script that is fetched', () => {
    const files = {
      'a/parts.ts': `const all = () => import('./later');`,
      'a/later.ts': `export { View } from './view';`,
      'a/view.tsx': `import { all } from './parts';`,
    };
    expect(of(files)).toEqual([['a/later.ts', 'a/parts.ts', 'a/view.tsx']]);
  });

  it('of types, where those count', () => {
    const files = {
      'a.ts': `import { type B, type C } from './b';`,
      'b.ts': `import type { A } from './a';`,
    };
    expect(of(files)).toEqual([]);
    expect(of(files, true)).toEqual([['a.ts', 'b.ts']]);
  });
});
