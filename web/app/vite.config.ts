import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type HtmlTagDescriptor, type Plugin } from 'vite';
import { ISOLATION, POLICY } from '../../scripts/headers.mjs';
import { serviceWorker } from './offline/plugin';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

const { version } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
  version: string;
};
const SOURCE = `sluice-${version}-source.tar.gz`;

/** The committed source as an archive; null without git. */
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
 * Preloads what every visit needs: the two Latin fonts, and the workers' scripts, which the browser would find only when
 * the page's script runs. (Which wasm and which model are needed depends on the browser and the address.)
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
    // It has to see the style sheets before Vite makes scripts of them.
    enforce: 'pre',
    // A font that comes late is not used on this visit, so that drawn text does not change its shape.
    transform(code, id) {
      if (!/fontsource.*\.css$/.test(id)) return undefined;
      return code.replace(/@font-face\s*{[^}]*-latin-wght-normal[^}]*}/g, (face) =>
        face.replace(/font-display:\s*swap/, 'font-display: optional'),
      );
    },
    transformIndexHtml: {
      order: 'post',
      handler(_, { bundle }) {
        // Files come in the order in which they were read, which is another one in each build.
        const files = Object.keys(bundle ?? {}).sort();
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

/** KaTeX names each font in three formats; every browser that runs the page reads woff2. */
function fontsOfFormulas(): Plugin {
  return {
    name: 'fonts-of-formulas',
    enforce: 'pre',
    transform(code, id) {
      if (!/katex.*\.css$/.test(id)) return undefined;
      return code.replace(/,\s*url\([^)]*\.(?:woff|ttf)\)\s*format\([^)]*\)/g, '');
    },
  };
}

/** Puts LICENSE, NOTICE and the source archive beside the page. */
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
  // For the footer (src/ui/about.ts).
  define: {
    __ABOUT__: JSON.stringify({ version, source: archive === null ? '' : `./${SOURCE}` }),
  },
  plugins: [early(), fontsOfFormulas(), licences(), serviceWorker()],
  // Without the policy: while one works on the page, styles are inline.
  server: { headers: ISOLATION },
  preview: { headers: { ...ISOLATION, 'Content-Security-Policy': POLICY } },
  // The library loads its workers and wasm files from beside its own files, so Vite must not bundle it.
  optimizeDeps: { exclude: ['@sluice/engine'] },
  worker: { format: 'es' },
  build: {
    outDir: 'dist',
    target: 'es2022',
    cssTarget: ['chrome100', 'safari16'],
    // Nothing inline: the policy allows no inline script and no data: address.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: { output: { experimentalMinChunkSize: 10_000 } },
  },
});
