// The four wasm flavours: the committed ones (wasm/prebuilt/) where their stamp fits the sources, else built by
// Emscripten into build/wasm/.
//   node scripts/build-wasm.mjs                    prints the directory that holds the files, building if needed
//   node scripts/build-wasm.mjs --build            builds in any case, and the kernels' checks with them
//   node scripts/build-wasm.mjs --check            builds; holds the committed bytes against the result
//   node scripts/build-wasm.mjs --update-prebuilt  builds; puts the result and its stamp into wasm/prebuilt/
//   --fresh                                        with each: throws away what build/wasm/ holds first
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {
  Failure,
  ROOT,
  files_under,
  hash_files,
  is_program,
  main,
  read_json,
  sha256_file,
  with_lock,
  write_atomically,
} from './lib.mjs';
import { compiler_id, emscripten, find_emscripten } from './emscripten.mjs';
import { setup } from './setup.mjs';

export const FLAVOURS = read_json(path.join(ROOT, 'wasm/flavours.json'));
/** The kernels' checks as modules, for tests/wasm and e2e. */
const CHECKS = ['parity', 'sanitized'].flatMap((kind) =>
  FLAVOURS.filter((name) => !name.endsWith('-mt')).map((name) => `sluice-${kind}-${name}`),
);
const FILES = FLAVOURS.flatMap((name) => [`sluice-${name}.js`, `sluice-${name}.wasm`]);

/** The committed files. */
export const PREBUILT = path.join(ROOT, 'wasm/prebuilt');
const BUILT = path.join(ROOT, 'build/wasm');

/** What the files are made of: the sources and the CMake files, which hold the flags. */
function sources_hash() {
  const apart = (name) => name === 'wasm/prebuilt' || /\.(md|d\.ts)$/.test(name);
  const files = ['core', 'wasm'].flatMap((dir) => files_under(dir, apart));
  return hash_files([...files, 'CMakeLists.txt', 'CMakePresets.json']);
}

/** Whether a directory's stamp.json names these sources, and its files are those that the stamp describes. */
function fits(dir, sources) {
  const stamp = read_json(path.join(dir, 'stamp.json'));
  if (stamp?.sources !== sources) return false;
  return FILES.every((name) => {
    const file = path.join(dir, name);
    return fs.existsSync(file) && sha256_file(file) === stamp.files?.[name]?.sha256;
  });
}

function write_stamp(dir, sources, compiler) {
  const files = {};
  for (const name of FILES) {
    const file = path.join(dir, name);
    files[name] = { sha256: sha256_file(file), size: fs.statSync(file).size };
  }
  const stamp = { sources, compiler, files };
  write_atomically(path.join(dir, 'stamp.json'), `${JSON.stringify(stamp, null, 2)}\n`);
}

/** Runs Emscripten; what is up to date stays. Returns the compiler's name and version. */
async function build(sources, { fresh = false, checks = false } = {}) {
  await setup(['emscripten']);
  const found = find_emscripten();
  const compiler = compiler_id(found);
  // A directory configured by another compiler, or seen from elsewhere, can't be gone on with.
  const made_by = path.join(BUILT, 'made-by');
  const maker = JSON.stringify([found.kind, compiler]);
  const same = fs.existsSync(made_by) && fs.readFileSync(made_by, 'utf8') === maker;
  if (fresh || !same) fs.rmSync(BUILT, { recursive: true, force: true });
  write_atomically(made_by, maker);
  fs.rmSync(path.join(BUILT, 'stamp.json'), { force: true });
  const configured = fs.existsSync(path.join(BUILT, 'build.ninja'));
  const jobs = Math.max(1, os.availableParallelism());
  const targets = [...FLAVOURS.map((name) => `sluice-${name}`), ...(checks ? CHECKS : [])];
  const steps = [
    ...(configured ? [] : [['emcmake', 'cmake', '--preset', 'wasm', '--log-level=WARNING']]),
    ['ninja', '-C', 'build/wasm', `-j${jobs}`, ...targets],
  ];
  // stdout is kept for the result; see the end of this file.
  for (const argv of steps) {
    const status = await emscripten(argv, { stdio: ['ignore', 2, 2] });
    if (status !== 0) throw new Failure(`${argv.join(' ')} failed with exit status ${status}`);
  }
  const absent = FILES.filter((name) => !fs.existsSync(path.join(BUILT, name)));
  if (absent.length > 0) throw new Failure(`the build left no ${absent.join(', ')} in build/wasm/`);
  write_stamp(BUILT, sources, compiler);
  return compiler;
}

function locked(body) {
  return with_lock(path.join(ROOT, 'build', 'wasm-lock'), body);
}

/** The directory with the eight files for the sources as they are now, built if need be. */
export async function wasm_dir() {
  const sources = sources_hash();
  if (fits(PREBUILT, sources)) return PREBUILT;
  return locked(async () => {
    if (!fits(BUILT, sources)) {
      console.error('wasm: wasm/prebuilt/ is of other sources; building with Emscripten');
      await build(sources);
    }
    return BUILT;
  });
}

/**
 * Holds the committed files against those just built; prints one line each and the counts. Files of other sources are
 * wrong: whoever starts a clone would have to build. Those of another compiler can't be compared.
 */
function compare(sources, compiler) {
  const stamp = read_json(path.join(PREBUILT, 'stamp.json'));
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const stale = stamp?.sources !== sources;
  for (const name of FILES) {
    const built = path.join(BUILT, name);
    const size = `${fs.statSync(built).size} bytes`;
    if (stale) {
      ++counts.failed;
      console.log(`STALE      ${name}  the committed one is of other sources; --update-prebuilt`);
      continue;
    }
    if (stamp.compiler !== compiler) {
      ++counts.skipped;
      console.log(`skipped    ${name}  ${size}; the committed one is by ${stamp.compiler}`);
      continue;
    }
    const committed = path.join(PREBUILT, name);
    const same = fs.existsSync(committed) && sha256_file(committed) === sha256_file(built);
    ++counts[same ? 'passed' : 'failed'];
    console.log(`${same ? 'same     ' : 'DIFFERENT'}  ${name}  ${size}`);
  }
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  return counts.failed === 0 ? 0 : 1;
}

function update_prebuilt(sources, compiler) {
  fs.mkdirSync(PREBUILT, { recursive: true });
  for (const name of FILES) fs.copyFileSync(path.join(BUILT, name), path.join(PREBUILT, name));
  write_stamp(PREBUILT, sources, compiler);
  console.error(`wasm: wasm/prebuilt/ renewed (${compiler})`);
}

if (is_program(import.meta.url)) {
  main(async () => {
    const args = new Set(process.argv.slice(2));
    const known = ['--build', '--check', '--fresh', '--update-prebuilt'];
    const unknown = [...args].filter((arg) => !known.includes(arg));
    if (unknown.length > 0) {
      throw new Failure(`unknown option ${unknown.join(' ')}; there are ${known.join(', ')}`);
    }
    if (args.size === 0) {
      console.log(await wasm_dir());
      return 0;
    }
    return locked(async () => {
      const sources = sources_hash();
      const compiler = await build(sources, {
        fresh: args.has('--fresh'),
        checks: args.has('--build'),
      });
      if (args.has('--update-prebuilt')) update_prebuilt(sources, compiler);
      return args.has('--check') ? compare(sources, compiler) : 0;
    });
  });
}
