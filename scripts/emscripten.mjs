// Runs Emscripten: the system's own if it is new enough, otherwise the one in a small Debian root directory, which
// scripts/setup.mjs makes. Nothing else calls Emscripten. As a program:
//   node scripts/emscripten.mjs -- emcc --version
import fs from 'node:fs';
import path from 'node:path';
import {
  CACHE,
  Failure,
  IS_ROOT,
  ROOT,
  capture,
  is_program,
  main,
  run,
  which,
  with_lock,
  WATCHED,
} from './lib.mjs';

/** Relaxed SIMD as it was standardized needs 4.0. */
const OLDEST = 4;

/** The Debian root, and in it the list of our packages, written when they are completely installed. */
export const EMSCRIPTEN_ROOT = path.join(CACHE, 'emscripten-root');
export const READY = path.join(EMSCRIPTEN_ROOT, 'sluice-packages');

/** The checkout's path inside the root. It is always the same, so that no path of this machine gets into a build. */
const INSIDE = '/sluice';

function version_in(text) {
  return /\) (\d+\.\d+\.\d+)/.exec(text)?.[1] ?? null;
}

/** Finds Emscripten: {kind: 'path' | 'root', version}, or null if none is installed. */
export function find_emscripten() {
  if (which('emcc') !== null) {
    const version = version_in(capture('emcc', ['--version']).stdout);
    if (version !== null && Number.parseInt(version, 10) >= OLDEST)
      return { kind: 'path', version };
  }
  if (!fs.existsSync(READY)) return null;
  try {
    const file = path.join(EMSCRIPTEN_ROOT, 'usr/share/emscripten/emscripten-version.txt');
    const version = fs.readFileSync(file, 'utf8').replaceAll('"', '').trim();
    return { kind: 'root', version };
  } catch {
    return null;
  }
}

/**
 * Names and versions of what a build's bytes depend on: Emscripten, LLVM and Binaryen. For the system's
 * own Emscripten only the version that emcc prints.
 */
export function compiler_id(found) {
  if (found.kind === 'path') return capture('emcc', ['--version']).stdout.split('\n', 1)[0].trim();
  const status = fs.readFileSync(path.join(EMSCRIPTEN_ROOT, 'var/lib/dpkg/status'), 'utf8');
  const tools = /^Package: (emscripten|binaryen|clang-\d+|lld-\d+)\n(?:.+\n)*?Version: (.+)$/gm;
  return [...status.matchAll(tools)]
    .map(([, name, version]) => `${name} ${version}`)
    .sort()
    .join(', ');
}

let can_mount;

/** Whether this process may mount in a mount namespace of its own (root in a plain container may not). */
export function mounting_allowed() {
  can_mount ??=
    IS_ROOT &&
    which('unshare') !== null &&
    capture('unshare', ['--mount', '--propagation', 'private', 'mount', '--bind', '/proc', '/proc'])
      .status === 0;
  return can_mount;
}

/**
 * The environment of commands in the root. Only TERM comes from this machine, so that results are the same on all, and the
 * name by which a watched command ends what it has started.
 */
function root_env(env) {
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: '/root',
    LANG: 'C.UTF-8',
    TERM: process.env.TERM ?? 'dumb',
    [WATCHED]: process.env[WATCHED] ?? '',
    DEBIAN_FRONTEND: 'noninteractive',
    ...env,
  };
}

/**
 * The command line that runs `argv` in the Debian root at `root`, with /dev, /proc and `binds` ([from, to inside the
 * root]) mounted there. The command has a mount namespace of its own: the mounts end with it, however it ends, and no
 * other build sees them. If mounting is not allowed, it runs without them.
 */
function chroot_command(root, argv, binds, cwd) {
  const enter = [
    'chroot',
    root,
    '/bin/sh',
    '-c',
    'cd "$1" && shift && exec "$@"',
    'sh',
    cwd,
    ...argv,
  ];
  if (!mounting_allowed()) return enter;
  const all = [['/dev', '/dev'], ['/proc', '/proc'], ...binds];
  const script = all.map((_, i) => `mount --rbind "$${i * 2 + 1}" "$${i * 2 + 2}"`);
  const args = all.flatMap(([from, to]) => [from, path.join(root, to)]);
  for (const [, to] of all) fs.mkdirSync(path.join(root, to), { recursive: true });
  return [
    ...['unshare', '--mount', '--propagation', 'private', 'sh', '-ec'],
    `${script.join(' && ')} && shift ${args.length} && exec "$@"`,
    ...['sh', ...args, ...enter],
  ];
}

/**
 * Runs a command in a Debian root without the checkout; resolves with its exit status.
 *   binds       [from, to inside the root]: directories to mount, if mounting is allowed
 *   log, stdio  as for run
 */
export function run_in_root(root, argv, { binds = [], ...options } = {}) {
  const [command, ...args] = chroot_command(root, argv, binds, '/');
  return run(command, args, { ...options, env: root_env({}) });
}

/** What a build does not need in its copy of the checkout: large files, and results of other builds. */
const NOT_COPIED =
  /^(\.git|build|wasm\/prebuilt|web\/app\/public\/models)$|(^|\/)(node_modules|dist)$/;

/** Runs a command in a copy of the checkout inside the root, then copies `results` (relative to ROOT) back. */
async function run_on_a_copy(argv, cwd, results, options) {
  const copy = path.join(EMSCRIPTEN_ROOT, INSIDE);
  // One at a time: every copy has the same path, because paths get into a build.
  return with_lock(`${EMSCRIPTEN_ROOT}.copy-lock`, async () => {
    fs.rmSync(copy, { recursive: true, force: true });
    fs.mkdirSync(path.join(copy, cwd), { recursive: true });
    const keep = { recursive: true, preserveTimestamps: true };
    const filter = (from) => !NOT_COPIED.test(path.relative(ROOT, from));
    for (const name of fs.readdirSync(ROOT)) {
      const from = path.join(ROOT, name);
      if (filter(from)) fs.cpSync(from, path.join(copy, name), { ...keep, filter });
    }
    for (const name of results) {
      if (fs.existsSync(path.join(ROOT, name))) {
        fs.cpSync(path.join(ROOT, name), path.join(copy, name), keep);
      }
    }
    try {
      const [command, ...args] = chroot_command(EMSCRIPTEN_ROOT, argv, [], path.join(INSIDE, cwd));
      return await run(command, args, options);
    } finally {
      for (const name of results) {
        if (fs.existsSync(path.join(copy, name))) {
          fs.cpSync(path.join(copy, name), path.join(ROOT, name), keep);
        }
      }
      fs.rmSync(copy, { recursive: true, force: true });
    }
  });
}

/**
 * Runs `argv` with emcc, emcmake, cmake and ninja on the PATH, in the directory `cwd` of the checkout.
 * Resolves with the exit status.
 *   env         variables to set
 *   log, stdio  as for run
 *   results     what to copy back if the checkout has to be copied; relative to it
 * Paths of the checkout in the arguments are translated. Paths outside the checkout don't exist inside the root.
 */
export async function emscripten(
  argv,
  { cwd = ROOT, env = {}, log, stdio, results = ['build/wasm'] } = {},
) {
  const found = find_emscripten();
  if (found === null) {
    throw new Failure(
      'Emscripten 4.0 or newer was not found: run node scripts/setup.mjs emscripten',
    );
  }
  if (found.kind === 'path') {
    const [command, ...args] = argv;
    return run(command, args, { cwd, env: { ...process.env, ...env }, log, stdio });
  }
  if (!IS_ROOT) {
    throw new Failure(
      `the Emscripten in ${EMSCRIPTEN_ROOT} can only be run by root: use sudo, or put emcc 4.0 or newer on the PATH`,
    );
  }
  const relative = path.relative(ROOT, cwd);
  if (relative.startsWith('..')) throw new Failure(`${cwd} is not in the checkout ${ROOT}`);
  const inner = argv.map((arg) => arg.replaceAll(ROOT, INSIDE));
  const options = { env: root_env(env), log, stdio };
  if (!mounting_allowed()) return run_on_a_copy(inner, relative, results, options);
  const place = path.join(INSIDE, relative);
  const [command, ...args] = chroot_command(EMSCRIPTEN_ROOT, inner, [[ROOT, INSIDE]], place);
  return run(command, args, options);
}

if (is_program(import.meta.url)) {
  main(() => {
    const dashes = process.argv.indexOf('--');
    const argv = process.argv.slice(dashes === -1 ? 2 : dashes + 1);
    if (argv.length === 0)
      throw new Failure('usage: node scripts/emscripten.mjs -- COMMAND [ARGUMENTS]');
    return emscripten(argv, { cwd: process.cwd() });
  });
}
