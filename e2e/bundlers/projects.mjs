// The sites: how each is built from its sources, and what its policy must allow besides its own files.
import fs from 'node:fs';
import path from 'node:path';

/** A page around one script. */
const page = (script) =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>A site</title><output></output>${script}</html>\n`;

const put = (folder, name, text) => {
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, name), text);
};

const copy_library = (from, to) =>
  fs.cpSync(path.join(from, 'node_modules/@sluice/engine/dist'), to, { recursive: true });

/**
 * `sources`: the folder beside this file, with the lock file. `command(out)`: builds into the folder `out`. `finish(from, out)`: puts
 * beside that what the bundler doesn't make; `from` is the copy of the sources. `policy`: by directive.
 */
export const PROJECTS = [
  {
    name: 'next-turbopack',
    sources: 'next',
    command: () => ['next/dist/bin/next', 'build', '--turbopack'],
  },
  {
    name: 'next-webpack',
    sources: 'next',
    command: () => ['next/dist/bin/next', 'build', '--webpack'],
  },
  {
    name: 'webpack',
    sources: 'site',
    command: (out) => ['webpack-cli/bin/cli.js', '--mode', 'production', '--output-path', out],
    finish: (_, out) => put(out, 'index.html', page('<script src="main.js"></script>')),
  },
  {
    name: 'vite7',
    sources: 'site',
    command: (out) => ['vite7/bin/vite.js', 'build', '--outDir', out],
  },
  {
    name: 'vite8',
    sources: 'site',
    command: (out) => ['vite8/bin/vite.js', 'build', '--outDir', out],
  },
  {
    name: 'rollup',
    sources: 'site',
    command: (out) => [
      'rollup/dist/bin/rollup',
      ...['src/index.js', '--format', 'es', '--dir', out],
      ...['-p', '@rollup/plugin-node-resolve', '-p', '@web/rollup-plugin-import-meta-assets'],
    ],
    finish: (_, out) =>
      put(out, 'index.html', page('<script type="module" src="index.js"></script>')),
  },
  {
    name: 'esbuild',
    sources: 'site',
    command: (out) => [
      'esbuild/bin/esbuild',
      ...['src/esbuild.js', '--bundle', '--minify', '--format=esm', `--outdir=${out}`],
    ],
    finish: (from, out) => {
      copy_library(from, path.join(out, 'engine'));
      put(out, 'index.html', page('<script type="module" src="esbuild.js"></script>'));
    },
  },
  {
    name: 'no-bundler',
    sources: 'site',
    finish: (from, out) => {
      copy_library(from, path.join(out, 'engine'));
      const imports = { '@sluice/engine': './engine/index.js' };
      put(
        out,
        'index.html',
        page(
          `<script type="importmap">${JSON.stringify({ imports })}</script>` +
            '<script type="module">import { write } from "./write.js";write(document.querySelector("output"))</script>',
        ),
      );
      fs.copyFileSync(path.join(from, 'write.js'), path.join(out, 'write.js'));
    },
  },
];
