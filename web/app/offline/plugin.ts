// Makes the service worker: compiles it, and gives it the list of the page's files.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformWithEsbuild, type Plugin } from 'vite';

const SOURCE = path.join(path.dirname(fileURLToPath(import.meta.url)), 'service-worker.ts');
const NAME = 'service-worker.js';

/**
 * When the service worker fetches a file: 'always', as soon as the page has its first model; with the name of a flavour
 * of the engine, where that flavour runs; 'used', when the page asks for it. Undefined: never kept.
 */
function when(file: string): string | undefined {
  if (file === 'models/shelf.json') return 'always';
  if (file === NAME || /\.(tar\.gz|json|map)$/.test(file)) return undefined;
  // What the engine loads for vectors, for masked words, and when it is asked what is inside a model.
  if (/^assets\/sluice-analysis-[\w-]{8}\.mjs$/.test(file)) return 'always';
  const flavour = /^assets\/sluice-(\w+(?:-mt)?)-[\w-]{8}\.(?:mjs|wasm)$/.exec(file);
  if (flavour !== null) return flavour[1];
  if (/\.(woff2|txt)$/.test(file)) return /-latin-wght-/.test(file) ? 'always' : 'used';
  // What shows formulas, which few conversations have.
  if (/^assets\/katex-[\w-]{8}\.(?:js|css)$/.test(file)) return 'used';
  return 'always';
}

/** Writes the service worker of the page that is built in `dir`. */
export async function writeServiceWorker(dir: string): Promise<void> {
  const files: Record<string, [string, string]> = {};
  for (const entry of fs.readdirSync(dir, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    const name = path.relative(dir, file).split(path.sep).join('/');
    const wanted = entry.isFile() ? when(name) : undefined;
    if (wanted === undefined) continue;
    const hash = createHash('sha256').update(fs.readFileSync(file)).digest('hex');
    // Servers send index.html at the address of its directory.
    files[name === 'index.html' ? '' : name] = [hash, wanted];
  }
  const sorted = JSON.stringify(Object.fromEntries(Object.entries(files).sort()));
  const version = createHash('sha256').update(sorted).digest('hex').slice(0, 16);
  const { code } = await transformWithEsbuild(fs.readFileSync(SOURCE, 'utf8'), SOURCE, {
    target: 'es2022',
    format: 'iife',
    minify: true,
    define: { __FILES__: sorted, __VERSION__: JSON.stringify(version) },
    sourcemap: false,
    tsconfigRaw: {},
  });
  fs.writeFileSync(path.join(dir, NAME), code);
}

/** Puts the service worker beside the page, when everything else is there. */
export function serviceWorker(): Plugin {
  let dir = '';
  return {
    name: 'service-worker',
    apply: 'build',
    configResolved(config) {
      dir = path.resolve(config.root, config.build.outDir);
    },
    closeBundle: () => writeServiceWorker(dir),
  };
}
