// The package contains the licences of its parts.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { expect, test } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const notice = fs.readFileSync(path.join(ROOT, 'NOTICE'), 'utf8');

test('the package has the licence and the notices of the repository', () => {
  const listing = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: path.join(ROOT, 'web/engine'),
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [packed] = JSON.parse(listing) as [{ files: { path: string }[] }];
  const names = packed.files.map((file) => file.path);
  expect(names).toEqual(expect.arrayContaining(['LICENSE', 'NOTICE', 'dist/index.js']));
  for (const name of ['LICENSE', 'NOTICE']) {
    const copy = fs.readFileSync(path.join(ROOT, 'web/engine', name), 'utf8');
    expect(copy).toBe(fs.readFileSync(path.join(ROOT, name), 'utf8'));
  }
});

test('the notices name what the wasm modules are made with', () => {
  for (const name of ['nlohmann-json', 'Emscripten', 'musl', 'libc++', 'dlmalloc']) {
    expect(notice).toContain(name);
  }
});

test('the notices name what is bundled into the library, with its copyright', () => {
  const require = createRequire(path.join(ROOT, 'web/engine/package.json'));
  const dir = path.join(path.dirname(require.resolve('hash-wasm')), '..');
  const licence = fs.readFileSync(path.join(dir, 'LICENSE'), 'utf8');
  const copyright = /^Copyright \(c\) .*$/m.exec(licence)?.[0] ?? 'none';
  expect(notice).toContain('- hash-wasm,');
  expect(notice).toContain(copyright.trim());
});

test('the notices name everything that the page is built from, with its copyright', () => {
  const require = createRequire(path.join(ROOT, 'web/app/package.json'));
  const folder = (name: string, from = require): string => {
    const places = from.resolve.paths(name) ?? [];
    const found = places.map((place) => path.join(place, name)).find((dir) => fs.existsSync(dir));
    if (found === undefined) throw new Error(`${name} is not installed`);
    return found;
  };
  const seen = new Set<string>();
  const visit = (dependencies: Record<string, string> = {}): void => {
    for (const name of Object.keys(dependencies)) {
      if (name === '@sluice/engine' || seen.has(name)) continue;
      seen.add(name);
      expect(notice).toMatch(new RegExp(`[(,\\s]${name}[,)]`));
      const dir = folder(name);
      const licence = fs.readFileSync(path.join(dir, 'LICENSE'), 'utf8');
      const copyright = /^Copyright [^(\n]*(\(c\) )?[^(\n]*/m.exec(licence)?.[0].trim() ?? '';
      expect(copyright).toMatch(/\d{4}/);
      expect(notice).toContain(copyright);
      const manifest = fs.readFileSync(path.join(dir, 'package.json'), 'utf8');
      visit((JSON.parse(manifest) as { dependencies?: Record<string, string> }).dependencies);
    }
  };
  const manifest = fs.readFileSync(path.join(ROOT, 'web/app/package.json'), 'utf8');
  visit((JSON.parse(manifest) as { dependencies: Record<string, string> }).dependencies);
  expect(seen.size).toBeGreaterThanOrEqual(5);
});
