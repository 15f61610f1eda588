// Builds the example site in dist/: packs the library as for a registry, and installs the package there,
// without a registry and without a bundler.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const DIST = path.join(HERE, 'dist');

/** Runs npm in dist/; returns what it prints. A failure ends the build. */
function npm(...args) {
  // Drop the settings of the npm that runs this script, such as its workspace.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')),
  );
  const { status, stdout, stderr } = spawnSync('npm', args, { cwd: DIST, encoding: 'utf8', env });
  if (status === 0) return stdout;
  console.error(`npm ${args.join(' ')} failed\n${stdout ?? ''}${stderr ?? ''}`);
  return process.exit(1);
}

fs.rmSync(DIST, { recursive: true, force: true });
fs.mkdirSync(DIST);
for (const name of ['index.html', 'main.js', 'icon.svg'])
  fs.copyFileSync(path.join(HERE, name), path.join(DIST, name));
fs.writeFileSync(
  path.join(DIST, 'package.json'),
  '{ "name": "example", "version": "1.0.0", "private": true }\n',
);
const [{ filename }] = JSON.parse(
  npm('pack', '--json', '--ignore-scripts', path.join(HERE, '../engine')),
);
npm(
  'install',
  '--offline',
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--no-package-lock',
  `./${filename}`,
);
