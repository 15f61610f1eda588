import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type HtmlTagDescriptor, type Plugin } from 'vite';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

// The headers that the page is meant to be served with: cross-origin isolation (shared memory, and so
// threads) and a strict Content-Security-Policy. scripts/serve.mjs sends the same with the built page.
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
  'Cross-Origin-Resource-Policy': 'same-origin',
};
const policy =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; worker-src 'self'; " +
  "img-src 'self'; connect-src *; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const { version } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
  version: string;
};
const SOURCE = `sluice-${version}-source.tar.gz`;

/** The committed source that the page is built from, as an archive; null where git doesn't have it. */
function sourceArchive(): Uint8Array | null {
  const args = ['archive', '--format=tar.gz', `--prefix=sluice-${version}/`, 'HEAD'];
  try {
    const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
    return execFileSync('git', args, { cwd: ROOT, maxBuffer: 1 << 26, stdio });
  } catch {
    return null;
  }
}
const archive = sourceArchive();

/**
 * What every visit needs is fetched with the page itself: the two Latin fonts, and the workers' scripts, which the
 * browser would only find when the page's own script runs. (The wasm and the model depend on browser and address.)
 */
function early(): Plugin {
  const wanted: [RegExp, HtmlTagDescriptor['attrs']][] = [
    [/(engine|loader)-worker.*\.js$/, { rel: 'modulepreload' }],
    [
      /(figtree|literata)-latin-wght-normal.*\.woff2$/,
      { rel: 'preload', as: 'font', type: 'font/woff2' },
    ],
  ];
  return {
    name: 'early',
    apply: 'build',
    // With the page already, or not at all on this visit: text that has been drawn doesn't change its shape.
    transform(code, id) {
      if (!/fontsource.*\.css$/.test(id)) return undefined;
      return code.replace(/@font-face\s*{[^}]*-latin-wght-normal[^}]*}/g, (face) =>
        face.replace(/font-display:\s*swap/, 'font-display: optional'),
      );
    },
    transformIndexHtml: {
      order: 'post',
      handler(_, { bundle }) {
        const files = Object.keys(bundle ?? {});
        return wanted.flatMap(([pattern, attrs]) =>
          files
            .filter((file) => pattern.test(file))
            .map((file) => ({
              tag: 'link',
              attrs: { ...attrs, crossorigin: true, href: `./${file}` },
              injectTo: 'head' as const,
            })),
        );
      },
    },
  };
}

/** The repository's licence and notices and its source, beside the page. */
function licences(): Plugin {
  return {
    name: 'licences',
    apply: 'build',
    generateBundle() {
      if (archive !== null) this.emitFile({ type: 'asset', fileName: SOURCE, source: archive });
      for (const name of ['LICENSE', 'NOTICE']) {
        const source = fs.readFileSync(path.join(ROOT, name));
        this.emitFile({ type: 'asset', fileName: `${name}.txt`, source });
      }
    },
  };
}

export default defineConfig({
  base: './',
  // What the footer tells (src/about.ts).
  define: {
    __ABOUT__: JSON.stringify({ version, source: archive === null ? '' : `./${SOURCE}` }),
  },
  plugins: [early(), licences()],
  server: { headers },
  preview: { headers: { ...headers, 'Content-Security-Policy': policy } },
  // The library is taken as it is built, workers and wasm files beside it.
  optimizeDeps: { exclude: ['@sluice/engine'] },
  worker: { format: 'es' },
  build: {
    outDir: 'dist',
    target: 'es2022',
    cssTarget: ['chrome100', 'safari16'],
    // Nothing inline: the policy above allows no inline script and no data: address.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
