// Provides the four wasm flavours: the committed files in wasm/prebuilt/ if their stamp matches the sources, otherwise
// files that Emscripten builds into build/wasm/.
//   node scripts/build-wasm.mjs                    prints the files' directory; builds them first if needed
//   node scripts/build-wasm.mjs --build            always builds, and also builds the kernels' checks
//   node scripts/build-wasm.mjs --check            builds if needed, and compares the committed files with the result
//   node scripts/build-wasm.mjs --update-prebuilt  builds, and copies the result and its stamp to wasm/prebuilt/
//   --fresh                                        empties build/wasm/ and builds; can be added to the others
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
import { count, write_report } from './reports.mjs';
import { setup } from './setup.mjs';

export const FLAVOURS = read_json(path.join(ROOT, 'wasm/flavours.json'));
/** The kernels' checks as modules, for tests/wasm and e2e. */
const CHECKS = ['parity', 'sanitized'].flatMap((kind) =>
  FLAVOURS.filter((name) => !name.endsWith('-mt')).map((name) => `sluice-${kind}-${name}`),
);
const FILES = [
  ...FLAVOURS.flatMap((name) => [`sluice-${name}.mjs`, `sluice-${name}.wasm`]),
  'bindings.d.ts',
];

/** The committed files. */
export const PREBUILT = path.join(ROOT, 'wasm/prebuilt');
const BUILT = path.join(ROOT, 'build/wasm');

/** A hash of all that the files are built from: the sources, and the CMake files with the flags. */
function sources_hash() {
  const others = ['wasm/prebuilt', 'core/files', 'core/measure'];
  const skip = (name) => others.includes(name) || /\.(md|d\.ts)$/.test(name);
  const files = ['core', 'wasm'].flatMap((dir) => files_under(dir, skip));
  return hash_files([...files, 'CMakeLists.txt', 'CMakePresets.json']);
}

/** Whether the stamp.json in `dir` names these sources and the hashes of the files there. */
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

/** Builds what is out of date with Emscripten. Returns the compiler_id. */
async function build(sources, { fresh = false, checks = false } = {}) {
  await setup(['emscripten']);
  const found = find_emscripten();
  const compiler = compiler_id(found);
  // A build directory is of no use to another compiler, or to the same one in another place.
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
  // The tools write to stderr: stdout is for the directory that main prints.
  for (const argv of steps) {
    const status = await emscripten(argv, { stdio: ['ignore', 2, 2] });
    if (status !== 0) throw new Failure(`${argv.join(' ')} failed with exit status ${status}`);
  }
  const absent = FILES.filter((name) => !fs.existsSync(path.join(BUILT, name)));
  if (absent.length > 0)
    throw new Failure(`the build did not make ${absent.join(', ')} in build/wasm/`);
  write_stamp(BUILT, sources, compiler);
  return compiler;
}

function locked(body) {
  return with_lock(path.join(ROOT, 'build', 'wasm-lock'), body);
}

/** Whether the committed files were built from the present sources. */
export function prebuilt_fits() {
  return fits(PREBUILT, sources_hash());
}

/** The directory with the eight files of the present sources. Builds them if needed. */
export async function wasm_dir() {
  const sources = sources_hash();
  if (fits(PREBUILT, sources)) return PREBUILT;
  return locked(async () => {
    if (!fits(BUILT, sources)) {
      console.error('wasm: wasm/prebuilt/ was built from other sources; building with Emscripten');
      await build(sources);
    }
    return BUILT;
  });
}

/**
 * Compares the committed files with those just built. Prints a line for each, and the counts. Files built from other
 * sources fail, because everybody would have to build before the first start. Files built by another compiler are
 * skipped, because their bytes may differ.
 */
function compare(sources, compiler) {
  const stamp = read_json(path.join(PREBUILT, 'stamp.json'));
  const tests = [];
  const add = (name, state, said = '') => tests.push({ name, state, said });
  const stale = stamp?.sources !== sources;
  for (const name of FILES) {
    const built = path.join(BUILT, name);
    const size = `${fs.statSync(built).size} bytes`;
    if (stale) {
      const said =
        'the committed file was built from other sources; run this with --update-prebuilt';
      add(name, 'failed', said);
      console.log(`STALE      ${name}  ${said}`);
      continue;
    }
    if (stamp.compiler !== compiler) {
      add(name, 'skipped');
      console.log(`skipped    ${name}  ${size}; the committed file was built by ${stamp.compiler}`);
      continue;
    }
    const committed = path.join(PREBUILT, name);
    const same = fs.existsSync(committed) && sha256_file(committed) === sha256_file(built);
    add(name, same ? 'passed' : 'failed');
    console.log(`${same ? 'same     ' : 'DIFFERENT'}  ${name}  ${size}`);
  }
  write_report(tests);
  const { passed, failed, skipped } = count(tests);
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  return failed === 0 ? 0 : 1;
}

function update_prebuilt(sources, compiler) {
  fs.mkdirSync(PREBUILT, { recursive: true });
  for (const name of FILES) fs.copyFileSync(path.join(BUILT, name), path.join(PREBUILT, name));
  write_stamp(PREBUILT, sources, compiler);
  console.error(`wasm: wasm/prebuilt/ updated (${compiler})`);
}

if (is_program(import.meta.url)) {
  main(async () => {
    const args = new Set(process.argv.slice(2));
    const known = ['--build', '--check', '--fresh', '--update-prebuilt'];
    const unknown = [...args].filter((arg) => !known.includes(arg));
    if (unknown.length > 0) {
      throw new Failure(`unknown option ${unknown.join(' ')}; the options are ${known.join(', ')}`);
    }
    if (args.size === 0) {
      console.log(await wasm_dir());
      return 0;
    }
    return locked(async () => {
      const sources = sources_hash();
      // What was just built need not be built again to be compared.
      const there = args.size === 1 && args.has('--check') && fits(BUILT, sources);
      const compiler = there
        ? read_json(path.join(BUILT, 'stamp.json')).compiler
        : await build(sources, { fresh: args.has('--fresh'), checks: args.has('--build') });
      if (args.has('--update-prebuilt')) update_prebuilt(sources, compiler);
      return args.has('--check') ? compare(sources, compiler) : 0;
    });
  });
}
