// Builds everything that is shipped: the program (build/release/sluice), the library and the page.
//   node scripts/build.mjs [native] [web] [--prebuilt]
//   --prebuilt    takes wasm/prebuilt/ even if it was built from other sources
import fs from 'node:fs';
import path from 'node:path';
import {
  Failure,
  ROOT,
  files_under,
  hash_files,
  is_program,
  main,
  must,
  must_quietly,
  sha256_file,
  with_lock,
  write_atomically,
} from './lib.mjs';
import { PREBUILT, wasm_dir } from './build-wasm.mjs';
import { setup } from './setup.mjs';

/** Configures a CMake preset if that has not been done, and builds `targets` of it (by default all). */
export async function build_preset(preset, targets = [], how = must) {
  const dir = path.join('build', preset);
  await with_lock(path.join(ROOT, `build/${preset}-lock`), async () => {
    if (!fs.existsSync(path.join(ROOT, dir, 'build.ninja'))) {
      // A cache without build files was left by a failed configuration.
      fs.rmSync(path.join(ROOT, dir, 'CMakeCache.txt'), { force: true });
      await how('cmake', ['--preset', preset, '--log-level=WARNING']);
    }
    await how('ninja', ['-C', dir, ...targets]);
  });
}

/** Builds the program (release) and returns its path. The build's output is printed only if it fails. */
export async function build_program() {
  const program = path.join(ROOT, 'build/release/sluice');
  if (!fs.existsSync(program))
    console.error('building the program; the first time takes a few minutes');
  await setup(['native']);
  await build_preset('release', ['sluice'], must_quietly);
  return program;
}

/** Builds a workspace, unless `result` is there and was built from the same inputs (`hash`). */
async function build_workspace(workspace, hash, result, env = {}) {
  const stamp = path.join(ROOT, 'build/stamps', workspace.replaceAll('/', '-'));
  const done = fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === hash;
  if (done && fs.existsSync(path.join(ROOT, workspace, result))) return;
  console.error(`building ${workspace}`);
  fs.rmSync(stamp, { force: true });
  await must_quietly('npm', ['run', 'build', '-w', workspace], { env: { ...process.env, ...env } });
  write_atomically(stamp, hash);
}

function inputs_hash(workspace, ...more) {
  const skip = (name) => /\/(dist|node_modules|test|LICENSE|NOTICE)$/.test(name);
  const shared = ['tsconfig.base.json', 'package.json', 'package-lock.json', 'LICENSE', 'NOTICE'];
  return hash_files([...files_under(workspace, skip), ...shared], ...more);
}

/**
 * Builds the library (web/engine/dist), the page (web/app/dist) and, with `example`, the site that embeds the library
 * (web/embed/dist), each only if its inputs changed.
 */
export async function build_web({ example = false, prebuilt = false } = {}) {
  await setup(['npm']);
  const wasm = prebuilt ? PREBUILT : await wasm_dir();
  const wasm_hashes = fs
    .readdirSync(wasm)
    .filter((name) => /^sluice-[a-z-]+\.(mjs|wasm)$/.test(name))
    .map((name) => `${name} ${sha256_file(path.join(wasm, name))}`);
  await with_lock(path.join(ROOT, 'build/web-lock'), async () => {
    const engine = inputs_hash('web/engine', ...wasm_hashes);
    await build_workspace('web/engine', engine, 'dist/index.js', { SLUICE_WASM_DIR: wasm });
    await build_workspace('web/app', inputs_hash('web/app', engine), 'dist/index.html');
    if (example)
      await build_workspace('web/embed', inputs_hash('web/embed', engine), 'dist/index.html');
  });
}

if (is_program(import.meta.url)) {
  main(async () => {
    const args = process.argv.slice(2);
    const prebuilt = args.includes('--prebuilt');
    const parts = args.filter((arg) => arg !== '--prebuilt');
    const unknown = parts.filter((part) => part !== 'native' && part !== 'web');
    if (unknown.length > 0)
      throw new Failure(`no such part: ${unknown.join(' ')}; the parts are native and web`);
    const wanted = (part) => parts.length === 0 || parts.includes(part);
    if (wanted('native')) {
      await setup(['native']);
      await build_preset('release', ['sluice']);
    }
    if (wanted('web')) await build_web({ example: true, prebuilt });
  });
}
