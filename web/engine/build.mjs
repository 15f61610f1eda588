// Builds the library into dist/: one script for the page and one for each worker (importable without a bundler), with
// source maps, the public types, and the wasm files beside it. The repository's LICENSE and NOTICE go into the package.
//   SLUICE_WASM_DIR   where the wasm files are; default wasm/prebuilt/ of the checkout
//   --missing         does nothing where dist/ has been built
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const DIST = path.join(HERE, 'dist');
const FLAVOURS = JSON.parse(fs.readFileSync(path.join(HERE, '../../wasm/flavours.json'), 'utf8'));

if (process.argv.includes('--missing') && fs.existsSync(path.join(DIST, 'index.js')))
  process.exit(0);
fs.rmSync(DIST, { recursive: true, force: true });

/** The types: what index.d.ts names, and what that names in turn. */
function write_types() {
  const typescript = createRequire(import.meta.url).resolve('typescript/package.json');
  const tsc = path.join(path.dirname(typescript), 'bin/tsc');
  const argv = [tsc, '-p', path.join(HERE, 'tsconfig.build.json')];
  if (spawnSync(process.execPath, argv, { stdio: 'inherit' }).status !== 0) process.exit(1);
  const wanted = new Set();
  const want = (file) => {
    if (wanted.has(file)) return;
    wanted.add(file);
    const text = fs.readFileSync(file, 'utf8');
    for (const [, name] of text.matchAll(/(?:from|import\()\s*['"](\.[^'"]+)\.js['"]/g))
      want(path.resolve(path.dirname(file), `${name}.d.ts`));
  };
  want(path.join(DIST, 'index.d.ts'));
  const made = fs.readdirSync(DIST, { recursive: true, withFileTypes: true });
  for (const entry of made) {
    const file = path.join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isFile() && !wanted.has(file)) fs.rmSync(file);
  }
  for (const entry of made) {
    const folder = path.join(entry.parentPath ?? entry.path, entry.name);
    if (entry.isDirectory() && fs.readdirSync(folder).length === 0) fs.rmdirSync(folder);
  }
}

/**
 * hash-wasm has its wasm code as base64. As hexadecimal digits it compresses better: the loader worker, which a first visit needs,
 * has 1.2 KB less.
 */
const HEX_CODE = {
  name: 'hex-code',
  setup({ onLoad }) {
    onLoad({ filter: /hash-wasm[\\/]dist[\\/]index\.esm\.js$/ }, ({ path: file }) => {
      const text = fs.readFileSync(file, 'utf8');
      const code = /^(var data\$\w+ = )"([\w+/]+=*)"/gm;
      const decode = 'decodeBase64(binary.data)';
      if (!code.test(text) || text.split(decode).length !== 2)
        return { errors: [{ text: 'hash-wasm has its code in another form than HEX_CODE knows' }] };
      const bytes = 'Uint8Array.from(binary.data.match(/../g), (byte) => parseInt(byte, 16))';
      const hex = (_, begin, base64) =>
        `${begin}"${Buffer.from(base64, 'base64').toString('hex')}"`;
      return { contents: text.replace(code, hex).replace(decode, () => bytes), loader: 'js' };
    });
  },
};

/** Bundles scripts of src/. Resolves to esbuild's outputs. */
async function bundle(names, more) {
  const { outputFiles } = await build({
    entryPoints: names.map((name) => path.join(HERE, 'src', `${name}.ts`)),
    outdir: DIST,
    bundle: true,
    format: 'esm',
    target: 'es2022',
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'inline',
    plugins: [HEX_CODE],
    ...more,
  });
  return outputFiles;
}

/** Puts the platform of Node in the place of the browsers' (src/platform/here.ts). */
const IN_NODE = {
  name: 'in-node',
  setup({ onResolve }) {
    const platform = path.join(HERE, 'src/node/platform.ts');
    onResolve({ filter: /(^|\/)here\.js$/ }, () => ({ path: platform, sideEffects: false }));
  },
};

write_types();

// One file for each thread: a browser starts a worker as soon as it has one file, not twenty.
await bundle(['index', 'loader-worker'], { sourcemap: true });
// The comments tell bundlers to leave this import() as it is. esbuild drops those in the sources.
const IGNORE = '/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */';
const as_is = `const importAsIs=(address)=>import(${IGNORE} address);`;
await bundle(['engine-worker'], { sourcemap: true, banner: { js: as_is } });

// The same for Node, in dist/node/. On lines of their own: of an error that nobody catches Node prints the line that threw it.
await bundle(['node/index', 'node/loader-worker', 'node/thread', 'engine-worker'], {
  outdir: path.join(DIST, 'node'),
  entryNames: '[name]',
  sourcemap: true,
  external: ['node:*'],
  minifyWhitespace: false,
  minifySyntax: false,
  plugins: [IN_NODE],
});

// In front of the script that threads run. It is no module of its own there: its names stay within a function.
const [{ text: guard }] = await bundle(['engine/thread-guard'], { write: false, format: 'iife' });

const wasm = path.resolve(HERE, process.env.SLUICE_WASM_DIR ?? '../../wasm/prebuilt');
fs.mkdirSync(path.join(DIST, 'wasm'));
for (const flavour of FLAVOURS) {
  for (const name of [`sluice-${flavour}.mjs`, `sluice-${flavour}.wasm`]) {
    const from = path.join(wasm, name);
    if (!fs.existsSync(from)) {
      console.error(`${name} is not in ${wasm}: run npm run build in the checkout, which makes it`);
      process.exit(1);
    }
    const to = path.join(DIST, 'wasm', name);
    if (name.endsWith('-mt.mjs')) fs.writeFileSync(to, guard + fs.readFileSync(from, 'utf8'));
    else fs.copyFileSync(from, to);
  }
}

// What computes given texts, and looks inside a model. Few pages want that, so the engine worker loads it when it is first asked.
const [{ text: analysis }] = await bundle(['engine/analysis-runs'], { write: false });
fs.writeFileSync(path.join(DIST, 'wasm/sluice-analysis.mjs'), analysis);

for (const name of ['LICENSE', 'NOTICE']) {
  fs.copyFileSync(path.resolve(HERE, '../..', name), path.join(HERE, name));
}
