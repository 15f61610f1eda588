// What the package has. e2e/bundlers builds sites from it, and compiles against its types.
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';

const PACKAGE = path.resolve(import.meta.dirname, '..');
const DIST = path.join(PACKAGE, 'dist');

function text(file: string): string {
  return fs.readFileSync(path.join(DIST, file), 'utf8');
}

const files = fs
  .readdirSync(DIST, { recursive: true, encoding: 'utf8' })
  .map((name) => name.split(path.sep).join('/'));
const SCRIPTS = ['index.js', 'engine-worker.js', 'loader-worker.js'].flatMap((name) => [
  name,
  `node/${name}`,
]);

test('every type that a type file imports is in the package, and nothing else', () => {
  const wanted = new Set(['index.d.ts']);
  for (const file of wanted) {
    for (const [, name = ''] of text(file).matchAll(/(?:from|import\()\s*'(\.[^']+)\.js'/g))
      wanted.add(path.posix.join(path.posix.dirname(file), `${name}.d.ts`));
  }
  expect(files.filter((name) => name.endsWith('.d.ts')).sort()).toEqual([...wanted].sort());
  // What the threads tell each other is nobody else's, and is written in TypeScript that is newer than that of sites.
  expect([...wanted].filter((name) => /shared\/(calls|caller|protocol)/.test(name))).toEqual([]);
});

test('what exports names is there, and what must not be bundled is marked', () => {
  const manifest = JSON.parse(fs.readFileSync(path.join(PACKAGE, 'package.json'), 'utf8')) as {
    exports: Record<string, string | Record<string, string>>;
  };
  const targets = Object.values(manifest.exports)
    .flatMap((target) => (typeof target === 'string' ? [target] : Object.values(target)))
    .map((target) => target.replace(/\*$/, 'sluice-simd.wasm'));
  expect(targets.length).toBeGreaterThanOrEqual(6);
  for (const target of targets)
    expect(fs.existsSync(path.join(PACKAGE, target)), target).toBe(true);

  const imports = [...text('engine-worker.js').matchAll(/\bimport\(([^)]*)\)/g)];
  expect(imports).toHaveLength(1);
  for (const mark of ['webpackIgnore: true', 'turbopackIgnore: true', '@vite-ignore'])
    expect(imports[0]?.[1]).toContain(`/* ${mark} */`);
});

test('bundlers find each file by its address, once', () => {
  const page = text('index.js');
  const found = [...page.matchAll(/new URL\("\.\/([^"]+)",import\.meta\.url\)/g)].map(
    ([, name]) => name ?? '',
  );
  const own = files.filter((name) => /^wasm\/|^[\w-]+-worker\.js$/.test(name));
  expect(own).toHaveLength(11);
  expect(found.sort()).toEqual(own.sort());
});

test.each(SCRIPTS)('%s has a source map with its sources', (file) => {
  expect(text(file).trimEnd()).toMatch(
    new RegExp(`\n//# sourceMappingURL=${path.basename(file)}.map$`),
  );
  const map = JSON.parse(text(`${file}.map`)) as { sources: string[]; sourcesContent: string[] };
  expect(map.sources).toContain(`${file.startsWith('node/') ? '../' : ''}../src/shared/errors.ts`);
  for (const source of map.sources) expect(source).toMatch(/^\.\.\//);
  expect(map.sourcesContent).toHaveLength(map.sources.length);
  for (const content of map.sourcesContent) expect(content).not.toBe('');
});

test('the types name nothing of the calls between threads, which old compilers do not know', () => {
  const inside = files.filter((name) =>
    /^(node|engine|platform)\/.*\.d\.ts$|(calls|protocol|caller)\.d\.ts$/.test(name),
  );
  expect(inside).toEqual([]);
});
