// Installs what is missing of the tools that build and test Sluice. Needs only Node.
//   node scripts/setup.mjs [PART]...
// The parts are npm native shells arm lint fuzz browser chromium firefox webkit probes emscripten llama pip; without
// arguments all of them but llama and pip.
// Packages come from this machine's Debian sources, by apt-get, as root. If a package can't be installed, the script
// prints the command that installs it and exits with status 1.
import fs from 'node:fs';
import path from 'node:path';
import {
  CACHE,
  Failure,
  IS_ROOT,
  ROOT,
  capture,
  files_under,
  hash_files,
  is_program,
  main,
  must_quietly,
  read_json,
  tail,
  which,
  with_lock,
} from './lib.mjs';
import {
  EMSCRIPTEN_ROOT,
  READY,
  find_emscripten,
  mounting_allowed,
  run_in_root,
} from './emscripten.mjs';

const program = (name) => () => which(name) !== null;
const file = (name) => () => fs.existsSync(name);
/** A header, in /usr/include or its folder that is named for the machine. */
const header = (name) => () =>
  ['', ...fs.readdirSync('/usr/include').filter((dir) => dir.endsWith('-linux-gnu'))].some((dir) =>
    fs.existsSync(path.join('/usr/include', dir, name)),
  );
const fuzzer_runtime = () =>
  ['/usr/lib/llvm-19/lib/clang/19/lib/linux', '/usr/lib/clang/19/lib/linux'].some(
    (dir) => fs.existsSync(dir) && fs.readdirSync(dir).some((name) => name.includes('fuzzer')),
  );

/** How to start pip, the system's Python last, because that is the one that gets python3-pip; null if there is none. */
export function find_pip() {
  const pythons = [which('python3'), '/usr/bin/python3'].filter((python) => python !== null);
  const python = pythons.find((one) => capture(one, ['-m', 'pip', '--version']).status === 0);
  return python === undefined ? null : [python, '-m', 'pip'];
}

const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** The Debian packages of each part, and for each package a test for what it installs. */
const PACKAGES = {
  npm: [],
  native: [
    ['cmake', program('cmake')],
    ['ninja-build', program('ninja')],
    ['g++', program('g++')],
    ['libgtest-dev', file('/usr/include/gtest/gtest.h')],
    ['libbenchmark-dev', file('/usr/include/benchmark/benchmark.h')],
    ['libcli11-dev', file('/usr/include/CLI/CLI.hpp')],
    ['nlohmann-json3-dev', file('/usr/include/nlohmann/json.hpp')],
    // The reference for chat templates.
    ['python3-jinja2', file('/usr/lib/python3/dist-packages/jinja2/__init__.py')],
    // Downloads.
    ['libcurl4-openssl-dev', header('curl/curl.h')],
    ['libssl-dev', file('/usr/include/openssl/evp.h')],
    // Line editing in chats.
    ['libedit-dev', file('/usr/include/histedit.h')],
  ],
  // To build for aarch64 and to run the result. On an aarch64 machine the native tools do both.
  arm:
    process.arch === 'arm64'
      ? []
      : [
          ['g++-aarch64-linux-gnu', program('aarch64-linux-gnu-g++')],
          ['qemu-user', program('qemu-aarch64')],
          ['googletest', file('/usr/src/googletest/CMakeLists.txt')],
        ],
  lint: [['clang-format', program('clang-format')]],
  // To test the completions and the manual page.
  shells: ['zsh', 'fish', 'mandoc'].map((name) => [name, program(name)]),
  fuzz: [
    ['clang-19', program('clang++-19')],
    ['libclang-rt-19-dev', fuzzer_runtime],
  ],
  // The headless shell runs the tests of the page, the browser itself the trials of the loader and the bench.
  browser: [
    [
      'chromium-headless-shell',
      () => program('chromium-headless-shell')() || program('chromium')(),
    ],
    ['fonts-dejavu-core', file('/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf')],
  ],
  chromium: [
    ['chromium', program('chromium')],
    ['fonts-dejavu-core', file('/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf')],
  ],
  firefox: [['firefox-esr', () => program('firefox-esr')() || program('firefox')()]],
  // The driver brings its own small browser, whose window needs a display.
  webkit: [
    ['webkit2gtk-driver', program('WebKitWebDriver')],
    ['xvfb', program('Xvfb')],
  ],
  // What tools/probes/ computes with.
  probes: ['numpy', 'scipy', 'sklearn', 'matplotlib'].map((name) => [
    `python3-${name}`,
    file(`/usr/lib/python3/dist-packages/${name}/__init__.py`),
  ]),
  emscripten: [
    ['debootstrap', program('debootstrap')],
    ['debian-archive-keyring', file(keyring)],
  ],
  llama: [
    ['debootstrap', program('debootstrap')],
    ['debian-archive-keyring', file(keyring)],
  ],
  // To fetch the real model.
  pip: [['python3-pip', () => find_pip() !== null]],
};

/** What `npm test` needs. */
export const USUAL_PARTS = ['npm', 'native', 'shells', 'lint', 'browser'];
/** What most steps of `npm test -- --all` need besides. Those for Firefox, WebKit and probes install theirs themselves. */
export const ALL_PARTS = ['arm', 'fuzz', 'chromium', 'emscripten'];

/**
 * The default parts: all but llama, which is only needed to record reference answers and to compare speed, and pip, which
 * scripts/real-model.mjs installs if it has to fetch the model.
 */
const DEFAULT_PARTS = [...USUAL_PARTS, ...ALL_PARTS, 'firefox', 'webkit', 'probes'];

/** Packages in the Debian root: those for building, and those of the part llama. */
const ROOT_PACKAGES = ['emscripten', 'cmake', 'make', 'ninja-build'];
const LLAMA_PACKAGES = ['llama.cpp', 'llama.cpp-examples'];

function say(text) {
  console.error(`setup: ${text}`);
}

function needs_emscripten(part) {
  return part === 'llama' || (part === 'emscripten' && find_emscripten()?.kind !== 'path');
}

/**
 * The packages that a part needs on this machine. The part emscripten needs the native tools if the system has its own
 * Emscripten, otherwise those that make the Debian root.
 */
function packages_of(part) {
  if (part === 'emscripten' && !needs_emscripten(part)) return PACKAGES.native;
  if (part === 'emscripten' || part === 'llama')
    return root_lacks(part).length > 0 ? PACKAGES[part] : [];
  if (part === 'arm') return [...PACKAGES.native, ...PACKAGES.arm];
  return PACKAGES[part];
}

function missing_packages(parts) {
  const wanted = parts.flatMap(packages_of);
  return [...new Set(wanted.filter(([, is_there]) => !is_there()).map(([name]) => name))];
}

async function install_packages(parts) {
  const missing = missing_packages(parts);
  if (missing.length === 0) return;
  const command = `apt-get install --no-install-recommends ${missing.join(' ')}`;
  if (which('apt-get') === null) {
    throw new Failure(
      `missing, by Debian's names: ${missing.join(' ')}; install them with this system's package manager`,
    );
  }
  if (!IS_ROOT) throw new Failure(`missing: ${missing.join(' ')}\n  to install: sudo ${command}`);
  say(`installing ${missing.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const wait = ['-o', 'DPkg::Lock::Timeout=600'];
  // If a source can't be reached, go on: another one may have the packages.
  await must_quietly('apt-get', [...wait, 'update'], { env }).catch((error) => say(error.message));
  const args = ['install', '-y', '--no-install-recommends', ...missing];
  await must_quietly('apt-get', [...wait, ...args], { env }).catch((error) => {
    throw new Failure(`${error.message}\n  to try again: apt-get update && ${command}`);
  });
}

// npm

const NPM_STAMP = path.join(ROOT, 'node_modules', '.sluice-stamp');

function npm_hash() {
  const { workspaces } = read_json(path.join(ROOT, 'package.json'));
  const files = [
    'package.json',
    'package-lock.json',
    ...workspaces.map((dir) => `${dir}/package.json`),
  ];
  return hash_files(files.flatMap((name) => files_under(name)));
}

function npm_is_done() {
  return fs.existsSync(NPM_STAMP) && fs.readFileSync(NPM_STAMP, 'utf8') === npm_hash();
}

async function install_npm() {
  if (npm_is_done()) return;
  await with_lock(path.join(ROOT, 'build', 'npm-lock'), async () => {
    if (npm_is_done()) return;
    // `ci` for a fresh clone; later `install`, which only changes what differs.
    const verb = fs.existsSync(path.join(ROOT, 'node_modules')) ? 'install' : 'ci';
    say(`npm ${verb}`);
    const env = { ...process.env, PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1' };
    await must_quietly('npm', [verb, '--no-audit', '--no-fund'], { env }).catch((error) => {
      throw new Failure(`${error.message}\n  to try again: cd ${ROOT} && npm ${verb}`);
    });
    fs.writeFileSync(NPM_STAMP, npm_hash());
  });
}

// The Debian root

function packages_in_root() {
  return read_json(READY) ?? [];
}

function root_lacks(part) {
  if (!needs_emscripten(part)) return [];
  const wanted = part === 'llama' ? LLAMA_PACKAGES : ROOT_PACKAGES;
  const there = packages_in_root();
  return wanted.filter((name) => !there.includes(name));
}

/** The mirror that this system gets Debian from, or null: debootstrap then uses its default. */
function debian_mirror() {
  const format = '$(ORIGIN)|$(LABEL)|$(REPO_URI)';
  const targets = capture('apt-get', ['indextargets', '--format', format, 'Created-By: Packages']);
  const line = targets.stdout.split('\n').find((text) => text.startsWith('Debian|Debian|'));
  return line?.split('|')[2] ?? null;
}

/** This system's apt settings for downloads (proxies, clocks that are wrong), for apt-get in the root. */
function host_apt_options() {
  const dump = capture('apt-config', ['dump', 'Acquire']).stdout;
  return dump.split('\n').filter((line) => /^Acquire::(https?|Check-|Retries)/.test(line));
}

async function debootstrap(partial) {
  const mirror = debian_mirror();
  const bootstrap = [
    ...['debootstrap', '--variant=minbase', `--keyring=${keyring}`, '--include=ca-certificates'],
    ...['forky', partial, ...(mirror === null ? [] : [mirror])],
    // Name the script: an older debootstrap does not know this release.
    ...(mirror === null ? [] : ['/usr/share/debootstrap/scripts/sid']),
  ];
  const namespace = ['unshare', '--mount', '--propagation', 'private'];
  const [command, ...args] = mounting_allowed() ? [...namespace, ...bootstrap] : bootstrap;
  await must_quietly(command, args);
  for (const name of ['/etc/resolv.conf', '/etc/hosts']) {
    if (fs.existsSync(name)) fs.copyFileSync(name, path.join(partial, name));
  }
  const options = path.join(partial, 'etc/apt/apt.conf.d/99host');
  fs.writeFileSync(options, `${host_apt_options().join('\n')}\n`);
}

async function install_in_root(root, packages) {
  const log = path.join(CACHE, 'setup.log');
  fs.rmSync(log, { force: true });
  const install = ['apt-get', 'install', '-y', '--no-install-recommends', ...packages];
  for (const argv of [['apt-get', 'update'], install, ['apt-get', 'clean']]) {
    const status = await run_in_root(root, argv, { log });
    if (status !== 0) {
      console.error(tail(fs.readFileSync(log, 'utf8'), 60));
      throw new Failure(
        `${argv.join(' ')} failed in ${root} (exit status ${status}; the whole output is in ${log})`,
      );
    }
  }
}

async function install_root(parts) {
  const lacking = () => parts.flatMap((part) => root_lacks(part));
  if (lacking().length === 0) return;
  if (!IS_ROOT) {
    throw new Failure(
      `Emscripten 4.0 or newer is missing: put emcc on the PATH, or run: sudo node ${path.join(ROOT, 'scripts/setup.mjs')} ${parts.join(' ')}`,
    );
  }
  await with_lock(`${EMSCRIPTEN_ROOT}.lock`, async () => {
    const packages = lacking();
    if (packages.length === 0) return;
    const there = packages_in_root();
    if (there.length > 0) {
      say(`installing ${packages.join(' ')} in ${EMSCRIPTEN_ROOT}`);
      await install_in_root(EMSCRIPTEN_ROOT, packages);
    } else {
      // Make it in another directory and rename that when it is complete, so that an incomplete root is never used.
      say(`installing ${packages.join(' ')} in a Debian root of its own, ${EMSCRIPTEN_ROOT}`);
      const partial = `${EMSCRIPTEN_ROOT}.partial`;
      fs.rmSync(partial, { recursive: true, force: true });
      fs.rmSync(EMSCRIPTEN_ROOT, { recursive: true, force: true });
      await debootstrap(partial);
      await install_in_root(partial, packages);
      fs.renameSync(partial, EMSCRIPTEN_ROOT);
    }
    fs.writeFileSync(READY, JSON.stringify([...there, ...packages]));
  });
}

/** Installs what is missing of the parts. Throws a Failure that says what to do. */
export async function setup(parts = DEFAULT_PARTS) {
  const unknown = parts.filter((part) => !(part in PACKAGES));
  if (unknown.length > 0) {
    throw new Failure(
      `no such part: ${unknown.join(', ')}; the parts are ${Object.keys(PACKAGES).join(', ')}`,
    );
  }
  const jobs = [];
  if (parts.includes('npm')) jobs.push(install_npm());
  jobs.push(
    install_packages(parts).then(() =>
      install_root(parts.filter((part) => needs_emscripten(part))),
    ),
  );
  const failed = (await Promise.allSettled(jobs)).filter((job) => job.status === 'rejected');
  if (failed.length > 0) {
    const odd = failed.find((job) => !(job.reason instanceof Failure));
    if (odd !== undefined) throw odd.reason;
    throw new Failure(failed.map((job) => job.reason.message).join('\n'));
  }
}

if (is_program(import.meta.url)) {
  main(async () => {
    const parts = process.argv.slice(2);
    await setup(parts.length > 0 ? parts : DEFAULT_PARTS);
    say('everything is installed');
  });
}
