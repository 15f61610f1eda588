// Builds the library into dist/: one script for the page and one for each worker (importable without a bundler), the
// public types, and the wasm files beside it. The repository's LICENSE and NOTICE go into the package.
//   SLUICE_WASM_DIR   where the wasm files are; default wasm/prebuilt/ of the checkout
//   --missing         does nothing where dist/ has been built
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const DIST = path.join(HERE, 'dist');
const FLAVOURS = JSON.parse(fs.readFileSync(path.join(HERE, '../../wasm/flavours.json'), 'utf8'));
const PUBLIC_TYPES = new Set(
  [
    ...['cache', 'index', 'engine', 'errors', 'facts', 'notes', 'option-table', 'states', 'types'],
    ...['chat/openai-fetch', 'chat/types'],
  ].map((name) => `${name}.d.ts`),
);

if (process.argv.includes('--missing') && fs.existsSync(path.join(DIST, 'index.js')))
  process.exit(0);
fs.rmSync(DIST, { recursive: true, force: true });
const typescript = createRequire(import.meta.url).resolve('typescript/package.json');
const tsc = path.join(path.dirname(typescript), 'bin/tsc');
const { status } = spawnSync(
  process.execPath,
  [tsc, '-p', path.join(HERE, 'tsconfig.build.json')],
  { stdio: 'inherit' },
);
if (status !== 0) process.exit(1);
for (const name of fs.readdirSync(DIST, { recursive: true })) {
  if (name.endsWith('.d.ts') && !PUBLIC_TYPES.has(name)) fs.rmSync(path.join(DIST, name));
}

// One file for each thread: a browser starts a worker as soon as it has one file, not twenty.
const ENTRIES = ['index.js', 'engine-worker.js', 'loader-worker.js'];
const bundle = buildSync({
  entryPoints: ENTRIES.map((name) => path.join(DIST, name)),
  outdir: DIST,
  bundle: true,
  write: false,
  format: 'esm',
  target: 'es2022',
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'inline',
});
for (const name of fs.readdirSync(DIST, { recursive: true })) {
  if (name.endsWith('.js') && name !== 'thread-guard.js') fs.rmSync(path.join(DIST, name));
}
for (const name of ['net', 'store']) fs.rmSync(path.join(DIST, name), { recursive: true });
for (const { path: file, contents } of bundle.outputFiles) fs.writeFileSync(file, contents);

// In front of the script that threads run. It is no module of its own there: names stay within a block.
const guard_file = path.join(DIST, 'thread-guard.js');
const guard = fs.readFileSync(guard_file, 'utf8').replace('export {};', '');
fs.rmSync(guard_file);

const wasm = path.resolve(HERE, process.env.SLUICE_WASM_DIR ?? '../../wasm/prebuilt');
fs.mkdirSync(path.join(DIST, 'wasm'));
for (const flavour of FLAVOURS) {
  for (const name of [`sluice-${flavour}.js`, `sluice-${flavour}.wasm`]) {
    const from = path.join(wasm, name);
    if (!fs.existsSync(from)) {
      console.error(`${name} is not in ${wasm}: run npm run build in the checkout, which makes it`);
      process.exit(1);
    }
    const to = path.join(DIST, 'wasm', name);
    if (name.endsWith('-mt.js'))
      fs.writeFileSync(to, `{\n${guard}}\n${fs.readFileSync(from, 'utf8')}`);
    else fs.copyFileSync(from, to);
  }
}

for (const name of ['LICENSE', 'NOTICE']) {
  fs.copyFileSync(path.resolve(HERE, '../..', name), path.join(HERE, name));
}
